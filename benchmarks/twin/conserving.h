// (b) berm's default: mass splitting, impulses kept per contact, substeps, neighbour list with a skin.
// Twin of the prototype's step: every pair's impulses are equal and opposite.
#pragma once
#include "published.h"

// One iteration of a substep. INIT: only sums the stored impulses and counts the near contacts.
template <bool INIT, bool KEEP_TANGENT>
static void pairs_conserving(const Twin& w, Slab& s, float bn, float bt) {
    const Params& p = w.par;
    const float h = p.dt / p.substeps;
    const v8 K = set1(h * h * p.stiffness), C = set1(h * p.damping), one = set1(1), zero = _mm256_setzero_ps();
    const v8 mus = set1(p.friction_static), muk = set1(p.friction_kinetic), near = set1(p.near_gap), slip = set1(h * h * p.slip_speed * p.slip_speed);
    const v8 vbn = set1(bn), vbt = set1(bt);
    const float* pu = w.pu.p;
    float* acc = s.acc.p - 8 * (int64_t)s.lo;
    const row4 *srow = s.srow.p, *idx = s.idx.p;
    const int32_t* sptr = s.sptr.p;
    if (!s.slices) return;
    Lanes4 pi = gather4<8>(pu, srow), ui = gather4<8>(pu + 4, srow);
    Pair next = geometry<true>(pu, pi, ui, idx);
    for (int sl = 0; sl < s.slices; sl++) {
        const int v0 = sptr[sl], v1 = sptr[sl + 1];
        const i8 cnt = _mm256_load_si256((const i8*)&s.scount[8 * sl]);
        const v8 ni = _mm256_mul_ps(near, pi.w);
        v8 ax = zero, ay = zero, az = zero, an = zero, bx = zero, by = zero, bz = zero;
        for (int q = v0; q < v1; q++) {
            const row4* rj = idx + 8 * (int64_t)q;
            float* P = s.impulse.p + 24 * (int64_t)q;
            const Pair k = next;
            if (q + 1 == v1) {       // arrays have one spare slice and vector at the end
                pi = gather4<8>(pu, srow + 8 * (sl + 1));
                ui = gather4<8>(pu + 4, srow + 8 * (sl + 1));
            }
            next = geometry<true>(pu, pi, ui, rj + 8);
            const v8 live = lane_mask(cnt, q - v0);
            v8 px = _mm256_load_ps(P), py = _mm256_load_ps(P + 8), pz = _mm256_load_ps(P + 16);
            if (INIT) {
                v8 tc = _mm256_and_ps(_mm256_and_ps(one, live), _mm256_cmp_ps(k.gap, ni, _CMP_LE_OQ));
                an = _mm256_add_ps(an, tc);
                bx = _mm256_add_ps(bx, px); by = _mm256_add_ps(by, py); bz = _mm256_add_ps(bz, pz);
                scatter8<-1>(acc, rj, zero, zero, zero, tc, px, py, pz);
                continue;
            }
            v8 nx = k.nx, ny = k.ny, nz = k.nz;
            v8 cd = fma_(k.rx, nx, fma_(k.ry, ny, _mm256_mul_ps(k.rz, nz)));
            v8 A = _mm256_add_ps(k.wi, k.wj);                                    // split inverse mass
            v8 CC = _mm256_and_ps(C, _mm256_cmp_ps(k.gap, zero, _CMP_LE_OQ));
            v8 Ln = fma_(px, nx, fma_(py, ny, _mm256_mul_ps(pz, nz)));
            v8 D = fma_(_mm256_add_ps(K, CC), A, one);
            v8 both = _mm256_div_ps(one, _mm256_mul_ps(D, A)), iA = _mm256_mul_ps(both, D), iD = _mm256_mul_ps(both, A);
            v8 N = _mm256_max_ps(fnma(fma_(CC, cd, fma_(K, k.gap, Ln)), iD, Ln), zero);
            v8 sx = fnma(cd, nx, k.rx), sy = fnma(cd, ny, k.ry), sz = fnma(cd, nz, k.rz);
            v8 slide = fma_(sx, sx, fma_(sy, sy, _mm256_mul_ps(sz, sz)));
            v8 tx = fnma(Ln, nx, fnma(sx, iA, px)), ty = fnma(Ln, ny, fnma(sy, iA, py)), tz = fnma(Ln, nz, fnma(sz, iA, pz));
            v8 t2 = _mm256_max_ps(fma_(tx, tx, fma_(ty, ty, _mm256_mul_ps(tz, tz))), kTiny);
            v8 cap = _mm256_mul_ps(_mm256_blendv_ps(mus, muk, _mm256_cmp_ps(slide, slip, _CMP_GT_OQ)), N);
            v8 f = _mm256_min_ps(_mm256_mul_ps(_mm256_mul_ps(cap, _mm256_sqrt_ps(t2)), _mm256_div_ps(one, t2)), one);
            nx = _mm256_mul_ps(nx, N); ny = _mm256_mul_ps(ny, N); nz = _mm256_mul_ps(nz, N);
            tx = _mm256_mul_ps(tx, f); ty = _mm256_mul_ps(ty, f); tz = _mm256_mul_ps(tz, f);
            v8 fx = _mm256_add_ps(nx, tx), fy = _mm256_add_ps(ny, ty), fz = _mm256_add_ps(nz, tz);
            if (!KEEP_TANGENT) { tx = _mm256_mul_ps(tx, vbt); ty = _mm256_mul_ps(ty, vbt); tz = _mm256_mul_ps(tz, vbt); }
            sx = fma_(vbn, nx, tx); sy = fma_(vbn, ny, ty); sz = fma_(vbn, nz, tz);
            _mm256_store_ps(P, sx); _mm256_store_ps(P + 8, sy); _mm256_store_ps(P + 16, sz);
            v8 tc = _mm256_cmp_ps(_mm256_add_ps(k.gap, _mm256_min_ps(cd, zero)), ni, _CMP_LE_OQ);
            tc = _mm256_and_ps(_mm256_and_ps(one, live), tc);
            ax = _mm256_add_ps(ax, fx); ay = _mm256_add_ps(ay, fy); az = _mm256_add_ps(az, fz);
            an = _mm256_add_ps(an, tc);
            bx = _mm256_add_ps(bx, sx); by = _mm256_add_ps(by, sy); bz = _mm256_add_ps(bz, sz);
            scatter8<-1>(acc, rj, fx, fy, fz, tc, sx, sy, sz);
        }
        scatter8<1>(acc, srow + 8 * sl, ax, ay, az, an, bx, by, bz);
    }
}

template <bool INIT>
static void walls_conserving(const Twin& w, Slab& s, float bn, float bt) {
    const Params& p = w.par;
    const float h = p.dt / p.substeps;
    const v8 K = set1(h * h * p.stiffness), C = set1(h * p.damping), one = set1(1), zero = _mm256_setzero_ps();
    const v8 mus = set1(p.friction_static), muk = set1(p.friction_kinetic), near = set1(p.near_gap), slip = set1(h * h * p.slip_speed * p.slip_speed);
    float* acc = s.acc.p - 8 * (int64_t)s.lo;
    v8 gx = zero, gy = zero, gz = zero;
    for (int sl = 0; sl < s.wslices; sl++) {
        const int b = s.wplane[sl];
        const float* o = w.plane[b];
        const v8 nx = set1(o[0]), ny = set1(o[1]), nz = set1(o[2]);
        const row4* ri = &s.wrow[8 * sl];
        float* P = &s.wimpulse[24 * (int64_t)sl];
        const v8 live = _mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_set1_epi32(s.wcount[sl]), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)));
        const Lanes4 pi = gather4<8>(w.pu.p, ri), ui = gather4<8>(w.pu.p + 4, ri);
        v8 px = _mm256_load_ps(P), py = _mm256_load_ps(P + 8), pz = _mm256_load_ps(P + 16);
        v8 gap = _mm256_sub_ps(fma_(nx, pi.x, fma_(ny, pi.y, _mm256_fmsub_ps(nz, pi.z, set1(o[3])))), pi.w);
        const v8 ni = _mm256_mul_ps(near, pi.w);
        if (INIT) {
            v8 tc = _mm256_and_ps(_mm256_and_ps(one, live), _mm256_cmp_ps(gap, ni, _CMP_LE_OQ));
            scatter8<1>(acc, ri, zero, zero, zero, tc, px, py, pz);
            continue;
        }
        v8 cd = fma_(ui.x, nx, fma_(ui.y, ny, _mm256_mul_ps(ui.z, nz))), A = ui.w;
        v8 CC = _mm256_and_ps(C, _mm256_cmp_ps(gap, zero, _CMP_LE_OQ));
        v8 Ln = fma_(px, nx, fma_(py, ny, _mm256_mul_ps(pz, nz)));
        v8 D = fma_(_mm256_add_ps(K, CC), A, one);
        v8 both = _mm256_div_ps(one, _mm256_mul_ps(D, A)), iA = _mm256_mul_ps(both, D), iD = _mm256_mul_ps(both, A);
        v8 N = _mm256_and_ps(live, _mm256_max_ps(fnma(fma_(CC, cd, fma_(K, gap, Ln)), iD, Ln), zero));
        v8 sx = fnma(cd, nx, ui.x), sy = fnma(cd, ny, ui.y), sz = fnma(cd, nz, ui.z);
        v8 slide = fma_(sx, sx, fma_(sy, sy, _mm256_mul_ps(sz, sz)));
        v8 tx = fnma(Ln, nx, fnma(sx, iA, px)), ty = fnma(Ln, ny, fnma(sy, iA, py)), tz = fnma(Ln, nz, fnma(sz, iA, pz));
        v8 t2 = _mm256_max_ps(fma_(tx, tx, fma_(ty, ty, _mm256_mul_ps(tz, tz))), kTiny);
        v8 cap = _mm256_mul_ps(_mm256_blendv_ps(mus, muk, _mm256_cmp_ps(slide, slip, _CMP_GT_OQ)), N);
        v8 f = _mm256_min_ps(_mm256_mul_ps(_mm256_mul_ps(cap, _mm256_sqrt_ps(t2)), _mm256_div_ps(one, t2)), one);
        f = _mm256_and_ps(live, f);
        v8 fx = fma_(f, tx, _mm256_mul_ps(N, nx)), fy = fma_(f, ty, _mm256_mul_ps(N, ny)), fz = fma_(f, tz, _mm256_mul_ps(N, nz));
        v8 ft = _mm256_mul_ps(f, set1(bt)), fn = _mm256_mul_ps(N, set1(bn));
        sx = fma_(ft, tx, _mm256_mul_ps(fn, nx)); sy = fma_(ft, ty, _mm256_mul_ps(fn, ny)); sz = fma_(ft, tz, _mm256_mul_ps(fn, nz));
        _mm256_store_ps(P, sx); _mm256_store_ps(P + 8, sy); _mm256_store_ps(P + 16, sz);
        v8 tc = _mm256_cmp_ps(_mm256_add_ps(gap, _mm256_min_ps(cd, zero)), ni, _CMP_LE_OQ);
        scatter8<1>(acc, ri, fx, fy, fz, _mm256_and_ps(_mm256_and_ps(one, live), tc), sx, sy, sz);
        gx = _mm256_add_ps(gx, fx); gy = _mm256_add_ps(gy, fy); gz = _mm256_add_ps(gz, fz);
        if (sl + 1 == s.wslices || s.wplane[sl + 1] != b) {
            s.force[b][0] += sum8(gx); s.force[b][1] += sum8(gy); s.force[b][2] += sum8(gz);
            gx = gy = gz = zero;
        }
    }
}

// Rows two at a time. FINISH: move x and v, predict the next substep with the stored impulses (warm start).
// START (after a search): only the prediction.  Otherwise: next iteration of the same substep.
enum Pass { START, FINISH, AGAIN };
template <Pass PASS>
static void advance(Twin& w, int k) {
    take_halo<8>(w, k);
    Slab& s = w.slabs[k];
    const float h = w.par.dt / w.par.substeps, *g = w.par.gravity;
    const v8 hg = _mm256_setr_ps(h * h * g[0], h * h * g[1], h * h * g[2], 0, h * h * g[0], h * h * g[1], h * h * g[2], 0);
    const v8 vh = set1(h), ih = set1(1 / h), one = set1(1), om = set1(w.par.relaxation), zero = _mm256_setzero_ps();
    const int end = (s.hi + 7) & ~7;
    for (int i = s.lo; i < end; i += 2) {
        float *q = s.acc.p + 8 * (int64_t)(i - s.lo), *x = &w.x[4 * (int64_t)i], *v = &w.v[4 * (int64_t)i], *r = &w.pu[8 * (int64_t)i];
        v8 r0 = _mm256_load_ps(q), r1 = _mm256_load_ps(q + 8);
        _mm256_store_ps(q, zero);
        _mm256_store_ps(q + 8, zero);
        v8 a = _mm256_permute2f128_ps(r0, r1, 0x20), st = _mm256_permute2f128_ps(r0, r1, 0x31);
        v8 X = _mm256_load_ps(x), V = _mm256_load_ps(v), W = _mm256_permute_ps(V, 0xff), u = fma_(V, vh, hg);
        if (PASS == AGAIN) {
            u = fma_(W, a, u);
        } else {
            if (PASS == FINISH) {
                u = fma_(W, a, u);
                X = _mm256_add_ps(X, _mm256_blend_ps(u, zero, 0x88));
                V = _mm256_blend_ps(_mm256_mul_ps(u, ih), V, 0x88);
                _mm256_store_ps(x, X);
                _mm256_store_ps(v, V);
                u = _mm256_add_ps(u, hg);
            }
            u = fma_(W, st, u);
        }
        v8 pr = _mm256_add_ps(X, _mm256_blend_ps(u, zero, 0x88));
        v8 wc = _mm256_mul_ps(_mm256_mul_ps(om, W), _mm256_max_ps(a, one));
        u = _mm256_blend_ps(u, wc, 0x88);
        _mm256_store_ps(r, _mm256_permute2f128_ps(pr, u, 0x20));
        _mm256_store_ps(r + 8, _mm256_permute2f128_ps(pr, u, 0x31));
    }
}

// Impulses of pairs that were listed before; the pair may have been stored from the other side.
static void carry_impulses(Twin& w, Slab& s) {
    s.impulse.reserve(24 * (size_t)s.vectors + 8);
    s.impulse.zero(24 * (size_t)s.vectors);
    s.wimpulse.reserve(24 * (size_t)s.wslices + 8);
    s.wimpulse.zero(24 * (size_t)s.wslices);
    if (!w.listed) return;
    auto take = [&](int a, int b, float sign, float* to) {
        const Slab& o = w.before[a / w.slab_rows];
        const int at = o.where[a - o.lo];
        if (at < 0) return;
        const int sl = at >> 3, l = at & 7, v0 = o.sptr[sl];
        for (int k = 0, m = o.scount[at]; k < m; k++)
            if (o.idx[8 * (int64_t)(v0 + k) + l] == 4 * (row4)b) {
                const float* P = &o.impulse[24 * (int64_t)(v0 + k) + l];
                to[0] = sign * P[0]; to[8] = sign * P[8]; to[16] = sign * P[16];
                return;
            }
    };
    for (int sl = 0; sl < s.slices; sl++)
        for (int l = 0; l < 8; l++) {
            const int a = w.old[s.srow[8 * sl + l] / 4];
            for (int k = 0, m = s.scount[8 * sl + l]; k < m; k++) {
                const int64_t q = s.sptr[sl] + k;
                const int b = w.old[s.idx[8 * q + l] / 4];
                float* to = &s.impulse[24 * q + l];
                if (a < b) take(a, b, 1, to); else take(b, a, -1, to);    // the lower row held the pair
            }
        }
    for (int sl = 0; sl < s.wslices; sl++)
        for (int l = 0; l < s.wcount[sl]; l++) {
            const int a = w.old[s.wrow[8 * sl + l] / 4];
            const Slab& o = w.before[a / w.slab_rows];
            const int at = o.wwhere[(size_t)s.wplane[sl] * (o.hi - o.lo) + a - o.lo];
            if (at < 0) continue;
            for (int e = 0; e < 3; e++) s.wimpulse[24 * (size_t)sl + 8 * e + l] = o.wimpulse[24 * (size_t)(at >> 3) + 8 * e + (at & 7)];
        }
}

// Has any predicted position moved more than half the skin since the search?
static bool moved(Twin& w, int t) {
    const float dt = w.par.dt, lim = 0.5f * w.par.skin * w.rmax;
    const float* g = w.par.gravity;
    const v8 vdt = set1(dt), hg = _mm256_setr_ps(dt * dt * g[0], dt * dt * g[1], dt * dt * g[2], 0, dt * dt * g[0], dt * dt * g[1], dt * dt * g[2], 0);
    int a = (int)((int64_t)w.rows / 2 * t / w.threads) * 2, b = (int)((int64_t)w.rows / 2 * (t + 1) / w.threads) * 2;
    v8 far = _mm256_setzero_ps();
    for (int i = a; i < b; i += 2) {
        v8 d = _mm256_sub_ps(_mm256_add_ps(_mm256_load_ps(&w.x[4 * (int64_t)i]), fma_(_mm256_load_ps(&w.v[4 * (int64_t)i]), vdt, hg)),
                             _mm256_load_ps(&w.xb[4 * (int64_t)i]));
        far = _mm256_max_ps(far, _mm256_dp_ps(d, d, 0x7f));
    }
    alignas(32) float f[8];
    _mm256_store_ps(f, far);
    w.box[t * 8 + 7] = std::max(f[0], f[4]);
#pragma omp barrier
    float m = 0;
    for (int k = 0; k < w.threads; k++) m = std::max(m, w.box[k * 8 + 7]);
#pragma omp barrier
    return !(m <= lim * lim);
}

static void rebuild(Twin& w, int t) {
    const float skin = w.par.skin * w.rmax;
    sort_rows(w, 2 * w.rmax + skin, t);
#pragma omp single
    std::swap(w.slabs, w.before);
#pragma omp for schedule(static)
    for (int k = 0; k < w.nslabs; k++) {
        Slab& s = w.slabs[k];
        find_pairs(w, s, skin);
        pack_pairs(s, true);
        find_walls(w, s, skin, true);
        carry_impulses(w, s);
        const size_t m = 8 * (size_t)(std::max(s.reach, (s.hi + 7) & ~7) - s.lo + 8);
        s.acc.reserve(m);
        s.acc.zero(m);
        for (int i = s.lo; i < s.hi; i++) _mm_store_ps(&w.xb[4 * (int64_t)i], _mm_load_ps(&w.pu[8 * (int64_t)i]));
    }
    // Counts on positions predicted for one substep: p now holds the whole step's prediction.
#pragma omp for schedule(static)
    for (int k = 0; k < w.nslabs; k++) advance<START>(w, k);
#pragma omp for schedule(static)
    for (int k = 0; k < w.nslabs; k++) {
        pairs_conserving<true, true>(w, w.slabs[k], 0, 0);
        walls_conserving<true>(w, w.slabs[k], 0, 0);
    }
#pragma omp for schedule(static)
    for (int k = 0; k < w.nslabs; k++) advance<START>(w, k);
#pragma omp single
    {
        w.listed = true;
        w.rebuilds++;
    }
}

static void step_conserving(Twin& w, int t) {
    const double t0 = omp_get_wtime();
    if (!w.listed || moved(w, t)) rebuild(w, t);
    const double t1 = omp_get_wtime();
    const Params& p = w.par;
#pragma omp for schedule(static)
    for (int k = 0; k < w.nslabs; k++) std::memset(w.slabs[k].force, 0, sizeof(Slab::force));
    for (int sub = 0; sub < p.substeps; sub++)
        for (int it = 0; it < p.iterations; it++) {
            const bool last = it + 1 == p.iterations;
            const float bn = last ? p.memory_normal : 1, bt = last ? p.memory_tangent : 1;
#pragma omp for schedule(static)
            for (int k = 0; k < w.nslabs; k++) {
                if (bt == 1) pairs_conserving<false, true>(w, w.slabs[k], bn, bt);
                else pairs_conserving<false, false>(w, w.slabs[k], bn, bt);
                walls_conserving<false>(w, w.slabs[k], bn, bt);
            }
#pragma omp for schedule(static)
            for (int k = 0; k < w.nslabs; k++) last ? advance<FINISH>(w, k) : advance<AGAIN>(w, k);
        }
    if (t == 0) {
        w.seconds_search += t1 - t0;
        w.seconds_solve += omp_get_wtime() - t1;
        w.steps++;
    }
}
