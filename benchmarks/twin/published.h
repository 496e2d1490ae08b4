// (a) The published form: [Holz14] (2)-(9), (21)-(28), (30)-(34), (37).
// Deviation (ERRATA.md): friction opposes the motion in (31), reduced mass in (21), and the active set
// of a step is fixed at detection unless `retest` is set.
#pragma once
#include "search.h"

extern "C" __m256 _ZGVdN8vv_powf(__m256, __m256);    // libmvec

static const v8 kTiny = {1e-36f, 1e-36f, 1e-36f, 1e-36f, 1e-36f, 1e-36f, 1e-36f, 1e-36f};
static inline v8 absolute(v8 a) { return _mm256_andnot_ps(set1(-0.0f), a); }

// (21) and (28) for inverse reduced mass A.
struct Factors { v8 k, c; };
static inline Factors factors(const Params& p, v8 A) {
    v8 K = _mm256_mul_ps(set1(p.dt * p.dt * p.stiffness), A), C = _mm256_mul_ps(set1(p.dt * p.damping), A);
    v8 one = set1(1), inv = _mm256_div_ps(one, _mm256_add_ps(one, _mm256_add_ps(K, C)));
    v8 root = _ZGVdN8vv_powf(inv, set1(1.0f / p.iterations));        // alpha = inv
    v8 c = _mm256_div_ps(_mm256_mul_ps(_mm256_mul_ps(C, inv), _mm256_sub_ps(one, root)),
                         _mm256_max_ps(_mm256_sub_ps(one, inv), kTiny));
    return {_mm256_sub_ps(_mm256_sub_ps(one, c), root), c};
}

// First half of a pair's work: geometry. Kept apart so that the next vector's loads, root and quotient
// are under way while this one's friction is still being computed.
struct Pair { v8 nx, ny, nz, gap, rx, ry, rz, wi, wj; };

template <bool WEIGHTS>
static inline Pair geometry(const float* pu, const Lanes4& pi, const Lanes4& ui, const row4* rj) {
    const Lanes4 pj = gather4<8>(pu, rj), uj = gather4<8>(pu + 4, rj);
    Pair k;
    v8 dx = _mm256_sub_ps(pi.x, pj.x), dy = _mm256_sub_ps(pi.y, pj.y), dz = _mm256_sub_ps(pi.z, pj.z);
    v8 l2 = _mm256_max_ps(fma_(dx, dx, fma_(dy, dy, _mm256_mul_ps(dz, dz))), kTiny);
    v8 l = _mm256_sqrt_ps(l2), il = _mm256_mul_ps(l, _mm256_div_ps(set1(1), l2));    // side by side
    k.nx = _mm256_mul_ps(dx, il); k.ny = _mm256_mul_ps(dy, il); k.nz = _mm256_mul_ps(dz, il);
    k.gap = _mm256_sub_ps(l, _mm256_add_ps(pi.w, pj.w));                             // (22)
    k.rx = _mm256_sub_ps(ui.x, uj.x); k.ry = _mm256_sub_ps(ui.y, uj.y); k.rz = _mm256_sub_ps(ui.z, uj.z);
    if (WEIGHTS) { k.wi = ui.w; k.wj = uj.w; } else { k.wi = k.wj = _mm256_setzero_ps(); }
    return k;
}

template <bool MONO, bool RETEST>
static void pairs_published(const Twin& w, Slab& s) {
    const Params& p = w.par;
    const float gl = std::sqrt(p.gravity[0] * p.gravity[0] + p.gravity[1] * p.gravity[1] + p.gravity[2] * p.gravity[2]);
    const float e = gl > 0 ? p.eps_depth / gl : 0;                  // (37): 1 - eps n.g
    const v8 ex = set1(-e * p.gravity[0]), ey = set1(-e * p.gravity[1]), ez = set1(-e * p.gravity[2]);
    const v8 mus = set1(p.friction_static), muk = set1(p.friction_kinetic), one = set1(1), half = set1(0.5f);
    const Factors fm = factors(p, set1(2 * w.wmono));
    const float* pu = w.pu.p;
    float* acc = s.acc.p - 4 * (int64_t)s.lo;
    const row4 *srow = s.srow.p, *idx = s.idx.p;
    const int32_t* sptr = s.sptr.p;
    if (!s.slices) return;
    Lanes4 pi = gather4<8>(pu, srow), ui = gather4<8>(pu + 4, srow);
    Pair next = geometry<!MONO>(pu, pi, ui, idx);
    for (int sl = 0; sl < s.slices; sl++) {
        const int v0 = sptr[sl], v1 = sptr[sl + 1];
        const i8 cnt = _mm256_load_si256((const i8*)&s.scount[8 * sl]);
        v8 ax = _mm256_setzero_ps(), ay = ax, az = ax, an = ax;
        for (int q = v0; q < v1; q++) {
            const Pair k = next;
            if (q + 1 == v1) {       // arrays have one spare slice and vector at the end
                pi = gather4<8>(pu, srow + 8 * (sl + 1));
                ui = gather4<8>(pu + 4, srow + 8 * (sl + 1));
            }
            next = geometry<!MONO>(pu, pi, ui, idx + 8 * (int64_t)(q + 1));
            const v8 nx = k.nx, ny = k.ny, nz = k.nz;
            v8 cd = fma_(k.rx, nx, fma_(k.ry, ny, _mm256_mul_ps(k.rz, nz)));                // (17)
            v8 live = lane_mask(cnt, q - v0), wi, wj, ln;
            if (RETEST) live = _mm256_and_ps(live, _mm256_cmp_ps(k.gap, _mm256_setzero_ps(), _CMP_LE_OQ));
            if (MONO) {
                wi = wj = half;
                ln = fma_(fm.k, k.gap, _mm256_mul_ps(fm.c, cd));                            // (23), minus
            } else {
                v8 A = _mm256_add_ps(k.wi, k.wj), iA = _mm256_div_ps(one, A);
                Factors f = factors(p, A);
                wi = _mm256_mul_ps(k.wi, iA); wj = _mm256_mul_ps(k.wj, iA);
                ln = fma_(f.k, k.gap, _mm256_mul_ps(f.c, cd));
            }
            ln = _mm256_and_ps(ln, live);
            v8 tx = fnma(cd, nx, k.rx), ty = fnma(cd, ny, k.ry), tz = fnma(cd, nz, k.rz);
            v8 t2 = _mm256_max_ps(fma_(tx, tx, fma_(ty, ty, _mm256_mul_ps(tz, tz))), kTiny), al = absolute(ln);
            v8 cap = _mm256_mul_ps(mus, al), n1 = _mm256_and_ps(one, live);
            v8 f = _mm256_mul_ps(_mm256_mul_ps(_mm256_mul_ps(muk, al), _mm256_sqrt_ps(t2)), _mm256_div_ps(one, t2));
            f = _mm256_blendv_ps(n1, f, _mm256_cmp_ps(t2, _mm256_mul_ps(cap, cap), _CMP_GT_OQ));   // (33)
            v8 dx = fma_(ln, nx, _mm256_mul_ps(f, tx)), dy = fma_(ln, ny, _mm256_mul_ps(f, ty)),
               dz = fma_(ln, nz, _mm256_mul_ps(f, tz));                                     // minus (32)
            v8 dep = fma_(ex, nx, fma_(ey, ny, _mm256_mul_ps(ez, nz)));
            wi = fma_(wi, dep, wi);
            wj = fnma(wj, dep, wj);
            ax = fnma(wi, dx, ax); ay = fnma(wi, dy, ay); az = fnma(wi, dz, az);
            an = _mm256_add_ps(an, n1);
            scatter_add4(acc, idx + 8 * (int64_t)q, _mm256_mul_ps(wj, dx), _mm256_mul_ps(wj, dy), _mm256_mul_ps(wj, dz), n1);
        }
        scatter_add4(acc, srow + 8 * sl, ax, ay, az, an);
    }
}

template <bool RETEST>
static void walls_published(const Twin& w, Slab& s) {
    const Params& p = w.par;
    const float gl = std::sqrt(p.gravity[0] * p.gravity[0] + p.gravity[1] * p.gravity[1] + p.gravity[2] * p.gravity[2]);
    const float e = gl > 0 ? p.eps_depth / gl : 0;
    const v8 mus = set1(p.friction_static), muk = set1(p.friction_kinetic), one = set1(1);
    const Factors fm = factors(p, set1(w.wmono));
    float* acc = s.acc.p - 4 * (int64_t)s.lo;
    v8 fx = _mm256_setzero_ps(), fy = fx, fz = fx;
    for (int sl = 0; sl < s.wslices; sl++) {
        const int b = s.wplane[sl];
        const float* o = w.plane[b];
        const v8 nx = set1(o[0]), ny = set1(o[1]), nz = set1(o[2]);
        const v8 dep = set1(1 - e * (o[0] * p.gravity[0] + o[1] * p.gravity[1] + o[2] * p.gravity[2]));
        const row4* ri = &s.wrow[8 * sl];
        const Lanes4 pi = gather4<8>(w.pu.p, ri), ui = gather4<8>(w.pu.p + 4, ri);
        v8 gap = _mm256_sub_ps(fma_(nx, pi.x, fma_(ny, pi.y, _mm256_fmsub_ps(nz, pi.z, set1(o[3])))), pi.w);
        v8 cd = fma_(ui.x, nx, fma_(ui.y, ny, _mm256_mul_ps(ui.z, nz)));
        v8 live = _mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_set1_epi32(s.wcount[sl]), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)));
        if (RETEST) live = _mm256_and_ps(live, _mm256_cmp_ps(gap, _mm256_setzero_ps(), _CMP_LE_OQ));
        const Factors f0 = w.mono ? fm : factors(p, ui.w);
        v8 ln = _mm256_and_ps(live, fma_(f0.k, gap, _mm256_mul_ps(f0.c, cd)));
        v8 tx = fnma(cd, nx, ui.x), ty = fnma(cd, ny, ui.y), tz = fnma(cd, nz, ui.z);
        v8 t2 = fma_(tx, tx, fma_(ty, ty, _mm256_mul_ps(tz, tz))), al = absolute(ln), cap = _mm256_mul_ps(mus, al);
        v8 f = _mm256_div_ps(_mm256_mul_ps(muk, al), _mm256_sqrt_ps(_mm256_max_ps(t2, kTiny)));
        v8 n1 = _mm256_and_ps(one, live);
        f = _mm256_blendv_ps(n1, f, _mm256_cmp_ps(t2, _mm256_mul_ps(cap, cap), _CMP_GT_OQ));
        v8 m = _mm256_sub_ps(_mm256_setzero_ps(), dep);
        v8 dx = _mm256_mul_ps(m, fma_(ln, nx, _mm256_mul_ps(f, tx))), dy = _mm256_mul_ps(m, fma_(ln, ny, _mm256_mul_ps(f, ty))),
           dz = _mm256_mul_ps(m, fma_(ln, nz, _mm256_mul_ps(f, tz)));
        scatter_add4(acc, ri, dx, dy, dz, n1);
        v8 im = _mm256_div_ps(one, ui.w);                            // (34), read before averaging
        fx = fma_(im, dx, fx); fy = fma_(im, dy, fy); fz = fma_(im, dz, fz);
        if (sl + 1 == s.wslices || s.wplane[sl + 1] != b) {
            const double q = -1.0 / ((double)p.dt * p.dt);
            s.force[b][0] += q * sum8(fx); s.force[b][1] += q * sum8(fy); s.force[b][2] += q * sum8(fz);
            fx = fy = fz = _mm256_setzero_ps();
        }
    }
}

// Sums of earlier slabs that reach into slab s, added in slab order; leaves them zero.
static inline void take_halo(Twin& w, int k) {
    Slab& s = w.slabs[k];
    for (int t = 0; t < k; t++) {
        Slab& o = w.slabs[t];
        if (o.reach <= s.lo) continue;
        float *a = s.acc.p, *b = o.acc.p + (int64_t)(s.lo - o.lo) * 4;
        const int64_t m = (int64_t)(std::min(s.hi, o.reach) - s.lo) * 4;
        for (int64_t i = 0; i < m; i += 4) {
            _mm_store_ps(a + i, _mm_add_ps(_mm_load_ps(a + i), _mm_load_ps(b + i)));
            _mm_store_ps(b + i, _mm_setzero_ps());
        }
    }
}

// (9): p += sum / count.  In the last iteration also (3).
template <bool LAST>
static void average(Twin& w, int k) {
    take_halo(w, k);
    Slab& s = w.slabs[k];
    const __m128 one = _mm_set1_ps(1), zero = _mm_setzero_ps(), idt = _mm_set1_ps(1 / w.par.dt);
    for (int i = s.lo; i < s.hi; i++) {
        float* q = s.acc.p + 4 * (int64_t)(i - s.lo);
        __m128 a = _mm_load_ps(q);
        _mm_store_ps(q, zero);
        __m128 d = _mm_blend_ps(_mm_div_ps(a, _mm_max_ps(_mm_shuffle_ps(a, a, 0xff), one)), zero, 8);
        float* r = &w.pu[8 * (int64_t)i];
        if (!LAST) {
            _mm256_store_ps(r, _mm256_add_ps(_mm256_load_ps(r), _mm256_set_m128(d, d)));
        } else {
            __m128 uw = _mm_load_ps(r + 4), u = _mm_add_ps(uw, d);
            float *x = &w.x[4 * (int64_t)i], *v = &w.v[4 * (int64_t)i];
            _mm_store_ps(x, _mm_add_ps(_mm_load_ps(x), _mm_blend_ps(u, zero, 8)));
            _mm_store_ps(v, _mm_blend_ps(_mm_mul_ps(u, idt), uw, 8));
        }
    }
}

template <bool MONO, bool RETEST>
static void step_published(Twin& w, int t) {
    const double t0 = omp_get_wtime();
    sort_rows(w, 2 * w.rmax, t);
#pragma omp for schedule(static)
    for (int k = 0; k < w.nslabs; k++) {
        Slab& s = w.slabs[k];
        find_pairs(w, s);
        pack_pairs(s);
        auto gap = [&](int b, int i) {
            const float* q = w.plane[b];
            v8 d = fma_(set1(q[0]), _mm256_loadu_ps(&w.sx[i]), fma_(set1(q[1]), _mm256_loadu_ps(&w.sy[i]),
                   _mm256_fmsub_ps(set1(q[2]), _mm256_loadu_ps(&w.sz[i]), set1(q[3]))));
            return _mm256_sub_ps(d, _mm256_loadu_ps(&w.sr[i]));
        };
        find_walls<4>(w, s, gap, [](int, int, int) {});
        s.acc.reserve(4 * (size_t)(s.reach - s.lo + 8));
        s.acc.zero(4 * (size_t)(s.reach - s.lo + 8));
        std::memset(s.force, 0, sizeof s.force);
    }
    const double t1 = omp_get_wtime();
    for (int it = 0; it < w.par.iterations; it++) {
#pragma omp for schedule(static)
        for (int k = 0; k < w.nslabs; k++) {
            pairs_published<MONO, RETEST>(w, w.slabs[k]);
            walls_published<RETEST>(w, w.slabs[k]);
        }
        const bool last = it + 1 == w.par.iterations;
#pragma omp for schedule(static)
        for (int k = 0; k < w.nslabs; k++) last ? average<true>(w, k) : average<false>(w, k);
    }
    if (t == 0) {
        w.seconds_search += t1 - t0;
        w.seconds_solve += omp_get_wtime() - t1;
        w.rebuilds++;
        w.steps++;
    }
}
