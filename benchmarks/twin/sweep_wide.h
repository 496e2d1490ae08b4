// The sweep's contacts sixteen at a time, where the machine has AVX-512: a slice of each of two slabs of a colour.
// A contact waits for the one before it in its slice (latencies sum up to about 160 cycles), so the same wait should
// serve twice as many; measured, it gains 3 to 10 %, and what else limits it is not known.
// The same operations lane by lane as in sweep.h, so the same bits.
#pragma once
#include "sweep.h"
#if defined(__AVX512F__) && defined(__AVX512DQ__)

using w16 = __m512;
struct Wide4 { w16 x, y, z, w; };
struct WideRow { Wide4 x, a, b; };

INLINE w16 add(w16 a, w16 b) { return _mm512_add_ps(a, b); }
INLINE w16 sub(w16 a, w16 b) { return _mm512_sub_ps(a, b); }
INLINE w16 mul(w16 a, w16 b) { return _mm512_mul_ps(a, b); }
INLINE w16 fma_(w16 a, w16 b, w16 c) { return _mm512_fmadd_ps(a, b, c); }
INLINE w16 fnma(w16 a, w16 b, w16 c) { return _mm512_fnmadd_ps(a, b, c); }
INLINE w16 dot(w16 ax, w16 ay, w16 az, w16 bx, w16 by, w16 bz) { return fma_(ax, bx, fma_(ay, by, mul(az, bz))); }
INLINE w16 lo32(w16 a, w16 b) { return _mm512_unpacklo_ps(a, b); }
INLINE w16 hi32(w16 a, w16 b) { return _mm512_unpackhi_ps(a, b); }
INLINE w16 lo64(w16 a, w16 b) { return _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(a), _mm512_castps_pd(b))); }
INLINE w16 hi64(w16 a, w16 b) { return _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(a), _mm512_castps_pd(b))); }
INLINE w16 both(const float* a, const float* b) { return _mm512_insertf32x8(_mm512_castps256_ps512(_mm256_load_ps(a)), _mm256_load_ps(b), 1); }

INLINE w16 quad(const float* t, const row4* a, const row4* b, int l) {
    w16 r = _mm512_castps128_ps512(_mm_load_ps(at<8>(t, a[l])));
    r = _mm512_insertf32x4(r, _mm_load_ps(at<8>(t, a[l + 4])), 1);
    r = _mm512_insertf32x4(r, _mm_load_ps(at<8>(t, b[l])), 2);
    return _mm512_insertf32x4(r, _mm_load_ps(at<8>(t, b[l + 4])), 3);
}
INLINE Wide4 gather_wide(const float* t, const row4* a, const row4* b) {
    w16 p = quad(t, a, b, 0), q = quad(t, a, b, 1), r = quad(t, a, b, 2), s = quad(t, a, b, 3);
    w16 t0 = lo32(p, q), t1 = hi32(p, q), t2 = lo32(r, s), t3 = hi32(r, s);
    return {lo64(t0, t2), hi64(t0, t2), lo64(t1, t3), hi64(t1, t3)};
}
INLINE WideRow gather_wide_row(const float* t, const row4* a, const row4* b) {
    return {gather_wide(t, a, b), gather_wide(t + 4, a, b), gather_wide(t + 8, a, b)};
}
INLINE void scatter_wide4(float* t, const row4* a, const row4* b, w16 x, w16 y, w16 z, w16 w) {
    w16 t0 = lo32(x, y), t1 = hi32(x, y), t2 = lo32(z, w), t3 = hi32(z, w), r[4] = {lo64(t0, t2), hi64(t0, t2), lo64(t1, t3), hi64(t1, t3)};
    for (int l = 3; l >= 0; l--) {       // the first lane last: idle ones may repeat its row
        _mm_store_ps(at<8>(t, a[l + 4]), _mm512_extractf32x4_ps(r[l], 1));
        _mm_store_ps(at<8>(t, b[l + 4]), _mm512_extractf32x4_ps(r[l], 3));
    }
    for (int l = 3; l >= 0; l--) {
        _mm_store_ps(at<8>(t, a[l]), _mm512_castps512_ps128(r[l]));
        _mm_store_ps(at<8>(t, b[l]), _mm512_extractf32x4_ps(r[l], 2));
    }
}
INLINE void put(float* a, float* b, w16 v) {
    _mm256_store_ps(a, _mm512_castps512_ps256(v));
    _mm256_store_ps(b, _mm512_extractf32x8_ps(v, 1));
}

// Slices [0, both slabs have) of two slabs side by side.
static void sweep_two(Twin& w, SweepSlab& A, SweepSlab& B, float memory) {
    const Law l(w.par, memory);
    auto wide = [](v8 a) { return _mm512_set1_ps(_mm256_cvtss_f32(a)); };
    const w16 K = wide(l.k), C = wide(l.c), mu_s = wide(l.mu_s), mu_k = wide(l.mu_k), slip = wide(l.slip), part = wide(l.memory),
              relax = wide(l.relax), one = _mm512_set1_ps(1), zero = _mm512_setzero_ps(), tiny = wide(l.tiny);
    float* rows = w.row.p;
    const row4 *last_a = A.idx.p + 8 * (size_t)std::max(A.sptr[A.slices] - 1, 0), *last_b = B.idx.p + 8 * (size_t)std::max(B.sptr[B.slices] - 1, 0);
    alignas(32) float spare_a[24] = {0}, spare_b[24] = {0};
    for (int sl = 0, end = std::min(A.slices, B.slices); sl < end; sl++) {
        const row4 *ra = A.srow.p + 8 * (size_t)sl, *rb = B.srow.p + 8 * (size_t)sl;
        fetch8(rows, A.srow.p + 8 * (size_t)std::min(sl + kSlicesAhead, A.slices - 1));
        fetch8(rows, B.srow.p + 8 * (size_t)std::min(sl + kSlicesAhead, B.slices - 1));
        const int na = A.sptr[sl + 1] - A.sptr[sl], nb = B.sptr[sl + 1] - B.sptr[sl], most = std::max(na, nb);
        const row4 *ia = A.idx.p + 8 * (size_t)A.sptr[sl], *ib = B.idx.p + 8 * (size_t)B.sptr[sl];
        float *pa = A.impulse.p + 24 * (size_t)A.sptr[sl], *pb = B.impulse.p + 24 * (size_t)B.sptr[sl];
        const i8 self_a = _mm256_load_si256((const i8*)ra), self_b = _mm256_load_si256((const i8*)rb);
        WideRow own = gather_wide_row(rows, ra, rb), other = gather_wide_row(rows, ia, ib);
        const row4 *ja = ia, *jb = ib;
        for (int k = 0; k < most; k++) {
            const row4 *next_a = k + 1 < na ? ia + 8 * (k + 1) : ra, *next_b = k + 1 < nb ? ib + 8 * (k + 1) : rb;   // idle beyond its end
            const WideRow next = gather_wide_row(rows, next_a, next_b);
            fetch8(rows, std::min(ia + 8 * (k + kSlotsAhead), last_a));
            fetch8(rows, std::min(ib + 8 * (k + kSlotsAhead), last_b));
            float *P = k < na ? pa + 24 * k : spare_a, *Q = k < nb ? pb + 24 * k : spare_b;
            const w16 px = both(P, Q), py = both(P + 8, Q + 8), pz = both(P + 16, Q + 16);
            const w16 ux = sub(own.a.x, other.a.x), uy = sub(own.a.y, other.a.y), uz = sub(own.a.z, other.a.z);
            const w16 dx = add(sub(own.x.x, other.x.x), ux), dy = add(sub(own.x.y, other.x.y), uy), dz = add(sub(own.x.z, other.x.z), uz);
            const w16 far2 = _mm512_max_ps(dot(dx, dy, dz, dx, dy, dz), tiny);
            const w16 far = _mm512_sqrt_ps(far2), over = mul(far, _mm512_div_ps(one, far2));
            const w16 nx = mul(dx, over), ny = mul(dy, over);
            const w16 nz = _mm512_mask_mul_ps(one, _mm512_cmp_ps_mask(far2, tiny, _CMP_GT_OQ), dz, over);
            const __mmask16 idle = (__mmask16)(_mm256_cmpeq_epi32_mask(self_a, _mm256_load_si256((const i8*)ja)) |
                                               (unsigned)_mm256_cmpeq_epi32_mask(self_b, _mm256_load_si256((const i8*)jb)) << 8);
            const w16 gap = _mm512_mask_mov_ps(sub(far, add(own.x.w, other.x.w)), idle, one);
            const w16 approach = dot(ux, uy, uz, nx, ny, nz);
            const w16 rx = sub(own.b.x, other.b.x), ry = sub(own.b.y, other.b.y), rz = sub(own.b.z, other.b.z);
            const w16 mass = mul(relax, add(own.a.w, other.a.w));
            const w16 before = dot(px, py, pz, nx, ny, nz), normal = mul(part, before);
            const w16 damp = _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(gap, mul(mass, _mm512_max_ps(normal, zero)), _CMP_LE_OQ), C);
            const w16 soft = fma_(add(K, damp), mass, one), shared = _mm512_div_ps(one, mul(soft, mass)), inverse = mul(shared, soft);
            w16 fresh = fnma(mul(shared, mass), add(normal, fma_(K, gap, mul(damp, approach))), normal);
            const w16 along = dot(rx, ry, rz, nx, ny, nz);
            const w16 sx = fnma(along, nx, rx), sy = fnma(along, ny, ry), sz = fnma(along, nz, rz);
            fresh = _mm512_max_ps(fresh, zero);
            const w16 slide = dot(sx, sy, sz, sx, sy, sz);
            const w16 cap = mul(_mm512_mask_mov_ps(mu_s, _mm512_cmp_ps_mask(slide, slip, _CMP_GT_OQ), mu_k), fresh);
            const w16 tx = fnma(inverse, sx, fnma(before, nx, px)), ty = fnma(inverse, sy, fnma(before, ny, py)),
                      tz = fnma(inverse, sz, fnma(before, nz, pz));
            const w16 size2 = dot(tx, ty, tz, tx, ty, tz);
            const w16 keep = _mm512_min_ps(mul(mul(cap, _mm512_sqrt_ps(size2)), _mm512_div_ps(one, size2)), one);
            const w16 fx = fma_(fresh, nx, mul(tx, keep)), fy = fma_(fresh, ny, mul(ty, keep)), fz = fma_(fresh, nz, mul(tz, keep));
            put(P, Q, fx); put(P + 8, Q + 8, fy); put(P + 16, Q + 16, fz);
            const w16 kx = fnma(part, px, fx), ky = fnma(part, py, fy), kz = fnma(part, pz, fz);
            const w16 ex = sub(fx, px), ey = sub(fy, py), ez = sub(fz, pz), wi = own.a.w, wj = other.a.w;
            scatter_wide4(rows + 4, ja, jb, fnma(wj, kx, other.a.x), fnma(wj, ky, other.a.y), fnma(wj, kz, other.a.z), wj);
            scatter_wide4(rows + 8, ja, jb, fnma(wj, ex, other.b.x), fnma(wj, ey, other.b.y), fnma(wj, ez, other.b.z), zero);
            own.a.x = fma_(wi, kx, own.a.x); own.a.y = fma_(wi, ky, own.a.y); own.a.z = fma_(wi, kz, own.a.z);
            own.b.x = fma_(wi, ex, own.b.x); own.b.y = fma_(wi, ey, own.b.y); own.b.z = fma_(wi, ez, own.b.z);
            other = next;
            ja = next_a;
            jb = next_b;
        }
        scatter_wide4(rows + 4, ra, rb, own.a.x, own.a.y, own.a.z, own.a.w);
        scatter_wide4(rows + 8, ra, rb, own.b.x, own.b.y, own.b.z, zero);
    }
}
#endif
