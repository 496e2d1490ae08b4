"""A lock file beside what is written, so that two processes do not mix their files.

The lock is held by the operating system for as long as the process lives, and the file says who
holds it. One that a dead process has left is taken over, with a word. Where the file system knows
no such locks, the process and the machine that the file names decide.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from berm.core.errors import InputError

SUFFIX = ".lock"
_LONGEST = 1000  # bytes of a lock file that are read


class Lock:
    """Keeps other processes, and other writers of this one, from writing to `path`.

    The lock is the file `path`.lock with process, machine and date. say: is told when a lock of a
    dead process is taken over; without it, a warning tells it.
    """

    def __init__(
        self, path: str | os.PathLike[str], say: Callable[[str], None] | None = None
    ) -> None:
        self.path = Path(path)
        self.file = self.path.with_name(self.path.name + SUFFIX)
        self._say = say
        self._handle: int | None = None

    @property
    def held(self) -> bool:
        """Whether this object holds the lock."""
        return self._handle is not None

    def acquire(self) -> None:
        """Take the lock, or raise InputError with who has it; the folder has to exist."""
        while self._handle is None:
            try:
                handle = os.open(self.file, os.O_RDWR | os.O_CREAT, 0o644)
            except OSError as error:
                raise InputError(
                    "lock cannot be written", str(self.file), "a folder that can be written",
                    str(error),
                ) from error  # fmt: skip
            try:
                self._take(handle)
            except BaseException:
                os.close(handle)
                raise

    def _take(self, handle: int) -> None:
        """Lock an open file and write down who we are; another turn where it is gone by now."""
        free = _system_lock(handle)
        owner = _read(handle)
        if free is None:  # no locks here: by what the file says
            free = owner is None or _is_dead(owner)
        if not free:
            raise InputError(
                f"{self.path} is being written by {_spoken(owner)}: wait for it to end, or write "
                f"elsewhere; if it does not run any more, delete {self.file}"
            )
        try:
            same = os.path.samestat(os.fstat(handle), os.stat(self.file))
        except FileNotFoundError:
            same = False
        if not same:  # its owner has removed it in the meantime
            os.close(handle)
            return
        if owner is not None:
            self._tell(f"{self.path}: taken over from {_spoken(owner)}, which ended without a word")
        os.ftruncate(handle, 0)
        os.lseek(handle, 0, os.SEEK_SET)
        us = {"pid": os.getpid(), "host": socket.gethostname(), "since": _now()}
        with contextlib.suppress(OSError):  # a full disk: locked all the same
            os.write(handle, (json.dumps(us) + "\n").encode())
        self._handle = handle

    def _tell(self, text: str) -> None:
        if self._say is not None:
            self._say(text)
        else:
            warnings.warn(text, stacklevel=2)

    def release(self) -> None:
        """Give the lock up and remove its file; nothing happens where it is not held."""
        if self._handle is None:
            return
        handle, self._handle = self._handle, None
        if os.name != "nt":  # while it is held, so that nobody else's is removed
            self.file.unlink(missing_ok=True)
        os.close(handle)
        if os.name == "nt":
            with contextlib.suppress(OSError):
                self.file.unlink(missing_ok=True)

    def __enter__(self) -> Lock:
        self.acquire()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()


def _system_lock(handle: int) -> bool | None:
    """Lock an open file; False: somebody else has; None: the file system has no locks."""
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(handle, _LONGEST, os.SEEK_SET)  # behind what is written, which is to be read
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        return None
    return True


def _read(handle: int) -> dict[str, Any] | None:
    """Return what an open lock file says of its owner; None where it says nothing."""
    os.lseek(handle, 0, os.SEEK_SET)
    text = os.read(handle, _LONGEST)
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _is_dead(owner: dict[str, Any]) -> bool:
    """Whether a process of this machine is gone; one of another machine may live."""
    if owner.get("host") != socket.gethostname():
        return False
    try:
        os.kill(int(owner.get("pid", 0)), 0)
    except (ProcessLookupError, ValueError, OverflowError):
        return True
    except OSError:
        return False
    return False


def _spoken(owner: dict[str, Any] | None) -> str:
    if owner is None:
        return "another process"
    return (
        f"process {owner.get('pid', '?')} on {owner.get('host', '?')} "
        f"(since {owner.get('since', '?')})"
    )


def _now() -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S")
