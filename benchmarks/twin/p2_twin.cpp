// Hand-written C++17/OpenMP/AVX2 twin of berm's P2 step: the speed limit that berm is measured against.
// (a) published form: published.h   (b) berm's conserving form: conserving.h   search: search.h
// Same bits for any number of threads: slabs do not depend on it, and are summed in slab order.
// Built and called from build.py.
#include "conserving.h"

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
    for (auto* b : {&w->x, &w->v, &w->x2, &w->v2, &w->xb}) { b->reserve(4 * rows); b->zero(4 * rows); }
    w->pu.reserve(8 * rows);
    w->pu.zero(8 * rows);
    for (auto* b : {&w->sx, &w->sy, &w->sz, &w->sr}) { b->reserve(rows); b->zero(rows); }
    for (auto* b : {&w->tag, &w->tag2, &w->cid, &w->cid2, &w->old}) { b->reserve(rows); b->zero(rows); }
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
    for (auto* list : {&w->slabs, &w->before}) {
        list->resize(w->nslabs);
        for (int k = 0; k < w->nslabs; k++) {
            (*list)[k].lo = k * w->slab_rows;
            (*list)[k].hi = std::min(n, (k + 1) * w->slab_rows);
        }
    }
    std::memset(w->wall_force, 0, sizeof w->wall_force);
    return w;
}

void twin_free(Twin* w) { delete w; }

// form 0: published, 1: conserving.
void twin_step(Twin* w, int32_t form, int32_t steps) {
#pragma omp parallel num_threads(w->threads)
    {
        const int t = omp_get_thread_num();
        for (int k = 0; k < steps; k++) {
            if (form == 1) step_conserving(*w, t);
            else if (w->mono) w->par.retest ? step_published<true, true>(*w, t) : step_published<true, false>(*w, t);
            else w->par.retest ? step_published<false, true>(*w, t) : step_published<false, false>(*w, t);
        }
    }
    const double h = (double)w->par.dt / w->par.substeps;
    for (int b = 0; b < w->nplanes; b++)
        for (int a = 0; a < 3; a++) {
            double f = 0;
            for (auto& s : w->slabs) f += s.force[b][a];
            w->wall_force[b][a] = form == 1 ? -f / (h * h * w->par.substeps) : f;
        }
}

// Rows in the order given to twin_create; force (m,3): on each plane, N, mean over the last step.
void twin_get(const Twin* w, float* x, float* v, double* force) {
    for (int i = 0; i < w->n; i++) {
        std::memcpy(x + 4 * (size_t)w->tag[i], &w->x[4 * (size_t)i], 16);
        std::memcpy(v + 4 * (size_t)w->tag[i], &w->v[4 * (size_t)i], 16);
    }
    for (int b = 0; b < w->nplanes; b++)
        for (int a = 0; a < 3; a++) force[3 * b + a] = w->wall_force[b][a];
}

// out[8]: seconds in search, seconds in iterations, steps, searches, listed pairs, wall contacts,
// SELL lanes, slabs.  Resets the seconds, steps and searches.
void twin_stats(Twin* w, double* out) {
    double pairs = 0, walls = 0, lanes = 0;
    for (auto& s : w->slabs) { pairs += s.contacts; walls += s.wcontacts; lanes += 8.0 * s.vectors; }
    const double o[8] = {w->seconds_search, w->seconds_solve, (double)w->steps, (double)w->rebuilds,
                         pairs, walls, lanes, (double)w->nslabs};
    std::memcpy(out, o, sizeof o);
    w->seconds_search = w->seconds_solve = 0;
    w->steps = w->rebuilds = 0;
}

}  // extern "C"
