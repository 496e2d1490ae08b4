// (b) The step of berm's default form: substeps of one pass over the contacts, by colours.
#pragma once
#include "sweep_wide.h"

template <bool STATS>
static void sweep_pairs(Twin& w, SweepSlab& one, SweepSlab* two, float memory) {
    const Law l(w.par, memory);
    int begin = 0;
#if defined(__AVX512F__) && defined(__AVX512DQ__)
    if (!STATS && two) {
        sweep_two(w, one, *two, memory);
        begin = std::min(one.slices, two->slices);
    }
#endif
    Stream<STATS>(w, one, begin).finish(l);
    if (two) Stream<STATS>(w, *two, begin).finish(l);
}

static void step_sweep(Twin& w, int t) {
    const Params& p = w.par;
    double searching = 0, solving = 0;
    const int slabs = (int)w.sweep.size();
#pragma omp single
    {
        w.stale = w.stale || !w.swept || (w.sparse && w.since_sort + 1 >= kCalm);
        w.since_sort++;
        w.done = 0;
        std::memset(w.wall_force, 0, sizeof w.wall_force);
    }
    while (w.done < p.substeps) {
        const double t0 = omp_get_wtime();
        const int first = w.done;
        if (w.stale) rebuild_sweep(w, t, p.dt);
        const double t1 = omp_get_wtime();
#pragma omp for schedule(static)
        for (int k = 0; k < slabs; k++) std::memset(w.sweep[k].force, 0, sizeof(SweepSlab::force));
        bool off = false;
        int sub = first;
        while (sub < p.substeps && !off) {
            const bool end = sub + 1 == p.substeps;
            for (int it = 0; it < p.iterations; it++) {
                const float memory = it ? 1.0f : p.memory;
                const bool last = it + 1 == p.iterations;
                for (size_t c = 0; c + 1 < w.colour.size(); c++) {
                    const int* turn = &w.turn[w.colour[c]];
                    const int members = w.colour[c + 1] - w.colour[c];
#pragma omp for schedule(static)
                    for (int k = 0; k < (members + 1) / 2; k++) {
                        SweepSlab *one = &w.sweep[turn[2 * k]], *two = 2 * k + 1 < members ? &w.sweep[turn[2 * k + 1]] : nullptr;
                        if (last && end) sweep_pairs<true>(w, *one, two, memory); else sweep_pairs<false>(w, *one, two, memory);
                        sweep_walls(w, *one, memory, last);
                        if (two) sweep_walls(w, *two, memory, last);
                    }
                }
            }
#pragma omp for schedule(static)
            for (int k = 0; k < slabs; k++) end ? move_rows<true>(w, w.sweep[k]) : move_rows<false>(w, w.sweep[k]);
            sub++;
            for (auto& s : w.sweep) off |= s.off;
        }
#pragma omp barrier
#pragma omp single
        {
            const double h = (double)p.dt / p.substeps;
            for (auto& s : w.sweep)
                for (int b = 0; b < w.nplanes; b++)
                    for (int a = 0; a < 3; a++) w.wall_force[b][a] -= s.force[b][a] / (h * h * p.substeps);
            w.done = sub;
            w.stale = off;
        }
        searching += t1 - t0;
        solving += omp_get_wtime() - t1;
    }
#pragma omp single
    {
        w.touching = w.overlap = w.deepest = w.energy = 0;
        for (auto& s : w.sweep) {
            w.touching += s.touching; w.overlap += s.overlap; w.energy += s.energy;
            w.deepest = std::max(w.deepest, s.deepest);
        }
        w.steps++;
    }
    if (t == 0) {
        w.seconds_search += searching;
        w.seconds_solve += solving;
    }
}
