// Plain C++ twin of berm's Gauss-Seidel and Jacobi iterations on grains: one thread, float32, the cone.
// Rows as in src/berm/kernels/vts_law.py; blocks (kind, first, last) in the order of their turns.
#include <cmath>
#include <cstdint>
#include <algorithm>

namespace {
constexpr int ROW = 12, WALL = 1;

inline void answer(const float* r, const float u[3], const float* p, const float* q, float beta, float out[3]) {
    const float speed = r[0] * u[0] + r[1] * u[1] + r[2] * u[2];
    const float rate = speed + r[3], alpha = r[5];
    float push = 0.0f;
    for (int e = 0; e < 3; ++e) {
        out[e] = p[e] - alpha * (rate * r[e] + u[e] - speed * r[e]) + beta * q[e];
        push += out[e] * r[e];
    }
    if (!(push > 0.0f)) { out[0] = out[1] = out[2] = 0.0f; return; }
    float t[3], size2 = 0.0f;
    for (int e = 0; e < 3; ++e) { t[e] = out[e] - push * r[e]; size2 += t[e] * t[e]; }
    const float most = r[6] * push;
    const float scale = size2 > most * most ? most / std::sqrt(size2) : 1.0f;
    for (int e = 0; e < 3; ++e) out[e] = push * r[e] + scale * t[e];
}

inline void relative(int64_t kind, const float* r, const float* v, int i, int j, float u[3]) {
    for (int e = 0; e < 3; ++e) u[e] = v[4 * i + e] - (kind == WALL ? r[8 + e] : v[4 * j + e]);
}
}  // namespace

extern "C" void gauss_seidel(int iterations, int64_t blocks, const int64_t* kind, const int64_t* first,
                             const int64_t* last, const int32_t* ends, const float* row, float* imp, float* v) {
    const float none[3] = {0, 0, 0};
    for (int it = 0; it < iterations; ++it)
        for (int64_t b = 0; b < blocks; ++b)
            for (int64_t c = first[b]; c < last[b]; ++c) {
                const float* r = row + ROW * c;
                const int i = ends[2 * c], j = ends[2 * c + 1];
                float u[3], f[3], *p = imp + 4 * c;
                relative(kind[b], r, v, i, j, u);
                answer(r, u, p, none, 0.0f, f);
                for (int e = 0; e < 3; ++e) {
                    const float d = f[e] - p[e];
                    p[e] = f[e];
                    v[4 * i + e] += v[4 * i + 3] * d;
                    if (kind[b] != WALL) v[4 * j + e] -= v[4 * j + 3] * d;
                }
            }
}

extern "C" void improved_jacobi(int iterations, int64_t blocks, const int64_t* kind, const int64_t* first,
                                const int64_t* last, const int32_t* ends, const float* row, float* imp, float* change,
                                float* v, int64_t n, const int64_t* start, const int64_t* item) {
    for (int it = 0; it < iterations; ++it) {
        const float beta = std::min(std::pow(double(it) / iterations, 0.6), 1.0);
        for (int64_t b = 0; b < blocks; ++b)
            for (int64_t c = first[b]; c < last[b]; ++c) {
                const float* r = row + ROW * c;
                float u[3], f[3], *p = imp + 4 * c, *q = change + 4 * c;
                relative(kind[b], r, v, ends[2 * c], ends[2 * c + 1], u);
                answer(r, u, p, q, beta, f);
                for (int e = 0; e < 3; ++e) { q[e] = f[e] - p[e]; p[e] = f[e]; }
            }
        for (int64_t k = 0; k < n; ++k) {
            float s[3] = {0, 0, 0};
            for (int64_t a = start[k]; a < start[k + 1]; ++a) {
                const float* q = change + 4 * (item[a] >> 2);
                const float sign = (item[a] & 3) ? -1.0f : 1.0f;
                for (int e = 0; e < 3; ++e) s[e] += sign * q[e];
            }
            for (int e = 0; e < 3; ++e) v[4 * k + e] += v[4 * k + 3] * s[e];
        }
    }
}
