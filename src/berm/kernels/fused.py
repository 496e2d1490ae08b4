"""`inner` and `inline` of `jit` with products and sums fused (fma): one rounding instead of two.

For float64 loops in which no sum has to cancel exactly: contact laws gain a sixth. Nothing else of
fast mathematics is allowed, so that a NaN stays one, and the bits do not depend on the threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from berm.kernels import jit

_FUSED = {
    "nogil": True,
    "error_model": "numpy",
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "fastmath": {"contract"},
}


def inner(function: Callable[..., Any]) -> Any:
    """Compile a function that only other kernels call."""
    return jit.numba.njit(**_FUSED)(function) if jit.JIT_ON else function


def inline(function: Callable[..., Any]) -> Any:
    """Compile a small function that LLVM is to inline at every call.

    It may neither make nor return arrays: references to those that it is given are not counted,
    which in a loop over contacts would cost as much as the law itself.
    """
    options = {**_FUSED, "forceinline": True, "_nrt": False}
    return jit.numba.njit(**options)(function) if jit.JIT_ON else function
