// (b) The neighbour list of berm's default form: kept while every grain is near the straight way it was made for,
// laid out in slices of eight rows that share no grain, in the order of the list before.
// Twin of berm's neighbours.py, slices.py and contact_list.py.
#pragma once
#include "search.h"

constexpr float kKnock = 0.1f, kKnockFast = 0.5f, kAheadMost = 0.25f, kAhead = 4.0f;  // radii, -, radii, steps
constexpr double kRoom = 1.15, kFull = 0.85;
constexpr int kCalm = 30, kLook = 48, kUnit = 64, kMaxCount = 256;

static inline float spare(float way, float radius) { return std::max(std::min(kAhead * way, kAheadMost * radius) - way, 0.0f); }

static void make_sweep_slabs(Twin& w) {
    int wanted = w.par.slabs > 0 ? w.par.slabs : std::clamp((w.n / 2048 + 2) / 4 * 4, 4, 96);
    const int units = std::max((w.n + kUnit - 1) / kUnit, 1), slabs = std::min(wanted, units);
    for (auto* list : {&w.sweep, &w.last}) {
        list->resize(slabs);
        for (int k = 0; k < slabs; k++) {
            (*list)[k].lo = std::min((int)((int64_t)k * units / slabs * kUnit), w.n);
            (*list)[k].hi = std::min((int)((int64_t)(k + 1) * units / slabs * kUnit), w.n);
        }
    }
    w.taken.reserve(units);
    for (int k = 0; k < slabs; k++)
        for (int u = w.sweep[k].lo / kUnit; u < (w.sweep[k].hi + kUnit - 1) / kUnit; u++) w.taken[u] = k;
}
static inline int slab_of(const Twin& w, int row) { return w.taken[row / kUnit]; }

// Sort by the cell of the position after dt. In double precision, as berm does, so that the order is the same.
static void sort_ahead(Twin& w, int t) {
    const double dt = w.par.dt_exact;
    int a, b;
    chunk(w, t, a, b);
    auto predicted = [&](int i) {
        const float* r = &w.row[16 * (size_t)i];
        __m256d x = _mm256_cvtps_pd(_mm_load_ps(r)), v = _mm256_cvtps_pd(_mm_load_ps(r + 12));
        return _mm256_add_pd(x, _mm256_mul_pd(_mm256_set1_pd(dt), v));
    };
    __m256d mn = _mm256_set1_pd(1e30), mx = _mm256_set1_pd(-1e30);
    for (int i = a; i < b; i++) {
        __m256d p = predicted(i);
        mn = _mm256_min_pd(mn, p);
        mx = _mm256_max_pd(mx, p);
    }
    _mm256_storeu_pd(&w.bounds[8 * t], mn);
    _mm256_storeu_pd(&w.bounds[8 * t + 4], mx);
#pragma omp barrier
#pragma omp single
    {
        double lo[3] = {1e30, 1e30, 1e30}, hi[3] = {-1e30, -1e30, -1e30};
        for (int k = 0; k < w.threads; k++)
            for (int c = 0; c < 3; c++) {
                lo[c] = std::min(lo[c], w.bounds[8 * k + c]);
                hi[c] = std::max(hi[c], w.bounds[8 * k + 4 + c]);
            }
        double size = 2 * w.rmean * (1 + 0.5 * w.par.skin_exact) * kRoom, volume = 1;
        const double limit = 8.0 * w.n + 4096;
        for (int c = 0; c < 3; c++) volume *= (hi[c] - lo[c]) / size + 1;
        if (volume > limit) size *= std::cbrt(volume / limit) * 1.01;
        w.ncells = 1;
        for (int c = 0; c < 3; c++) {
            w.corner[c] = lo[c];
            w.dim[c] = (int)std::floor((hi[c] - lo[c]) / size) + 1;
            w.ncells *= w.dim[c];
            w.axis[c] = c;
        }
        w.inv_size = 1.0 / size;
        std::stable_sort(w.axis, w.axis + 3, [&](int p, int q) { return w.dim[p] < w.dim[q]; });
        w.cellstart.reserve(w.ncells + 1);
        for (auto& h : w.hist) h.reserve(w.ncells);
        w.top_level = 0;
    }
    int mul[4] = {0, 0, 0, 0};
    mul[w.axis[0]] = 1; mul[w.axis[1]] = w.dim[w.axis[0]]; mul[w.axis[2]] = w.dim[w.axis[0]] * w.dim[w.axis[1]];
    const __m128i vm = _mm_setr_epi32(mul[0], mul[1], mul[2], 0);
    const __m128i top = _mm_setr_epi32(w.dim[0] - 1, w.dim[1] - 1, w.dim[2] - 1, 0);
    const __m256d low = _mm256_setr_pd(w.corner[0], w.corner[1], w.corner[2], 0), inv = _mm256_set1_pd(w.inv_size);
    auto cell = [&](int i) {
        __m128i c = _mm256_cvttpd_epi32(_mm256_mul_pd(_mm256_sub_pd(predicted(i), low), inv));
        c = _mm_mullo_epi32(_mm_max_epi32(_mm_min_epi32(c, top), _mm_setzero_si128()), vm);
        c = _mm_add_epi32(c, _mm_shuffle_epi32(c, 0x4e));
        return _mm_cvtsi128_si32(c) + _mm_extract_epi32(c, 1);
    };
    const float widen = 1 + 0.5f * w.par.skin, fdt = w.par.dt;
    int most = 0;
    auto place = [&](int i, int d) {
        const float *x = &w.row[16 * (size_t)i], *v = x + 12;
        _mm256_store_ps(&w.row2[16 * (size_t)d], _mm256_load_ps(x));
        _mm256_store_ps(&w.row2[16 * (size_t)d + 8], _mm256_load_ps(x + 8));
        w.now[i] = d;
        const float way = fdt * std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]), extra = spare(way, x[3]);
        const float reach = x[3] * widen + way + extra;
        w.sx[d] = x[0]; w.sy[d] = x[1]; w.sz[d] = x[2]; w.sr[d] = reach;
        w.sway[d] = way;
        w.sspare[d] = extra;
        w.level[d] = std::max((int)std::min(std::ceil(2.0 * reach * w.inv_size - 1e-4), 1000.0) - 1, 0);
        most = std::max(most, w.level[d]);
        // what the list is made for
        const float room = (0.5f * w.par.skin + kKnock) * x[3] + extra + kKnockFast * std::min(way, x[3]);
        _mm_store_ps(&w.ref[4 * d], _mm_setr_ps(x[0], x[1], x[2], room * room));
        _mm_store_ps(&w.way[4 * d], _mm_setr_ps(fdt * v[0], fdt * v[1], fdt * v[2], 1 / std::max(way * way, 1e-30f)));
    };
    counting_sort(w, t, a, b, cell, place);
#pragma omp critical
    w.top_level = std::max(w.top_level, most);
#pragma omp single
    std::swap(w.row.p, w.row2.p);
}

// Whether i and j come near on their straight ways; the test for pairs that are near only if both go their whole way.
static bool on_their_way(const Twin& w, int i, int j) {
    const float *x = &w.row[16 * (size_t)i], *y = &w.row[16 * (size_t)j], *v = &w.way[4 * i], *u = &w.way[4 * j];
    const float limit = (1 + 0.5f * w.par.skin) * (x[3] + y[3]) + w.sspare[i] + w.sspare[j];
    float far2 = 0, along = 0, length = 1e-30f;
    for (int c = 0; c < 3; c++) {
        const float d = y[c] - x[c], e = u[c] - v[c];
        far2 += d * d; along += d * e; length += e * e;
    }
    const float t = std::min(std::max(-along / length, 0.0f), 1.0f);
    return far2 + 2 * t * along + t * t * length <= limit * limit;
}

static int32_t* scan(const Twin& w, int i, int from, int end, int32_t* out) {
    const v8 xi = set1(w.sx[i]), yi = set1(w.sy[i]), zi = set1(w.sz[i]), ri = set1(w.sr[i]), wi = set1(w.sway[i]);
    const i8 seq = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), mine = _mm256_set1_epi32(w.level[i]), self = _mm256_set1_epi32(i);
    for (int j = from; j < end; j += 8) {
        v8 dx = _mm256_sub_ps(xi, _mm256_loadu_ps(&w.sx[j])), dy = _mm256_sub_ps(yi, _mm256_loadu_ps(&w.sy[j]));
        v8 dz = _mm256_sub_ps(zi, _mm256_loadu_ps(&w.sz[j])), R = _mm256_add_ps(ri, _mm256_loadu_ps(&w.sr[j]));
        v8 q = fma_(dx, dx, fma_(dy, dy, _mm256_mul_ps(dz, dz)));
        unsigned hit = _mm256_movemask_ps(_mm256_cmp_ps(q, _mm256_mul_ps(R, R), _CMP_LE_OQ));
        hit &= end - j >= 8 ? 0xffu : (1u << (end - j)) - 1u;
        if (!hit) continue;
        const i8 id = _mm256_add_epi32(_mm256_set1_epi32(j), seq);
        if (w.top_level) {       // the grain that looks further finds the pair
            i8 other = _mm256_loadu_si256((const i8*)&w.level[j]);
            i8 ok = _mm256_or_si256(_mm256_cmpgt_epi32(mine, other),
                                    _mm256_and_si256(_mm256_cmpeq_epi32(mine, other), _mm256_cmpgt_epi32(id, self)));
            hit &= _mm256_movemask_ps(_mm256_castsi256_ps(ok));
        }
        // a third grain may stop one of the two, but then the other goes alone
        R = _mm256_sub_ps(R, _mm256_min_ps(wi, _mm256_loadu_ps(&w.sway[j])));
        unsigned sure = _mm256_movemask_ps(_mm256_cmp_ps(q, _mm256_mul_ps(R, R), _CMP_LE_OQ));
        for (unsigned ask = hit & ~sure; ask; ask &= ask - 1)
            if (!on_their_way(w, i, j + __builtin_ctz(ask))) hit &= ~(ask & -ask);
        i8 pick = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i*)kHits.perm[hit]));
        _mm256_storeu_si256((i8*)out, _mm256_permutevar8x32_epi32(id, pick));
        out += __builtin_popcount(hit);
    }
    return out;
}

static void find_ahead(Twin& w, SweepSlab& s) {
    const int d0 = w.dim[w.axis[0]], d1 = w.dim[w.axis[1]], d2 = w.dim[w.axis[2]];
    s.first.reserve(s.hi - s.lo + 8);
    s.count.reserve(s.hi - s.lo + 8);
    size_t m = 0;
    int low = s.lo, high = s.hi, run_a[5] = {0, 0, 0, 0, 0}, run_b[5] = {0, 0, 0, 0, 0}, runs = 0, last = -1;
    size_t room = 0;
    for (int i = s.lo; i < s.hi; i++) {
        const int c = w.cid[i], a = c % d0, b = c / d0 % d1, e = c / d0 / d1;
        int32_t* out;
        if (w.level[i] == 0) {
            if (c != last) {
                last = c;
                const int l = a > 0, r = a < d0 - 1;
                runs = 1;
                run_b[0] = w.cellstart[c + r + 1];
                room = run_b[0] - w.cellstart[c] + 16;
                auto add = [&](int cell) {
                    run_a[runs] = w.cellstart[cell - l];
                    run_b[runs] = w.cellstart[cell + r + 1];
                    room += run_b[runs] - run_a[runs] + 8;
                    runs += run_b[runs] > run_a[runs];
                };
                if (b < d1 - 1) add(c + d0);
                if (e < d2 - 1)
                    for (int q = -1; q <= 1; q++)
                        if (b + q >= 0 && b + q < d1) add(c + d0 * d1 + q * d0);
            }
            if (m + room > s.flat.cap) s.flat.reserve((m + room) * 2, true);
            out = s.flat.p + m;
            run_a[0] = i + 1;
            for (int k = 0; k < runs; k++) out = scan(w, i, run_a[k], run_b[k], out);
        } else {
            const int g = w.level[i] + 1, left = std::max(a - g, 0), right = std::min(a + g, d0 - 1);
            const int e0 = std::max(e - g, 0), e1 = std::min(e + g, d2 - 1), b0 = std::max(b - g, 0), b1 = std::min(b + g, d1 - 1);
            size_t need = 16;
            for (int f = e0; f <= e1; f++)
                for (int h = b0; h <= b1; h++) need += w.cellstart[(f * d1 + h) * d0 + right + 1] - w.cellstart[(f * d1 + h) * d0 + left] + 8;
            if (m + need > s.flat.cap) s.flat.reserve((m + need) * 2, true);
            out = s.flat.p + m;
            for (int f = e0; f <= e1; f++)
                for (int h = b0; h <= b1; h++)
                    out = scan(w, i, w.cellstart[(f * d1 + h) * d0 + left], w.cellstart[(f * d1 + h) * d0 + right + 1], out);
        }
        s.first[i - s.lo] = (int32_t)m;
        s.count[i - s.lo] = (int32_t)(out - (s.flat.p + m));
        for (const int32_t* k = s.flat.p + m; k < out; k++) { low = std::min(low, *k); high = std::max(high, *k + 1); }
        m = out - s.flat.p;
    }
    s.contacts = (int64_t)m;
    s.low = low;
    s.high = high;
}

// Rows by falling number of neighbours, far ones after each other.
static void queue_by_count(SweepSlab& s) {
    const int rows = s.hi - s.lo, eighth = (rows + 7) / 8;
    int bucket[kMaxCount + 2] = {0};
    s.queue.reserve(rows + 8);
    for (int i = 0; i < rows; i++) if (s.count[i]) bucket[kMaxCount - std::min(s.count[i], kMaxCount) + 1]++;
    for (int b = 0; b <= kMaxCount; b++) bucket[b + 1] += bucket[b];
    for (int k = 0; k < 8 * eighth; k++) {
        const int i = k % 8 * eighth + k / 8;
        if (i < rows && s.count[i]) s.queue[bucket[kMaxCount - std::min(s.count[i], kMaxCount)]++] = s.lo + i;
    }
    s.queued = bucket[kMaxCount];
}

// Rows as they stood in the last list, new ones at the end. Called by all threads.
static void queue_as_before(Twin& w) {
    const int slabs = (int)w.sweep.size();
#pragma omp single
    w.move.assign((size_t)slabs * slabs, 0);
    auto each = [&](const SweepSlab& o, auto take) {
        for (int p = 0; p < 8 * o.slices; p++) {
            const int old = o.srow[p] / 8;
            if (o.home[old - o.lo] != p) continue;       // an idle lane
            const int i = w.now[old], s = slab_of(w, i);
            if (w.sweep[s].count[i - w.sweep[s].lo]) take(s, i);
        }
    };
#pragma omp for schedule(static)
    for (int k = 0; k < slabs; k++) each(w.last[k], [&](int s, int) { w.move[(size_t)s * slabs + k]++; });
#pragma omp for schedule(static)
    for (int s = 0; s < slabs; s++) {
        SweepSlab& to = w.sweep[s];
        int at = 0;
        for (int k = 0; k < slabs; k++) { int m = w.move[(size_t)s * slabs + k]; w.move[(size_t)s * slabs + k] = at; at += m; }
        to.queued = at;
        to.queue.reserve(to.hi - to.lo + 8);
    }
#pragma omp for schedule(static)
    for (int k = 0; k < slabs; k++) each(w.last[k], [&](int s, int i) { w.sweep[s].queue[w.move[(size_t)s * slabs + k]++] = i; });
#pragma omp for schedule(static)
    for (int s = 0; s < slabs; s++) {
        SweepSlab& to = w.sweep[s];
        for (int i = to.lo; i < to.hi; i++) {
            if (!to.count[i - to.lo]) continue;
            const int a = w.old[i];
            const SweepSlab& o = w.last[slab_of(w, a)];
            if (o.home[a - o.lo] < 0) to.queue[to.queued++] = i;
        }
    }
}

// Give the queued rows to slices of eight that share no grain; count vectors.
static void arrange(SweepSlab& s) {
    const int rows = s.hi - s.lo;
    s.follow.reserve(rows + 8);
    for (int k = 0; k < rows; k++) s.follow[k] = k + 1;
    s.mark.reserve(s.high - s.low + 8);
    std::fill_n(s.mark.p, s.high - s.low, -1);
    s.rough.reserve(8 * (size_t)rows + 8);
    s.sptr.reserve(rows + 2);
    int32_t* mark = s.mark.p - s.low;
    int head = 0, vec = 0, sl = 0;
    while (head < s.queued) {
        int lane = 0, before = -1, at = head, width = 0;
        for (int looked = 0; lane < 8 && at < s.queued && looked < kLook; looked++) {
            const int i = s.queue[at], after = s.follow[at], number = s.count[i - s.lo];
            const int32_t* k = s.flat.p + s.first[i - s.lo];
            bool fits = mark[i] != sl;
            mark[i] = sl;      // taken, or held back: nothing that touches it may come before it
            for (int e = 0; e < number; e++) { fits &= mark[k[e]] != sl; mark[k[e]] = sl; }
            if (fits) {
                s.rough[8 * sl + lane++] = i;
                width = std::max(width, number);
                if (before < 0) head = after; else s.follow[before] = after;
            } else {
                before = at;
            }
            at = after;
        }
        while (lane < 8) s.rough[8 * sl + lane++] = -1;
        s.sptr[sl++] = vec;
        vec += width;
    }
    s.sptr[sl] = vec;
    s.slices = sl;
    s.vectors = vec;
}

// Write the list; pairs that were listed before keep their order and their impulse.
static void fill(Twin& w, SweepSlab& s) {
    s.srow.reserve(8 * (size_t)(s.slices + 1));
    s.idx.reserve(8 * (size_t)(s.vectors + 1));
    s.impulse.reserve(24 * (size_t)s.vectors + 8);
    s.impulse.zero(24 * (size_t)s.vectors);
    s.home.reserve(s.hi - s.lo + 8);
    std::fill_n(s.home.p, s.hi - s.lo, -1);
    std::fill_n(s.mark.p, s.high - s.low, -1);
    int32_t* mark = s.mark.p - s.low;
    for (int sl = 0; sl < s.slices; sl++)
        for (int l = 0; l < 8; l++) {
            int row = s.rough[8 * sl + l], q = s.sptr[sl];
            if (row >= 0) {
                s.home[row - s.lo] = 8 * sl + l;
                const int32_t *from = s.flat.p + s.first[row - s.lo], *end = from + s.count[row - s.lo];
                for (const int32_t* k = from; k < end; k++) mark[*k] = row;
                const int a = w.old[row];
                if (w.swept) {
                    const SweepSlab& o = w.last[slab_of(w, a)];
                    const int at = o.home[a - o.lo];
                    if (at >= 0)
                        for (int k = o.sptr[at / 8]; k < o.sptr[at / 8 + 1]; k++) {
                            const int b = o.idx[8 * (size_t)k + at % 8] / 8;
                            if (b == a) break;
                            const int j = w.now[b];
                            if (j < s.low || j >= s.high || mark[j] != row) continue;
                            mark[j] = -1;
                            s.idx[8 * (size_t)q + l] = 8 * (row4)j;
                            for (int c = 0; c < 24; c += 8) s.impulse[24 * (size_t)q + c + l] = o.impulse[24 * (size_t)k + c + at % 8];
                            q++;
                        }
                }
                for (const int32_t* k = from; k < end; k++) {
                    if (mark[*k] != row) continue;
                    mark[*k] = -1;
                    s.idx[8 * (size_t)q + l] = 8 * (row4)*k;
                    if (w.swept) {       // it may have been listed the other way round
                        const int b = w.old[*k];
                        const SweepSlab& o = w.last[slab_of(w, b)];
                        const int at = o.home[b - o.lo];
                        if (at >= 0)
                            for (int e = o.sptr[at / 8]; e < o.sptr[at / 8 + 1]; e++)
                                if (o.idx[8 * (size_t)e + at % 8] == 8 * (row4)a) {
                                    for (int c = 0; c < 24; c += 8) s.impulse[24 * (size_t)q + c + l] = -o.impulse[24 * (size_t)e + c + at % 8];
                                    break;
                                }
                    }
                    q++;
                }
            } else {
                row = s.rough[8 * sl];
            }
            s.srow[8 * sl + l] = 8 * (row4)row;
            for (; q < s.sptr[sl + 1]; q++) s.idx[8 * (size_t)q + l] = 8 * (row4)row;
        }
    for (int l = 0; l < 8; l++) s.srow[8 * s.slices + l] = s.idx[8 * (size_t)s.vectors + l] = 8 * (row4)s.lo;   // looked at, not used
}

// Contacts with planes, and what they remember. `left`: time until the end of the step.
static void wall_list(Twin& w, SweepSlab& s, float left) {
    const int m = s.hi - s.lo;
    s.whome.reserve((size_t)w.nplanes * m + 8);
    std::fill_n(s.whome.p, (size_t)w.nplanes * m, -1);
    const float skin = (float)w.rmean, *g = w.par.gravity;
    auto gap = [&](int b, int i) {
        const float* q = w.plane[b];
        const v8 nx = set1(q[0]), ny = set1(q[1]), nz = set1(q[2]);
        alignas(32) row4 r[8];
        for (int l = 0; l < 8; l++) r[l] = 8 * (row4)(i + l);
        const Lanes4 x = gather4<8>(w.row.p, r), v = gather4<8>(w.row.p + 12, r);
        const v8 fall = set1(left * left * (q[0] * g[0] + q[1] * g[1] + q[2] * g[2]));
        v8 here = _mm256_sub_ps(fma_(nx, x.x, fma_(ny, x.y, _mm256_fmsub_ps(nz, x.z, set1(q[3] + skin)))), x.w);
        v8 gone = fma_(set1(left), fma_(nx, v.x, fma_(ny, v.y, _mm256_mul_ps(nz, v.z))), fall);
        return _mm256_add_ps(_mm256_min_ps(gone, _mm256_setzero_ps()), here);
    };
    find_walls<8>(w, s, gap, [&](int b, int row, int slot) { s.whome[(size_t)b * m + row - s.lo] = slot; });
    s.wimpulse.reserve(24 * (size_t)s.wslices + 8);
    s.wimpulse.zero(24 * (size_t)s.wslices);
    if (!w.swept) return;
    for (int sl = 0; sl < s.wslices; sl++)
        for (int l = 0; l < s.wcount[sl]; l++) {
            const int a = w.old[s.wrow[8 * sl + l] / 8];
            const SweepSlab& o = w.last[slab_of(w, a)];
            const int at = o.whome[(size_t)s.wplane[sl] * (o.hi - o.lo) + a - o.lo];
            if (at < 0) continue;
            for (int c = 0; c < 24; c += 8) s.wimpulse[24 * (size_t)sl + c + l] = o.wimpulse[24 * (size_t)(at / 8) + c + at % 8];
        }
}

// No slab meets another of its colour in the rows that they touch.
static void colour_slabs(Twin& w) {
    std::vector<std::vector<int>> members;
    for (int s = 0; s < (int)w.sweep.size(); s++) {
        size_t c = 0;
        for (; c < members.size(); c++) {
            bool free = true;
            for (int o : members[c]) free &= w.sweep[s].high <= w.sweep[o].low || w.sweep[s].low >= w.sweep[o].high;
            if (free) break;
        }
        if (c == members.size()) members.emplace_back();
        members[c].push_back(s);
    }
    w.colour.assign(1, 0);
    w.turn.clear();
    for (auto& list : members) {
        w.turn.insert(w.turn.end(), list.begin(), list.end());
        w.colour.push_back((int)w.turn.size());
    }
}

static void rebuild_sweep(Twin& w, int t, float left) {
    sort_ahead(w, t);
    const int slabs = (int)w.sweep.size();
#pragma omp single
    std::swap(w.sweep, w.last);
#pragma omp for schedule(static)
    for (int k = 0; k < slabs; k++) find_ahead(w, w.sweep[k]);
    bool keep = w.swept;
    for (;;) {
        if (keep) queue_as_before(w);
#pragma omp for schedule(static)
        for (int k = 0; k < slabs; k++) {
            if (!keep) queue_by_count(w.sweep[k]);
            arrange(w.sweep[k]);
        }
        double pairs = 0, lanes = 0;
        for (auto& s : w.sweep) { pairs += s.contacts; lanes += 8.0 * s.vectors; }
        const bool sparse = pairs < kFull * w.fullness * lanes, again = keep && sparse && w.since_sort >= kCalm;
#pragma omp barrier
#pragma omp single
        {
            w.sparse = sparse;
            if (!keep) { w.fullness = pairs / std::max(lanes, 1.0); w.since_sort = 0; w.sparse = false; }
        }
        if (!again) break;
        keep = false;
    }
#pragma omp for schedule(static)
    for (int k = 0; k < slabs; k++) {
        fill(w, w.sweep[k]);
        wall_list(w, w.sweep[k], left);
        w.sweep[k].off = false;
    }
#pragma omp single
    {
        colour_slabs(w);
        w.swept = true;
        w.rebuilds++;
    }
}
