// Hand-written C++17/OpenMP/AVX2 twin of berm's P2 step: the speed limit that berm is measured against.
// (a) published form: published.h, search.h   (b) berm's default, by sweeps: sweep*.h
// Same bits for any number of threads: slabs and their colours do not depend on it.
// Built and called from build.py.
#include "published.h"
#include "sweep_step.h"

extern "C" {

// x (n,4): x y z r.  v (n,4): vx vy vz, inverse mass.  plane (m,4): unit normal, offset; n.p >= offset is free.
Twin* twin_create(int32_t n, const float* x, const float* v, int32_t m, const float* plane, const Params* par) {
    if (n < 1 || m < 0 || m > kMaxPlanes || par->iterations < 1 || par->substeps < 1 || par->threads < 1) return nullptr;
    Twin* w = new Twin;
    w->n = n;
    w->rows = (n + 7) & ~7;
    w->nplanes = m;
    w->par = *par;
    w->threads = par->threads;
    w->nslabs = std::clamp(n / 2048, 4, 64);
    w->slab_rows = ((n + w->nslabs - 1) / w->nslabs + 7) & ~7;
    w->nslabs = (n + w->slab_rows - 1) / w->slab_rows;
    std::memcpy(w->plane, plane, sizeof(float) * 4 * m);
    const size_t rows = w->rows + 16;
    for (auto* b : {&w->x, &w->v, &w->x2, &w->v2, &w->ref, &w->way}) { b->reserve(4 * rows); b->zero(4 * rows); }
    w->pu.reserve(8 * rows);
    w->pu.zero(8 * rows);
    for (auto* b : {&w->row, &w->row2}) { b->reserve(16 * rows); b->zero(16 * rows); }
    for (auto* b : {&w->sx, &w->sy, &w->sz, &w->sr, &w->sway, &w->sspare}) { b->reserve(rows); b->zero(rows); }
    for (auto* b : {&w->tag, &w->tag2, &w->cid, &w->cid2, &w->old, &w->now, &w->level}) { b->reserve(rows); b->zero(rows); }
    std::memcpy(w->x.p, x, sizeof(float) * 4 * n);
    std::memcpy(w->v.p, v, sizeof(float) * 4 * n);
    w->mono = true;
    w->wmono = v[3];
    for (int i = 0; i < n; i++) {
        w->tag[i] = i;
        w->rmax = std::max(w->rmax, x[4 * i + 3]);
        w->mono = w->mono && v[4 * i + 3] == v[3];
    }
    w->hist.resize(w->threads);
    w->box.resize(8 * w->threads);
    w->base.resize(w->threads);
    w->bounds.resize(8 * w->threads);
    w->slabs.resize(w->nslabs);
    for (int k = 0; k < w->nslabs; k++) {
        w->slabs[k].lo = k * w->slab_rows;
        w->slabs[k].hi = std::min(n, (k + 1) * w->slab_rows);
    }
    for (int i = 0; i < n; i++) w->rmean += x[4 * i + 3];
    w->rmean /= n;
    make_sweep_slabs(*w);
    std::memset(w->wall_force, 0, sizeof w->wall_force);
    return w;
}

void twin_free(Twin* w) { delete w; }

// form 0: published, 1: sweep.
void twin_step(Twin* w, int32_t form, int32_t steps) {
    if (form == 1) start_sweep(*w);
    else end_sweep(*w);
#pragma omp parallel num_threads(w->threads)
    {
        const int t = omp_get_thread_num();
        for (int k = 0; k < steps; k++) {
            if (form == 1) step_sweep(*w, t);
            else if (w->mono) w->par.retest ? step_published<true, true>(*w, t) : step_published<true, false>(*w, t);
            else w->par.retest ? step_published<false, true>(*w, t) : step_published<false, false>(*w, t);
        }
    }
    if (form == 1) return;
    for (int b = 0; b < w->nplanes; b++)
        for (int a = 0; a < 3; a++) {
            w->wall_force[b][a] = 0;
            for (auto& s : w->slabs) w->wall_force[b][a] += s.force[b][a];
        }
}

// Rows in the order given to twin_create; force (m,3): on each plane, N, mean over the last step.
void twin_get(const Twin* w, float* x, float* v, double* force) {
    for (int i = 0; i < w->n; i++) {
        const float* r = &w->row[16 * (size_t)i];
        float *to = x + 4 * (size_t)w->tag[i], *u = v + 4 * (size_t)w->tag[i];
        std::memcpy(to, w->swept ? r : &w->x[4 * (size_t)i], 16);
        std::memcpy(u, w->swept ? r + 12 : &w->v[4 * (size_t)i], 16);
        if (w->swept) u[3] = r[7];
    }
    for (int b = 0; b < w->nplanes; b++)
        for (int a = 0; a < 3; a++) force[3 * b + a] = w->wall_force[b][a];
}

// out[12]: seconds in search, seconds in iterations, steps, searches, listed pairs, wall contacts, lanes, slabs;
// of the sweep form's last step: contacts, mean and largest overlap, kinetic energy.
// Resets the seconds, steps and searches.
void twin_stats(Twin* w, double* out) {
    double pairs = 0, walls = 0, lanes = 0;
    auto add = [&](auto& list) {
        for (auto& s : list) { pairs += s.contacts; walls += s.wcontacts; lanes += 8.0 * s.vectors; }
    };
    if (w->swept) add(w->sweep); else add(w->slabs);
    const double o[12] = {w->seconds_search, w->seconds_solve, (double)w->steps, (double)w->rebuilds, pairs, walls, lanes,
                          (double)(w->swept ? w->sweep.size() : w->slabs.size()), w->touching,
                          w->overlap / std::max(w->touching, 1.0), w->deepest, w->energy};
    std::memcpy(out, o, sizeof o);
    w->seconds_search = w->seconds_solve = 0;
    w->steps = w->rebuilds = 0;
}

}  // extern "C"
