"""The only module that imports the JIT: decorators, thread control and the disk cache.

A cached caller does not notice an edited callee, so each module caches in a folder keyed by a hash
of its source and of all the kernels that it imports: an edit anywhere below gives a fresh folder.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import os
import platform
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

# Threads that wait for each other do not spin for ever, which costs 20 times on a busy machine, but
# longer than from one loop to the next: waking them takes 20 times as long as a short loop.
os.environ.setdefault("GOMP_SPINCOUNT", "20000")

import numba
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.core.typing.templates import AbstractTemplate, infer_global, signature  # noqa: F401
from numba.extending import (  # noqa: F401  (re-exported for vec8)
    intrinsic,
    lower_builtin,
    models,
    register_model,
)

JIT_ON = not numba.config.DISABLE_JIT


def _cache_root() -> Path:
    base = os.environ.get("BERM_CACHE_DIR") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "berm"
    )
    return Path(base) / f"py{platform.python_version()}-numba{numba.__version__}"


CACHE_FOLDER = _cache_root()
_folders: set[Path] = set()  # of the modules that were imported so far
_OWN_CACHE = "NUMBA_CACHE_DIR" in os.environ  # the user says where


@cache
def _imports(module: str) -> tuple[Path | None, frozenset[str]]:
    """The file of a module, and the names in berm that it imports; None where there is no file."""
    try:
        found = importlib.util.find_spec(module)
    except (ModuleNotFoundError, ValueError):  # a name inside a module, or a script
        return None, frozenset()
    if found is None or not found.origin:
        return None, frozenset()
    names: set[str] = set()
    for node in ast.walk(ast.parse(Path(found.origin).read_bytes())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("berm"):
            names |= {str(node.module), *(f"{node.module}.{name.name}" for name in node.names)}
    return Path(found.origin), frozenset(names)


def _sources(module: str) -> set[Path]:
    """The files of a module and of everything in berm that it imports, directly or not."""
    files: set[Path] = set()
    seen, due = {module}, [module]
    while due:
        file, names = _imports(due.pop())
        if file is not None:
            files.add(file)
        due += names - seen
        seen |= names
    return files


@cache
def source_key(module: str) -> str:
    """Return a hash of the sources that `module` and the kernels that it uses are made of."""
    digest = hashlib.sha256()
    for path in sorted(_sources(module)):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _cached(function: Callable[..., Any]) -> None:
    """Let numba, which looks when it decorates, cache `function` in its module's folder."""
    module = function.__module__
    folder = CACHE_FOLDER / f"{module.rpartition('.')[2]}-{source_key(module)}"
    _folders.add(folder)
    if not _OWN_CACHE:
        numba.config.CACHE_DIR = str(folder)


def _own_files(dispatcher: Any) -> Any:
    """Let each process name the files that it caches: numba counts, and two may count alike.

    Of two that compile different signatures at the same time, one would find the other's code.
    """
    file = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    if hasattr(file, "_data_name_pattern"):
        pattern = file._data_name_pattern
        file._data_name = lambda number: f"{os.getpid()}-{pattern.format(number=number)}"
    return dispatcher


_COMMON = {"cache": True, "nogil": True, "error_model": "numpy", "fastmath": False}


def jit(function: Callable[..., Any]) -> Any:
    """Compile a plain loop; cached on disk, releases the GIL, IEEE arithmetic."""
    _cached(function)
    return _own_files(numba.njit(**_COMMON)(function))


def inner(function: Callable[..., Any]) -> Any:
    """Compile a function that only other kernels call: no Python entry, no cache of its own."""
    if not JIT_ON:
        return function
    return numba.njit(
        nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True
    )(function)


def in_python(function: Any) -> Any:
    """Return an `inner` function as Python can call it."""
    return getattr(function, "py_func", function)


def bare(function: Callable[..., Any]) -> Any:
    """Compile a function that only other kernels call, without counting references.

    It may look into arrays, but neither make nor return any. Where arrays belong to Python,
    counting costs as much as a search that asks thousands of times for a row.
    """
    if not JIT_ON:
        return function
    return numba.njit(
        nogil=True,
        error_model="numpy",
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
        _nrt=False,
    )(function)


def inline(function: Callable[..., Any]) -> Any:
    """Compile a small function that LLVM is to inline at every call.

    It may neither make nor return arrays: references to those that it is given are not counted,
    which in a loop over contacts would cost as much as the law itself.
    """
    if not JIT_ON:
        return function
    return numba.njit(
        nogil=True,
        error_model="numpy",
        forceinline=True,
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
        _nrt=False,
    )(function)


def pjit(function: Callable[..., Any]) -> Any:
    """Compile a loop over slabs that runs on all threads; its body is one call."""
    _cached(function)
    return _own_files(numba.njit(parallel=True, **_COMMON)(function))


prange = numba.prange


def block_law(function: Callable[..., Any]) -> Any:
    """Compile void f(b, p, elapsed) of two blocks of float64 for `call_block`, sums fused (fma).

    Kernels that call it by its address need not be compiled anew for another function.
    """
    if not JIT_ON:
        return function
    _cached(function)
    kind = "void(CPointer(float64), CPointer(float64), float64)"
    options = {"error_model": "numpy", "fastmath": {"contract"}}
    return numba.cfunc(kind, cache=True, **options)(function)


def address(law: Any) -> Any:
    """Return what `call_block` needs to call a `block_law`."""
    return law.address if JIT_ON else law


if JIT_ON:
    carray = numba.carray

    @intrinsic
    def call_block(typingctx: Any, address: Any, b: Any, p: Any, elapsed: Any) -> Any:
        """Call the `block_law` at an address with the data of two contiguous arrays."""

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            real = ir.DoubleType()
            kind = ir.FunctionType(ir.VoidType(), [real.as_pointer(), real.as_pointer(), real])
            data = [
                context.make_array(sig.args[k])(context, builder, args[k]).data for k in (1, 2)
            ]
            builder.call(builder.inttoptr(args[0], kind.as_pointer()), [*data, args[3]])
            return context.get_dummy_value()

        return types.none(types.int64, b, p, types.float64), codegen

    class Distant:
        """A kernel that others call by its address: they are compiled without its code in them.

        What calls what is compiled again in each caller otherwise, so that a solver at the bottom
        of six layers is compiled six times. sample() returns arguments of the only types that it
        is for; `call` takes the `address` and a tuple of arguments.
        """

        def __init__(self, kernel: Any, sample: Callable[[], tuple[Any, ...]]) -> None:
            self.kernel, self.sample = kernel, sample
            self._compiled: Any = None
            self._address = 0
            self.call = self._make_call()

        def compiled(self) -> Any:
            """Compile the kernel for its types, or find it in the cache."""
            if self._compiled is None:
                kinds = tuple(numba.typeof(one) for one in self.sample())
                self.kernel.compile(kinds)
                self._compiled = self.kernel.overloads[kinds]
            return self._compiled

        @property
        def address(self) -> int:
            """Where its code is in this process."""
            if not self._address:
                found = self.compiled()
                name = found.fndesc.llvm_func_name
                self._address = int(found.library.get_pointer_to_function(name))
            return self._address

        def _make_call(self) -> Any:
            @intrinsic
            def call(typingctx: Any, address: Any, args: Any) -> Any:
                signed = self.compiled().signature
                given = tuple(types.unliteral(kind) for kind in args.types)
                if given != signed.args:
                    wrong = [str(pair) for pair in zip(given, signed.args) if pair[0] != pair[1]]
                    raise TypingError(f"{self.kernel.__name__}: arguments {wrong}")

                def codegen(context: Any, builder: Any, sig: Any, values: Any) -> Any:
                    convention = context.call_conv
                    kind = convention.get_function_type(signed.return_type, signed.args)
                    held = cgutils.unpack_tuple(builder, values[1], len(given))
                    held = [
                        context.cast(builder, value, of, to)
                        for value, of, to in zip(held, sig.args[1].types, signed.args, strict=True)
                    ]
                    result = cgutils.alloca_once(
                        builder, convention.get_return_type(signed.return_type).pointee, zfill=True
                    )
                    fault = cgutils.alloca_once(builder, kind.args[1].pointee)
                    packed = convention._get_arg_packer(signed.args).as_arguments(builder, held)
                    code = builder.inttoptr(values[0], kind.as_pointer())
                    builder.call(code, [result, fault, *packed])
                    return context.get_returned_value(
                        builder, signed.return_type, builder.load(result)
                    )

                return signed.return_type(types.int64, args), codegen

            return call


else:

    class Distant:  # type: ignore[no-redef]
        """A kernel that others call by its address; without the JIT, the function itself."""

        address = 0

        def __init__(self, kernel: Any, sample: Callable[[], tuple[Any, ...]]) -> None:
            self.kernel = kernel

        def call(self, address: int, args: tuple[Any, ...]) -> Any:
            """Call it."""
            return self.kernel(*args)

    def carray(data: Any, size: int) -> Any:
        """Return the data themselves, which are an array here."""
        return data

    def call_block(address: Any, b: Any, p: Any, elapsed: float) -> None:
        """Call a `block_law`."""
        address(b, p, elapsed)


def cache_is_warm() -> bool:
    """Return whether an earlier run has left compiled kernels for these sources."""
    return any(next(folder.rglob("*.nbc"), None) for folder in _folders if folder.exists())


def cache_folders() -> list[Path]:
    """Return the folders of compiled kernels for the sources as they are."""
    return sorted(folder for folder in _folders if folder.exists())


_threads = int(numba.config.NUMBA_NUM_THREADS)
_now = _threads  # that parallel loops run on at present
_always = False
_told = threading.local()  # what numba knows, which it keeps for each thread of Python


def set_threads(count: int, always: bool = False) -> None:
    """Run parallel loops on at most `count` threads (results do not depend on it).

    always: on so many and no fewer, also where one would be faster.
    """
    global _threads, _always
    _threads, _always = max(1, min(count, int(numba.config.NUMBA_NUM_THREADS))), always
    use_threads(_threads)


def may_choose_threads() -> bool:
    """Whether a step may run on fewer threads than there are."""
    return not _always and _threads > 1


def get_threads() -> int:
    """Return the number of threads that worlds may use."""
    return _threads


def use_threads(count: int) -> None:
    """Run the parallel loops that come on `count` threads; `threads` chooses for each step."""
    global _now
    _now = count
    if getattr(_told, "count", 0) != count:
        numba.set_num_threads(count)
        _told.count = count


def runs_alone() -> bool:
    """Whether parallel loops run on one thread at present."""
    return _now == 1


def max_threads() -> int:
    """Return the largest number of threads that can be used."""
    return int(numba.config.NUMBA_NUM_THREADS)


def versions() -> dict[str, str]:
    """Return the versions of the compiler stack."""
    import llvmlite
    from llvmlite import binding as llvm

    layer = "none yet"
    try:
        layer = numba.threading_layer()
    except ValueError:
        pass
    return {
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "threading layer": layer,
        "cpu": str(llvm.get_host_cpu_name()),
    }
