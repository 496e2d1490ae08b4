// Neighbour search: counting sort by cell (rows move), candidates 8 at a time, contacts into slabs.
// All functions are called by every thread of one parallel region and end with a barrier.
#pragma once
#include "state.h"

struct Hits { alignas(64) uint8_t perm[256][8]; };
static Hits make_hits() {
    Hits t;
    for (int m = 0; m < 256; m++) {
        int k = 0;
        for (int b = 0; b < 8; b++) if (m >> b & 1) t.perm[m][k++] = (uint8_t)b;
        for (; k < 8; k++) t.perm[m][k] = 0;
    }
    return t;
}
static const Hits kHits = make_hits();

static inline void chunk(const Twin& w, int t, int& a, int& b) {
    a = (int)((int64_t)w.n * t / w.threads);
    b = (int)((int64_t)w.n * (t + 1) / w.threads);
}

static void make_grid(Twin& w, float cell) {
    float lo[3] = {1e30f, 1e30f, 1e30f}, hi[3] = {-1e30f, -1e30f, -1e30f};
    for (int t = 0; t < w.threads; t++)
        for (int a = 0; a < 3; a++) {
            lo[a] = std::min(lo[a], w.box[t * 8 + a]);
            hi[a] = std::max(hi[a], w.box[t * 8 + 3 + a]);
        }
    for (;; cell *= 1.26f) {                 // stray grains must not make the grid huge
        w.ncells = 1;
        for (int a = 0; a < 3; a++) {
            double d = std::floor((double)(hi[a] - lo[a]) / cell) + 1;
            w.dim[a] = (int)std::min(d, 1e6);
            w.ncells = std::min<int64_t>(w.ncells * w.dim[a], 1LL << 40);
            w.low[a] = lo[a];
        }
        if (w.ncells <= 4LL * w.n + 4096) break;
    }
    w.cell = cell;
    w.inv_cell = 1.0f / cell;
    // The longest side is the slowest index: slabs then share the smallest cross-section.
    for (int a = 0; a < 3; a++) w.axis[a] = a;
    std::sort(w.axis, w.axis + 3, [&](int a, int b) { return w.dim[a] < w.dim[b] || (w.dim[a] == w.dim[b] && a < b); });
    w.cellstart.reserve(w.ncells + 1);
    for (auto& h : w.hist) h.reserve(w.ncells);
}

// Stable counting sort of rows [a, b) of thread t: cell(i) gives a row's cell, place(i, d) moves row i to d.
template <class Cell, class Place>
static inline void counting_sort(Twin& w, int t, int a, int b, Cell cell, Place place) {
    int32_t* h = w.hist[t].p;
    std::memset(h, 0, sizeof(int32_t) * w.ncells);
    for (int i = a; i < b; i++) {
        int id = cell(i);
        w.cid[i] = id;
        h[id]++;
    }
#pragma omp barrier
    int64_t ca = w.ncells * t / w.threads, cb = w.ncells * (t + 1) / w.threads, sum = 0;
    for (int64_t c = ca; c < cb; c++) for (auto& q : w.hist) sum += q[c];
    w.base[t] = sum;
#pragma omp barrier
    int32_t at = 0;
    for (int k = 0; k < t; k++) at += (int32_t)w.base[k];
    for (int64_t c = ca; c < cb; c++) {
        w.cellstart[c] = at;
        for (auto& q : w.hist) { int32_t m = q[c]; q[c] = at; at += m; }
    }
    if (t == w.threads - 1) w.cellstart[w.ncells] = w.n;
#pragma omp barrier
    for (int i = a; i < b; i++) {
        int id = w.cid[i], d = h[id]++;
        w.tag2[d] = w.tag[i];
        w.cid2[d] = id;
        w.old[d] = i;
        place(i, d);
    }
#pragma omp barrier
#pragma omp single
    {
        std::swap(w.tag.p, w.tag2.p);
        std::swap(w.cid.p, w.cid2.p);
    }
}

// Predict [Holz14] (2), sort rows by the cell of the predicted position.
static void sort_rows(Twin& w, float reach, int t) {
    const float dt = w.par.dt;
    const __m128 g = _mm_setr_ps(w.par.gravity[0] * dt * dt, w.par.gravity[1] * dt * dt,
                                 w.par.gravity[2] * dt * dt, 0), vdt = _mm_setr_ps(dt, dt, dt, 0);
    int a, b;
    chunk(w, t, a, b);
    __m128 mn = _mm_set1_ps(1e30f), mx = _mm_set1_ps(-1e30f);
    for (int i = a; i < b; i++) {
        __m128 p = _mm_add_ps(_mm_load_ps(&w.x[4 * i]), _mm_fmadd_ps(_mm_load_ps(&w.v[4 * i]), vdt, g));
        mn = _mm_min_ps(mn, p);
        mx = _mm_max_ps(mx, p);
    }
    alignas(16) float f[8];
    _mm_store_ps(f, mn);
    _mm_store_ps(f + 4, mx);
    for (int k = 0; k < 3; k++) { w.box[t * 8 + k] = f[k]; w.box[t * 8 + 3 + k] = f[4 + k]; }
#pragma omp barrier
#pragma omp single
    make_grid(w, reach);

    const int s0 = w.axis[0], s1 = w.axis[1], s2 = w.axis[2];
    int mul[4] = {0, 0, 0, 0};
    mul[s0] = 1; mul[s1] = w.dim[s0]; mul[s2] = w.dim[s0] * w.dim[s1];
    const __m128i vm = _mm_setr_epi32(mul[0], mul[1], mul[2], 0);
    const __m128i top = _mm_setr_epi32(w.dim[0] - 1, w.dim[1] - 1, w.dim[2] - 1, 0);
    const __m128 low = _mm_setr_ps(w.low[0], w.low[1], w.low[2], 0), inv = _mm_set1_ps(w.inv_cell);
    auto cell = [&](int i) {
        __m128 p = _mm_add_ps(_mm_load_ps(&w.x[4 * i]), _mm_fmadd_ps(_mm_load_ps(&w.v[4 * i]), vdt, g));
        __m128i c = _mm_cvttps_epi32(_mm_mul_ps(_mm_sub_ps(p, low), inv));
        c = _mm_mullo_epi32(_mm_max_epi32(_mm_min_epi32(c, top), _mm_setzero_si128()), vm);
        c = _mm_add_epi32(c, _mm_shuffle_epi32(c, 0x4e));       // x + z, y + 0
        return _mm_cvtsi128_si32(c) + _mm_extract_epi32(c, 1);
    };
    auto place = [&](int i, int d) {
        __m128 xi = _mm_load_ps(&w.x[4 * i]), vi = _mm_load_ps(&w.v[4 * i]);
        __m128 u = _mm_fmadd_ps(vi, vdt, g), p = _mm_add_ps(xi, u);
        _mm_store_ps(&w.x2[4 * d], xi);
        _mm_store_ps(&w.v2[4 * d], vi);
        _mm_store_ps(&w.pu[8 * d], p);                            // lane 3: r + 0
        _mm_store_ps(&w.pu[8 * d + 4], _mm_blend_ps(u, vi, 8));   // lane 3: w
        w.sx[d] = _mm_cvtss_f32(p);
        w.sy[d] = _mm_cvtss_f32(_mm_shuffle_ps(p, p, 1));
        w.sz[d] = _mm_cvtss_f32(_mm_shuffle_ps(p, p, 2));
        w.sr[d] = _mm_cvtss_f32(_mm_shuffle_ps(p, p, 3));
    };
    counting_sort(w, t, a, b, cell, place);
#pragma omp single
    {
        std::swap(w.x.p, w.x2.p);
        std::swap(w.v.p, w.v2.p);
    }
}

// Neighbours j > i of each row of a slab, row after row, into s.flat.
static void find_pairs(Twin& w, Slab& s) {
    const int d0 = w.dim[w.axis[0]], d1 = w.dim[w.axis[1]], d2 = w.dim[w.axis[2]];
    int run_a[5] = {0, 0, 0, 0, 0}, run_b[5] = {0, 0, 0, 0, 0}, nruns = 0, last = -1, room = 0;
    size_t m = 0;
    s.first.reserve(s.hi - s.lo + 8);
    s.count.reserve(s.hi - s.lo + 8);
    const i8 seq = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    int reach = s.hi;
    for (int i = s.lo; i < s.hi; i++) {
        int c = w.cid[i];
        if (c != last) {
            last = c;
            int a = c % d0, b = c / d0 % d1, e = c / d0 / d1, l = a > 0 ? 1 : 0, r = a < d0 - 1 ? 1 : 0;
            nruns = 1;
            run_b[0] = w.cellstart[c + r + 1];
            room = run_b[0] - w.cellstart[c];
            auto add = [&](int row) {
                run_a[nruns] = w.cellstart[row - l];
                run_b[nruns] = w.cellstart[row + r + 1];
                room += run_b[nruns] - run_a[nruns];
                nruns += run_b[nruns] > run_a[nruns];
            };
            if (b < d1 - 1) add(c + d0);
            if (e < d2 - 1)
                for (int q = -1; q <= 1; q++)
                    if (b + q >= 0 && b + q < d1) add(c + d0 * d1 + q * d0);
            reach = std::max(reach, run_b[nruns - 1]);
            room += 8 * nruns + 16;
        }
        if (m + room > s.flat.cap) s.flat.reserve((m + room) * 2, true);
        run_a[0] = i + 1;
        int32_t* out = s.flat.p + m;
        const v8 xi = set1(w.sx[i]), yi = set1(w.sy[i]), zi = set1(w.sz[i]), ri = set1(w.sr[i]);
        for (int k = 0; k < nruns; k++)
            for (int j = run_a[k], e = run_b[k]; j < e; j += 8) {
                v8 dx = _mm256_sub_ps(xi, _mm256_loadu_ps(&w.sx[j]));
                v8 dy = _mm256_sub_ps(yi, _mm256_loadu_ps(&w.sy[j]));
                v8 dz = _mm256_sub_ps(zi, _mm256_loadu_ps(&w.sz[j]));
                v8 R = _mm256_add_ps(ri, _mm256_loadu_ps(&w.sr[j]));
                v8 q = fma_(dx, dx, fma_(dy, dy, fnma(R, R, _mm256_mul_ps(dz, dz))));
                unsigned hit = _mm256_movemask_ps(_mm256_cmp_ps(q, _mm256_setzero_ps(), _CMP_LE_OQ));
                hit &= e - j >= 8 ? 0xffu : (1u << (e - j)) - 1u;
                i8 id = _mm256_add_epi32(_mm256_set1_epi32(j), seq);
                i8 pick = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i*)kHits.perm[hit]));
                _mm256_storeu_si256((i8*)out, _mm256_permutevar8x32_epi32(id, pick));
                out += __builtin_popcount(hit);
            }
        s.first[i - s.lo] = (int32_t)m;
        s.count[i - s.lo] = (int32_t)(out - (s.flat.p + m));
        m = out - s.flat.p;
    }
    s.contacts = (int64_t)m;
    s.reach = std::min(reach, w.rows);
}

static inline void transpose_int(i8 r[8]) {
    v8 a[8], t[8];
    for (int k = 0; k < 8; k++) a[k] = _mm256_castsi256_ps(r[k]);
    for (int k = 0; k < 2; k++) {
        v8 *p = a + 4 * k, *q = t + 4 * k;
        v8 t0 = lo32(p[0], p[1]), t1 = hi32(p[0], p[1]), t2 = lo32(p[2], p[3]), t3 = hi32(p[2], p[3]);
        q[0] = lo64(t0, t2); q[1] = hi64(t0, t2); q[2] = lo64(t1, t3); q[3] = hi64(t1, t3);
    }
    for (int k = 0; k < 4; k++) {
        r[k] = _mm256_castps_si256(_mm256_permute2f128_ps(t[k], t[k + 4], 0x20));
        r[k + 4] = _mm256_castps_si256(_mm256_permute2f128_ps(t[k], t[k + 4], 0x31));
    }
}

// Sliced ELLPACK: slices of 8 rows, rows sorted by count within windows; short lanes name their own row.
static void pack_pairs(Slab& s) {
    const int m = s.hi - s.lo, nslices = (m + kSigma - 1) / kSigma * (kSigma / 8) + 1;
    s.srow.reserve(8 * nslices);
    s.scount.reserve(8 * nslices);
    s.sptr.reserve(nslices + 1);
    size_t vec = 0;
    int sl = 0;
    for (int w0 = 0; w0 < m; w0 += kSigma) {
        const int w1 = std::min(w0 + kSigma, m);
        int bucket[65] = {0}, order[kSigma];
        for (int i = w0; i < w1; i++) bucket[std::min(s.count[i], 63)]++;
        for (int c = 63, at = 0; c >= 0; c--) { int q = bucket[c]; bucket[c] = at; at += q; }
        for (int i = w0; i < w1; i++) order[bucket[std::min(s.count[i], 63)]++] = i;
        for (int k = 0; k < w1 - w0; k += 8) {
            int big = 0, src[8];
            for (int l = 0; l < 8; l++) {
                bool real = k + l < w1 - w0;
                int i = real ? order[k + l] : order[k];       // a spare lane repeats a row with no contact
                s.srow[8 * sl + l] = 4 * (row4)(s.lo + i);
                s.scount[8 * sl + l] = real ? s.count[i] : 0;
                src[l] = s.first[i];
                big = std::max(big, s.scount[8 * sl + l]);
            }
            s.sptr[sl] = (int32_t)vec;
            s.idx.reserve(8 * (vec + big + 8), true);
            const i8 self = _mm256_loadu_si256((const i8*)&s.srow[8 * sl]);
            const i8 cnt = _mm256_loadu_si256((const i8*)&s.scount[8 * sl]);
            for (int q = 0; q < big; q += 8) {
                i8 r[8];
                for (int l = 0; l < 8; l++) r[l] = _mm256_loadu_si256((const i8*)&s.flat[src[l] + (q < s.scount[8 * sl + l] ? q : 0)]);
                transpose_int(r);
                for (int e = 0; e < 8; e++) {
                    i8 live = _mm256_cmpgt_epi32(cnt, _mm256_set1_epi32(q + e));
                    _mm256_store_si256((i8*)&s.idx[8 * (vec + q + e)], _mm256_blendv_epi8(self, _mm256_slli_epi32(r[e], 2), live));
                }
            }
            vec += big;
            sl += big > 0;                                    // no empty slices
        }
    }
    s.sptr[sl] = (int32_t)vec;
    s.idx.reserve(8 * (vec + 1), true);                       // spare slice and vector: the solver looks ahead
    for (int l = 0; l < 8; l++) s.srow[8 * sl + l] = s.idx[8 * vec + l] = 4 * (row4)s.lo;
    s.slices = sl;
    s.vectors = (int)vec;
}

// Rows with gap(plane, first of 8 rows) <= 0, eight of one plane a slice; note(plane, row, slot).
template <int UNIT, class AnySlab, class Gap, class Note>
static inline void find_walls(const Twin& w, AnySlab& s, Gap gap, Note note) {
    s.wslices = 0;
    s.wcontacts = 0;
    for (int b = 0; b < w.nplanes; b++) {
        int k = 0;
        for (int i = s.lo; i < s.hi; i += 8) {
            unsigned hit = _mm256_movemask_ps(_mm256_cmp_ps(gap(b, i), _mm256_setzero_ps(), _CMP_LE_OQ));
            if (i + 8 > s.hi) hit &= (1u << (s.hi - i)) - 1u;
            for (; hit; hit &= hit - 1) {
                int row = i + __builtin_ctz(hit);
                if (k % 8 == 0) {
                    s.wrow.reserve(8 * (s.wslices + 1), true);
                    s.wplane.reserve(s.wslices + 1, true);
                    s.wcount.reserve(s.wslices + 1, true);
                    s.wplane[s.wslices] = b;
                    for (int l = 0; l < 8; l++) s.wrow[8 * s.wslices + l] = UNIT * (row4)row;
                    s.wslices++;
                }
                s.wrow[8 * (s.wslices - 1) + k % 8] = UNIT * (row4)row;
                s.wcount[s.wslices - 1] = k % 8 + 1;
                note(b, row, 8 * (s.wslices - 1) + k % 8);
                k++;
            }
        }
        s.wcontacts += k;
    }
}
