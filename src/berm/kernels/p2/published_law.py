"""The contact law as published: the correction of a contact in one iteration, [Holz14].

(17), (22)-(23) spring-damper with the iteration-independent factors (28), (30)-(33) friction,
(35)-(36) adhesion.

**Deviation**: m_eff = 1 / (w_i + w_j) in (21), (34), a minus in (31) (ERRATA).
"""

from __future__ import annotations

from berm.kernels.jit import inline, inner
from berm.kernels.p2.law import ADHESIVE, T_C, T_K
from berm.kernels.simd.vec8 import fma, select, vabs, vmax, vmin, vsqrt


@inner
def root_factor(k, c, w, iterations):
    """1 - alpha^(1/n) of (28), with alpha = 1 - k_pb - c_pb = 1 / (1 + (h^2 k + h c) w)."""
    return 1.0 - (1.0 + (k + c) * w) ** (-1.0 / iterations)


@inline
def shares(table, pair):
    """What spring and damper have of the factor (28) in (21)."""
    both = table[T_K, pair] + table[T_C, pair]
    return table[T_K, pair] / both, table[T_C, pair] / both


@inline
def excess(nx, ny, nz, rx, ry, rz, gap, k, c, mu_k, free, glue, one, flags):
    """What eight contacts take from relative displacements r: minus (23), (32)-(33), (36).

    k, c: factors (28) of spring and damper; free: 1 / mu_s; glue: cap of adhesion (35).
    """
    approach = fma(rx, nx, fma(ry, ny, rz * nz))  # C_d (17)
    sx = fma(-approach, nx, rx)
    sy = fma(-approach, ny, ry)
    sz = fma(-approach, nz, rz)
    slide2 = fma(sx, sx, fma(sy, sy, sz * sz))
    inverse = vsqrt(slide2) * (one / slide2)  # root and quotient side by side
    normal = fma(k, gap, c * approach)
    size = vabs(normal)
    ratio = size * inverse
    kinetic = mu_k * ratio
    slips = ratio < free  # never where nothing slides
    if flags & ADHESIVE:
        zero = one - one
        normal = normal + vmin(vmax(approach - normal, zero), glue)
        stick = size / free + glue
        slips = slide2 > stick * stick
        kinetic = fma(mu_k, size, glue) * inverse
    share = select(slips, kinetic, one)
    return fma(normal, nx, share * sx), fma(normal, ny, share * sy), fma(normal, nz, share * sz)
