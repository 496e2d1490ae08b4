"""Eight-lane vectors for the solvers' inner loops: LLVM vector types as Numba values.

One `Vec8` holds eight numbers of one scalar type (float32, float64, int32 or a mask of bools).
LLVM maps it to whatever the machine has (AVX2, AVX-512, NEON, SSE), so the source is written
once. With the JIT off the same functions work on NumPy arrays of length 8 and give the same
answers. Only exact IEEE operations are offered (no approximate reciprocals), so that every
machine computes the same bits.
"""

from __future__ import annotations

from berm.kernels import jit as _jit

if _jit.JIT_ON:
    from berm.kernels.simd.vec8_lanes import (
        bits,
        count_zeros,
        fma,
        iota32,
        lane,
        quad_of,
        select,
        splat,
        splat4,
        vabs,
        vmax,
        vmin,
        vsqrt,
        with_last,
    )
    from berm.kernels.simd.vec8_memory import (
        fetch8_at,
        gather4,
        gather4_at,
        gather8_at,
        gather12,
        gather12_at,
        load,
        load4,
        load8,
        quad,
        scatter_add4,
        scatter_add4_at,
        scatter_add_tail8,
        scatter_tail8_at,
        set_quad,
        store,
        store4,
        store_places,
        take,
    )
else:
    from berm.kernels.simd.vec8_plain import (  # noqa: F401
        bits,
        count_zeros,
        fetch8_at,
        fma,
        gather4,
        gather4_at,
        gather8_at,
        gather12,
        gather12_at,
        iota32,
        lane,
        load,
        load4,
        load8,
        quad,
        quad_of,
        scatter_add4,
        scatter_add4_at,
        scatter_add_tail8,
        scatter_tail8_at,
        select,
        set_quad,
        splat,
        splat4,
        store,
        store4,
        store_places,
        take,
        vabs,
        vmax,
        vmin,
        vsqrt,
        with_last,
    )
