"""Compile the C++ twin with the local compiler and call it through ctypes.

``load()`` raises :class:`TwinUnavailable`, with the reason, without a C++ compiler or AVX2.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

HERE = Path(__file__).resolve().parent
FLAGS = [
    "-std=c++17", "-O3", "-march=native", "-ffp-contract=off", "-fopenmp", "-shared", "-fPIC"
]  # fmt: skip
Rows = npt.NDArray[np.float32]
FORMS = {"published": 0, "sweep": 1}


class TwinUnavailable(RuntimeError):
    """The twin cannot be built or run on this machine; the message says why."""


class _Params(ctypes.Structure):
    _fields_ = [
        ("dt_exact", ctypes.c_double), ("skin_exact", ctypes.c_double),
        ("dt", ctypes.c_float), ("gravity", ctypes.c_float * 3),
        ("stiffness", ctypes.c_float), ("damping", ctypes.c_float),
        ("friction_static", ctypes.c_float), ("friction_kinetic", ctypes.c_float),
        ("eps_depth", ctypes.c_float), ("relaxation", ctypes.c_float),
        ("memory", ctypes.c_float), ("slip_speed", ctypes.c_float), ("skin", ctypes.c_float),
        ("iterations", ctypes.c_int32), ("substeps", ctypes.c_int32),
        ("threads", ctypes.c_int32), ("retest", ctypes.c_int32), ("slabs", ctypes.c_int32),
    ]  # fmt: skip


@dataclass(frozen=True)
class TwinParams:
    """Parameters of the twin; ``iterations`` and ``substeps`` differ between the two forms."""

    dt: float = 1 / 60  # s
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)  # m/s^2
    stiffness: float = 1e5  # N/m
    damping: float = 500.0  # N s/m
    friction_static: float = 0.5
    friction_kinetic: float = 0.5
    eps_depth: float = 0.0  # [Holz14] (37), published form only
    relaxation: float = 1.0  # sweep form only, as are the next three
    memory: float = 0.5
    slip_speed: float = 1.5 * 9.81 / 600  # m/s
    skin: float = 0.1  # in radii
    iterations: int = 10
    substeps: int = 1
    threads: int = 1
    retest: int = 0  # published form: test C_s <= 0 again in each iteration
    slabs: int = 0  # sweep form: 0 is the twin's own choice


@dataclass(frozen=True)
class TwinStats:
    """Stage seconds since the last call, and the size of the contact list."""

    search: float  # s
    iterations: float  # s
    steps: int
    searches: int
    pairs: int  # pairs in the list (half list)
    wall_contacts: int
    lanes: int  # pairs with the padding of the slices of 8
    slabs: int
    contacts: int  # touching pairs at the end of the last step, sweep form, as the next three
    overlap_mean: float  # m
    overlap_max: float  # m
    kinetic_energy: float  # J


def _compiler() -> str:
    for name in (os.environ.get("CXX"), "g++", "clang++", "c++"):
        if name and shutil.which(name):
            return name
    raise TwinUnavailable("no C++ compiler found (tried $CXX, g++, clang++, c++)")


_library: ctypes.CDLL | None = None


def load() -> ctypes.CDLL:
    """Build (once per source, compiler and CPU; kept in the cache folder) and load the twin."""
    global _library
    if _library is not None:
        return _library
    if platform.machine() not in ("x86_64", "AMD64") or not Path("/proc/cpuinfo").exists():
        raise TwinUnavailable(f"the twin needs Linux on x86-64, this is {platform.platform()}")
    cpu = Path("/proc/cpuinfo").read_text().split("\n\n")[0]
    flags = next((line for line in cpu.splitlines() if line.startswith("flags")), "")
    if " avx2 " not in flags + " " or " fma " not in flags + " ":
        raise TwinUnavailable("the twin needs a CPU with AVX2 and FMA")
    cxx = _compiler()
    version = subprocess.run([cxx, "--version"], capture_output=True, text=True).stdout
    digest = hashlib.sha256((version + flags + " ".join(FLAGS)).encode())
    for source in [*sorted(HERE.glob("*.h")), HERE / "p2_twin.cpp"]:
        digest.update(source.read_bytes())
    root = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "berm-twin"
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError:
        root = Path(tempfile.gettempdir()) / "berm-twin"
        root.mkdir(parents=True, exist_ok=True)
    library = root / f"p2_twin-{digest.hexdigest()[:16]}.so"
    if not library.exists():
        partial = library.with_suffix(f".{os.getpid()}.tmp")
        command = [cxx, *FLAGS, str(HERE / "p2_twin.cpp"), "-o", str(partial), "-lmvec", "-lm"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise TwinUnavailable(f"compiling the twin failed: {' '.join(command)}\n{done.stderr}")
        partial.replace(library)
    lib = ctypes.CDLL(str(library))
    real, double = ctypes.POINTER(ctypes.c_float), ctypes.POINTER(ctypes.c_double)
    lib.twin_create.restype = ctypes.c_void_p
    lib.twin_create.argtypes = [
        ctypes.c_int32, real, real, ctypes.c_int32, real, ctypes.POINTER(_Params)
    ]  # fmt: skip
    lib.twin_free.argtypes = [ctypes.c_void_p]
    lib.twin_step.argtypes = [ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32]
    lib.twin_get.argtypes = [ctypes.c_void_p, real, real, double]
    lib.twin_stats.argtypes = [ctypes.c_void_p, double]
    _library = lib
    return lib


def _pointer(a: npt.NDArray[np.generic], kind: type) -> object:
    return a.ctypes.data_as(ctypes.POINTER(kind))


class Twin:
    """A world of grains and planes in C++; the arrays are copied in, and out by :meth:`state`."""

    def __init__(
        self,
        x: npt.ArrayLike,
        v: npt.ArrayLike,
        planes: npt.ArrayLike,
        params: TwinParams | None = None,
    ) -> None:
        """x (n,4): position and radius, m. v (n,4): velocity, m/s, and inverse mass, 1/kg.

        planes (m,4): unit normal and offset; ``normal . p >= offset`` is free space.
        """
        self._lib = load()
        self._x = np.array(x, np.float32, order="C")
        self._v = np.array(v, np.float32, order="C")
        self._planes = np.ascontiguousarray(planes, np.float32).reshape(-1, 4)
        if self._x.ndim != 2 or self._x.shape[1] != 4 or self._v.shape != self._x.shape:
            raise ValueError(f"x and v must be (n, 4): got {self._x.shape} and {self._v.shape}")
        self.params = params or TwinParams()
        exact = {"dt_exact": self.params.dt, "skin_exact": self.params.skin}
        values = exact | {
            name: getattr(self.params, name) for name, *_ in _Params._fields_ if name not in exact
        }
        values["gravity"] = (ctypes.c_float * 3)(*self.params.gravity)
        f = ctypes.c_float
        self._handle = self._lib.twin_create(
            len(self._x), _pointer(self._x, f), _pointer(self._v, f),
            len(self._planes), _pointer(self._planes, f), ctypes.byref(_Params(**values)),
        )  # fmt: skip
        if not self._handle:
            raise ValueError(f"impossible input: {len(self._x)} grains, {self.params}")

    def step(self, form: str = "published", steps: int = 1) -> None:
        """Advance by ``steps`` steps of the ``published`` or the ``sweep`` form."""
        self._lib.twin_step(self._handle, FORMS[form], steps)

    def state(self) -> tuple[Rows, Rows, npt.NDArray[np.float64]]:
        """Positions (n,4), velocities (n,4) in the order given; force on each plane (m,3), N."""
        force = np.zeros((len(self._planes), 3))
        self._lib.twin_get(
            self._handle, _pointer(self._x, ctypes.c_float), _pointer(self._v, ctypes.c_float),
            _pointer(force, ctypes.c_double),
        )  # fmt: skip
        return self._x.copy(), self._v.copy(), force

    def stats(self) -> TwinStats:
        """Stage seconds, steps and searches since the last call of this method."""
        out = np.zeros(12)
        self._lib.twin_stats(self._handle, _pointer(out, ctypes.c_double))
        seconds, counts, floats = out[:2].tolist(), out[2:9].tolist(), out[9:].tolist()
        return TwinStats(*seconds, *(int(a) for a in counts), *floats)

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._lib.twin_free(self._handle)
