// What the twin keeps: grains in rows sorted by cell, contacts in slabs.
#pragma once
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "simd.h"

struct Params {            // mirrored by the ctypes Structure in build.py
    float dt;              // s
    float gravity[3];      // m/s^2
    float stiffness;       // k, N/m
    float damping;         // c, N s/m
    float friction_static, friction_kinetic;
    float eps_depth;       // [Holz14] (37), published form
    float relaxation;      // omega of the mass splitting, conserving form
    float memory_normal, memory_tangent;
    float near_gap;        // a contact counts for the mass split below this gap, in radii
    float slip_speed;      // m/s, above it kinetic friction holds, conserving form
    float skin;            // in units of the largest radius, conserving form
    int32_t iterations, substeps, threads;
    int32_t retest;        // published form: test C_s <= 0 again in each iteration
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
    Buf<float> impulse;                     // per vector: Px[8] Py[8] Pz[8]
    Buf<int32_t> where;                     // own row -> slice * 8 + lane
    Buf<row4> wrow;                         // wall contacts, 8 rows of one plane a slice
    Buf<int32_t> wplane, wcount;
    Buf<int32_t> wwhere;                    // (plane, own row) -> wall slot or -1
    Buf<float> wimpulse;
    Buf<float> acc;                         // private sums over [lo, reach)
    double force[kMaxPlanes][3];
};

struct Twin {
    int n = 0, rows = 0, slab_rows = 0, nslabs = 0, nplanes = 0, threads = 1;
    bool mono = false;
    float rmax = 0, wmono = 0;
    Params par{};
    float plane[kMaxPlanes][4];
    Buf<float> x, v, x2, v2;                // rows of 4: x y z r ; vx vy vz w
    Buf<float> pu;                          // rows of 8: p r u w  (p = x + u)
    Buf<float> xb;                          // predicted position at the last search (conserving)
    Buf<float> sx, sy, sz, sr;              // sorted predicted positions, one array a component
    Buf<int32_t> tag, tag2, cid, cid2, old, cellstart;
    std::vector<Buf<int32_t>> hist;
    std::vector<Slab> slabs, before;        // `before`: the list that impulses are taken from
    bool listed = false;
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
