// (b) berm's default form: Gauss-Seidel over the contacts, eight at a time that share no grain, impulses kept.
// Twin of berm's p2_law.py, p2_contacts.py and p2_sweep.py: the same operations in the same order.
#pragma once
#include "sweep_list.h"

INLINE v8 add(v8 a, v8 b) { return _mm256_add_ps(a, b); }
INLINE v8 sub(v8 a, v8 b) { return _mm256_sub_ps(a, b); }
INLINE v8 mul(v8 a, v8 b) { return _mm256_mul_ps(a, b); }
INLINE v8 dot(v8 ax, v8 ay, v8 az, v8 bx, v8 by, v8 bz) { return fma_(ax, bx, fma_(ay, by, mul(az, bz))); }

struct Law {
    v8 k, c, mu_s, mu_k, slip, memory, relax, zero, one, tiny;
    Law(const Params& p, float part) {
        const float h = p.dt / p.substeps;
        k = set1(h * h * p.stiffness); c = set1(h * p.damping);
        mu_s = set1(p.friction_static); mu_k = set1(p.friction_kinetic);
        slip = set1(h * p.slip_speed * h * p.slip_speed);
        memory = set1(part); relax = set1(p.relaxation);
        zero = _mm256_setzero_ps(); one = set1(1); tiny = set1(1e-20f);
    }
};
struct V3 { v8 x, y, z; };

// New impulse of eight contacts: normal n, C_d, displacement with the whole impulses r, C_s, inverse mass, last impulse p.
INLINE V3 respond(const Law& l, V3 n, v8 approach, V3 r, v8 gap, v8 mass, V3 p) {
    const v8 before = dot(p.x, p.y, p.z, n.x, n.y, n.z), normal = mul(l.memory, before);
    const v8 damp = _mm256_and_ps(l.c, _mm256_cmp_ps(gap, mul(mass, _mm256_max_ps(normal, l.zero)), _CMP_LE_OQ));
    const v8 soft = fma_(add(l.k, damp), mass, l.one), shared = _mm256_div_ps(l.one, mul(soft, mass)), inverse = mul(shared, soft);
    v8 fresh = fnma(mul(shared, mass), add(normal, fma_(l.k, gap, mul(damp, approach))), normal);
    const v8 along = dot(r.x, r.y, r.z, n.x, n.y, n.z);
    const v8 sx = fnma(along, n.x, r.x), sy = fnma(along, n.y, r.y), sz = fnma(along, n.z, r.z);
    fresh = _mm256_max_ps(fresh, l.zero);
    const v8 slide = dot(sx, sy, sz, sx, sy, sz);
    const v8 cap = mul(_mm256_blendv_ps(l.mu_s, l.mu_k, _mm256_cmp_ps(slide, l.slip, _CMP_GT_OQ)), fresh);
    const v8 tx = fnma(inverse, sx, fnma(before, n.x, p.x)), ty = fnma(inverse, sy, fnma(before, n.y, p.y)),
             tz = fnma(inverse, sz, fnma(before, n.z, p.z));
    const v8 size2 = dot(tx, ty, tz, tx, ty, tz);
    // 0 / 0 where nothing slides: the minimum then takes its second operand
    const v8 keep = _mm256_min_ps(mul(mul(cap, _mm256_sqrt_ps(size2)), _mm256_div_ps(l.one, size2)), l.one);
    return {fma_(fresh, n.x, mul(tx, keep)), fma_(fresh, n.y, mul(ty, keep)), fma_(fresh, n.z, mul(tz, keep))};
}

struct Row { Lanes4 x, a, b; };      // position and radius; kept displacement and inverse mass; whole displacement
INLINE Row gather_row(const float* rows, const row4* r) {
    return {gather4<8>(rows, r), gather4<8>(rows + 4, r), gather4<8>(rows + 8, r)};
}

constexpr int kSlotsAhead = 4, kSlicesAhead = 2;      // how far ahead rows are fetched

// The contacts of a slab from a slice on, eight after eight.
template <bool STATS>
struct Stream {
    float* rows;
    SweepSlab& s;
    int sl;
    Row own, other;
    i8 self;
    const row4 *rj, *end, *ri, *last;
    float* P;
    v8 total, most, number;

    Stream(Twin& w, SweepSlab& slab, int begin = 0) : rows(w.row.p), s(slab), sl(begin - 1) {
        total = most = number = _mm256_setzero_ps();
        last = s.idx.p + 8 * (size_t)std::max(s.sptr[s.slices] - 1, 0);
        open();
    }
    bool more() const { return sl < s.slices; }
    __attribute__((always_inline)) void open() {
        if (++sl >= s.slices) return;
        ri = s.srow.p + 8 * (size_t)sl;
        fetch8(rows, s.srow.p + 8 * (size_t)std::min(sl + kSlicesAhead, s.slices - 1));
        self = _mm256_load_si256((const i8*)ri);
        own = gather_row(rows, ri);
        rj = s.idx.p + 8 * (size_t)s.sptr[sl];
        end = s.idx.p + 8 * (size_t)s.sptr[sl + 1];
        P = s.impulse.p + 24 * (size_t)s.sptr[sl];
        other = gather_row(rows, rj);
    }
    __attribute__((always_inline)) void step(const Law& l) {
        // the rows of a slice share no grain: the next partners can be fetched before these have moved
        const Row next = gather_row(rows, rj + 8 < end ? rj + 8 : rj);
        fetch8(rows, std::min(rj + 8 * kSlotsAhead, last));
        const V3 p = {_mm256_load_ps(P), _mm256_load_ps(P + 8), _mm256_load_ps(P + 16)};
        const v8 ux = sub(own.a.x, other.a.x), uy = sub(own.a.y, other.a.y), uz = sub(own.a.z, other.a.z);
        const v8 dx = add(sub(own.x.x, other.x.x), ux), dy = add(sub(own.x.y, other.x.y), uy), dz = add(sub(own.x.z, other.x.z), uz);
        const v8 far2 = _mm256_max_ps(dot(dx, dy, dz, dx, dy, dz), l.tiny);
        const v8 far = _mm256_sqrt_ps(far2), over = mul(far, _mm256_div_ps(l.one, far2));
        const v8 up = _mm256_cmp_ps(far2, l.tiny, _CMP_GT_OQ);
        const V3 n = {mul(dx, over), mul(dy, over), _mm256_blendv_ps(l.one, mul(dz, over), up)};
        const v8 idle = _mm256_castsi256_ps(_mm256_cmpeq_epi32(self, _mm256_load_si256((const i8*)rj)));
        const v8 gap = _mm256_blendv_ps(sub(far, add(own.x.w, other.x.w)), l.one, idle);       // (22)
        const v8 approach = dot(ux, uy, uz, n.x, n.y, n.z);                                     // (17)
        const V3 r = {sub(own.b.x, other.b.x), sub(own.b.y, other.b.y), sub(own.b.z, other.b.z)};
        const V3 f = respond(l, n, approach, r, gap, mul(l.relax, add(own.a.w, other.a.w)), p);
        _mm256_store_ps(P, f.x); _mm256_store_ps(P + 8, f.y); _mm256_store_ps(P + 16, f.z);
        const v8 kx = fnma(l.memory, p.x, f.x), ky = fnma(l.memory, p.y, f.y), kz = fnma(l.memory, p.z, f.z);
        const v8 fx = sub(f.x, p.x), fy = sub(f.y, p.y), fz = sub(f.z, p.z), wi = own.a.w, wj = other.a.w;
        scatter8(rows, rj, fnma(wj, kx, other.a.x), fnma(wj, ky, other.a.y), fnma(wj, kz, other.a.z), wj,
                 fnma(wj, fx, other.b.x), fnma(wj, fy, other.b.y), fnma(wj, fz, other.b.z));
        own.a.x = fma_(wi, kx, own.a.x); own.a.y = fma_(wi, ky, own.a.y); own.a.z = fma_(wi, kz, own.a.z);
        own.b.x = fma_(wi, fx, own.b.x); own.b.y = fma_(wi, fy, own.b.y); own.b.z = fma_(wi, fz, own.b.z);
        if (STATS) {
            const v8 depth = _mm256_max_ps(sub(l.zero, gap), l.zero);
            total = add(total, depth);
            most = _mm256_max_ps(most, depth);
            number = add(number, _mm256_and_ps(l.one, _mm256_cmp_ps(depth, l.zero, _CMP_GT_OQ)));
        }
        other = next;
        P += 24;
        rj += 8;
        if (rj == end) {
            scatter8(rows, ri, own.a.x, own.a.y, own.a.z, own.a.w, own.b.x, own.b.y, own.b.z);
            open();
        }
    }
    void finish(const Law& l) {
        while (more()) step(l);
        if (!STATS) return;
        alignas(32) float m[8];
        _mm256_store_ps(m, most);
        s.overlap = sum8(total);
        s.touching = sum8(number);
        s.deepest = *std::max_element(m, m + 8);
    }
};

static void sweep_walls(Twin& w, SweepSlab& s, float memory, bool last) {
    const Law l(w.par, memory);
    v8 gx = l.zero, gy = l.zero, gz = l.zero;
    for (int sl = 0; sl < s.wslices; sl++) {
        const int b = s.wplane[sl];
        const float* o = w.plane[b];
        const V3 n = {set1(o[0]), set1(o[1]), set1(o[2])};
        const row4* ri = &s.wrow[8 * (size_t)sl];
        float* P = &s.wimpulse[24 * (size_t)sl];
        const v8 live = _mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_set1_epi32(s.wcount[sl]), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)));
        const Row own = gather_row(w.row.p, ri);
        const V3 p = {_mm256_load_ps(P), _mm256_load_ps(P + 8), _mm256_load_ps(P + 16)};
        const v8 way = dot(n.x, n.y, n.z, own.a.x, own.a.y, own.a.z);
        v8 gap = sub(fma_(n.x, own.x.x, fma_(n.y, own.x.y, fma_(n.z, own.x.z, set1(-o[3])))), own.x.w);
        gap = _mm256_blendv_ps(l.one, add(gap, way), live);
        V3 f = respond(l, n, way, {own.b.x, own.b.y, own.b.z}, gap, mul(l.relax, own.a.w), p);
        f = {_mm256_and_ps(f.x, live), _mm256_and_ps(f.y, live), _mm256_and_ps(f.z, live)};
        _mm256_store_ps(P, f.x); _mm256_store_ps(P + 8, f.y); _mm256_store_ps(P + 16, f.z);
        const v8 wi = own.a.w;
        scatter8(w.row.p, ri, fma_(wi, fnma(l.memory, p.x, f.x), own.a.x), fma_(wi, fnma(l.memory, p.y, f.y), own.a.y),
                 fma_(wi, fnma(l.memory, p.z, f.z), own.a.z), wi, fma_(wi, sub(f.x, p.x), own.b.x),
                 fma_(wi, sub(f.y, p.y), own.b.y), fma_(wi, sub(f.z, p.z), own.b.z));
        gx = add(gx, f.x); gy = add(gy, f.y); gz = add(gz, f.z);
        if (last && (sl + 1 == s.wslices || s.wplane[sl + 1] != b)) {
            s.force[b][0] += sum8(gx); s.force[b][1] += sum8(gy); s.force[b][2] += sum8(gz);
            gx = gy = gz = l.zero;
        }
    }
}

// Whether row i, at p, is further from its straight way than the list allows.
static bool off_its_way(const Twin& w, int i, const float* p) {
    const float *r = &w.ref[4 * (size_t)i], *way = &w.way[4 * (size_t)i];
    float d[3], far2 = 0, along = 0;
    for (int c = 0; c < 3; c++) { d[c] = p[c] - r[c]; along += d[c] * way[c]; }
    along = std::min(std::max(along * way[3], 0.0f), 1.0f);
    for (int c = 0; c < 3; c++) { d[c] -= along * way[c]; far2 += d[c] * d[c]; }
    return !(far2 <= r[3]);
}

// End of a substep: position and velocity (3), prediction of the next (2).
template <bool STATS>
static void move_rows(Twin& w, SweepSlab& s) {
    const float h = w.par.dt / w.par.substeps, *g = w.par.gravity;
    const __m128 pull = _mm_setr_ps(h * h * g[0], h * h * g[1], h * h * g[2], 0), step = _mm_set1_ps(h), rate = _mm_set1_ps(1 / h);
    const __m128 keep = _mm_set1_ps(w.par.memory);
    bool off = false;
    double energy = 0;
    for (int i = s.lo; i < s.hi; i++) {
        float* r = &w.row[16 * (size_t)i];
        const __m128 moved = _mm_load_ps(r + 8), pushed = _mm_sub_ps(moved, _mm_fmadd_ps(step, _mm_load_ps(r + 12), pull));
        const __m128 here = _mm_add_ps(_mm_load_ps(r), moved), free = _mm_add_ps(moved, pull);
        _mm_store_ps(r, here);
        _mm_store_ps(r + 4, _mm_blend_ps(_mm_fmadd_ps(keep, pushed, free), _mm_load_ps(r + 4), 8));
        _mm_store_ps(r + 8, _mm_add_ps(free, pushed));
        _mm_store_ps(r + 12, _mm_mul_ps(rate, moved));
        const __m128 ahead = _mm_add_ps(here, moved), ref = _mm_load_ps(&w.ref[4 * (size_t)i]), e = _mm_sub_ps(ahead, ref);
        const __m128 far2 = _mm_dp_ps(e, e, 0x78);       // into lane 3, where the squared room is
        if (__builtin_expect(_mm_movemask_ps(_mm_cmpnle_ps(far2, ref)) & 8, 0)) {
            alignas(16) float p[4];
            _mm_store_ps(p, ahead);
            off |= off_its_way(w, i, p);
        }
        if (STATS) energy += _mm_cvtss_f32(_mm_dp_ps(moved, moved, 0x71)) / r[7];
    }
    s.off = off;
    if (STATS) s.energy = 0.5 * energy / ((double)h * h);
}

// Rows from positions and velocities, without any remembered impulse; and back.
static void start_sweep(Twin& w) {
    if (w.swept) return;
    const float h = w.par.dt / w.par.substeps;
    for (int i = 0; i < w.n; i++) {
        const float *x = &w.x[4 * (size_t)i], *v = &w.v[4 * (size_t)i];
        float* r = &w.row[16 * (size_t)i];
        for (int c = 0; c < 3; c++) {
            r[c] = x[c];
            r[4 + c] = r[8 + c] = h * v[c] + h * h * w.par.gravity[c];
            r[12 + c] = v[c];
        }
        r[3] = x[3]; r[7] = v[3]; r[11] = r[15] = 0;
    }
    w.stale = true;
}
static void end_sweep(Twin& w) {
    if (!w.swept) return;
    for (int i = 0; i < w.n; i++) {
        const float* r = &w.row[16 * (size_t)i];
        std::memcpy(&w.x[4 * (size_t)i], r, 16);
        std::memcpy(&w.v[4 * (size_t)i], r + 12, 12);
        w.v[4 * (size_t)i + 3] = r[7];
    }
    w.swept = false;
}
