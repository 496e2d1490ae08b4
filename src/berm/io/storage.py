"""Room on the disk, and a way out for an HDF5 file that cannot be written any more."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import h5py

if sys.platform != "win32":
    import resource

_ERRNO = re.compile(r"errno = (\d+)")


def room(path: Path) -> float:
    """Return by how many bytes a file at `path` can grow: free space, and the process's limit."""
    try:
        disk = shutil.disk_usage(path.parent)
        size = path.stat().st_size if path.exists() else 0
    except OSError:
        return float("inf")
    free = float(disk.free) if disk.total > 0 else float("inf")  # some network disks do not tell
    if sys.platform != "win32":
        limit, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
        if limit != resource.RLIM_INFINITY:
            free = min(free, float(limit - size))
    return free


def reason(error: BaseException) -> str:
    """Return why something could not be written, in the words of the operating system."""
    number = error.errno if isinstance(error, OSError) else None
    found = _ERRNO.search(str(error))
    if number is None and found is not None:
        number = int(found[1])  # HDF5 tells it in its text only
    return os.strerror(number) if number is not None else str(error)


def abandon(file: h5py.File) -> None:
    """Close a file to which a write has failed, without a further byte to the disk.

    HDF5 holds what it could not write and tries again when the file is closed, when its objects
    are freed and at the end of the process; it crashes when that fails once more. So its file
    descriptor is led to a file in memory first, and the file on the disk stays as it is: readable,
    because it is written in an order that keeps it so at every moment.
    """
    with contextlib.suppress(OSError, RuntimeError, ValueError), _unlimited():
        handle = file.id.get_vfd_handle()
        size = os.fstat(handle).st_size
        sink = _sink()
        try:
            os.ftruncate(sink, size)
            os.dup2(sink, handle)
        finally:
            os.close(sink)
        file.close()


def _sink() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("berm")
    with tempfile.TemporaryFile() as made:
        return os.dup(made.fileno())


@contextlib.contextmanager
def _unlimited() -> Iterator[None]:
    """Lift the process's limit on the size of files, which holds for files in memory too."""
    if sys.platform == "win32":
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
