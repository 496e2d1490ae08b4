// What the twin keeps: grains in rows sorted by cell, contacts in slabs.
#pragma once
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "simd.h"

struct Params {            // mirrored by the ctypes Structure in build.py
    double dt_exact, skin_exact;
    float dt;              // s
    float gravity[3];      // m/s^2
    float stiffness;       // k, N/m
    float damping;         // c, N s/m
    float friction_static, friction_kinetic;
    float eps_depth;       // [Holz14] (37), published form
    float relaxation;      // factor of the inverse mass that a contact sees, sweep form, as the next three
    float memory;          // part of its impulse that a contact starts the next substep from
    float slip_speed;      // m/s, above it kinetic friction holds
    float skin;            // in radii
    int32_t iterations, substeps, threads;
    int32_t retest;        // published form: test C_s <= 0 again in each iteration
    int32_t slabs;         // sweep form: number of slabs, 0: chosen by the number of grains
};

constexpr int kSigma = 64;       // rows sorted by contact count within windows of this size
constexpr int kMaxPlanes = 16;

struct Slab {
    int lo = 0, hi = 0, reach = 0;          // own rows [lo, hi), touches rows [lo, reach)
    int slices = 0, vectors = 0, wslices = 0;
    int64_t contacts = 0, wcontacts = 0;
    Buf<int32_t> flat, first, count;        // neighbours row by row (scratch of the search)
    Buf<row4> srow, idx;                    // per slice: 8 rows; per vector: 8 partner rows
    Buf<int32_t> scount, sptr;              // per slice: 8 counts, first vector
    Buf<row4> wrow;                         // wall contacts, 8 rows of one plane a slice
    Buf<int32_t> wplane, wcount;
    Buf<float> acc;                         // private sums over [lo, reach)
    double force[kMaxPlanes][3];
};

struct SweepSlab {
    int lo = 0, hi = 0;                     // own rows
    int low = 0, high = 0;                  // rows that its contacts touch
    int slices = 0, vectors = 0, wslices = 0, queued = 0;
    int64_t contacts = 0, wcontacts = 0;
    Buf<int32_t> flat, first, count;        // neighbours row by row (scratch of the search)
    Buf<int32_t> queue, follow, mark;       // scratch of the arrangement
    Buf<int32_t> rough;                     // per slice: 8 rows, -1 in an idle lane
    Buf<row4> srow, idx;                    // per slice: 8 rows; per vector: 8 partner rows
    Buf<int32_t> sptr;                      // per slice: first vector
    Buf<int32_t> home;                      // own row -> slice * 8 + lane, or -1
    Buf<float> impulse;                     // per vector: Px[8] Py[8] Pz[8]
    Buf<row4> wrow;                         // wall contacts, 8 rows of one plane a slice
    Buf<int32_t> wplane, wcount, whome;     // whome: (plane, own row) -> wall slot or -1
    Buf<float> wimpulse;
    double force[kMaxPlanes][3];
    double overlap, deepest, touching, energy;
    bool off;                               // a grain has left the way that the list was made for
};

struct Twin {
    int n = 0, rows = 0, slab_rows = 0, nslabs = 0, nplanes = 0, threads = 1;
    bool mono = false;
    float rmax = 0, wmono = 0;
    Params par{};
    float plane[kMaxPlanes][4];
    Buf<float> x, v, x2, v2;                // rows of 4: x y z r ; vx vy vz w
    Buf<float> pu;                          // rows of 8: p r u w  (p = x + u)
    // sweep form: a cache line a grain: position, radius; displacement with the kept impulses, inverse mass;
    // displacement with the whole impulses, 0; velocity, 0
    Buf<float> row, row2;
    Buf<float> ref, way;                    // rows of 4: position and squared room; way in dt, 1 / its square
    Buf<float> sway, sspare;                // sorted: length of the way in dt, room beyond it
    Buf<int32_t> level, now, taken;
    std::vector<SweepSlab> sweep, last;     // `last`: the list that impulses and order are taken from
    std::vector<int> colour, turn;          // slabs of colour c: turn[colour[c]] to turn[colour[c + 1]]
    std::vector<int> move;                  // (old slab, new slab): where rows go in the queue
    double fullness = 1, rmean = 0, corner[3], inv_size = 0, weight = 0;
    std::vector<double> bounds;             // per thread: min and max of the positions after dt
    double overlap = 0, deepest = 0, touching = 0, energy = 0;
    int done = 0;
    int since_sort = 0, top_level = 0;
    bool sparse = false, swept = false, stale = true;
    Buf<float> sx, sy, sz, sr;              // sorted predicted positions, one array a component
    Buf<int32_t> tag, tag2, cid, cid2, old, cellstart;
    std::vector<Buf<int32_t>> hist;
    std::vector<Slab> slabs;
    // grid
    int dim[3], axis[3];                    // axis[0] fastest
    float low[3], inv_cell = 0, cell = 0;
    int64_t ncells = 0;
    std::vector<float> box;                 // per thread: min xyz, max xyz, (moved)
    std::vector<int64_t> base;
    // report
    double seconds_search = 0, seconds_solve = 0;
    int64_t rebuilds = 0, steps = 0;
    double wall_force[kMaxPlanes][3];
};
