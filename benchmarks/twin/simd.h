// Eight float lanes in AVX2 registers: loads and stores between rows (AoS) and lanes (SoA).
// Integer unpacks are used for shuffles because newer cores run them on two ports.
#pragma once
#include <immintrin.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#define INLINE static inline __attribute__((always_inline))

using v8 = __m256;
using i8 = __m256i;

INLINE v8 set1(float a) { return _mm256_set1_ps(a); }
INLINE v8 fma_(v8 a, v8 b, v8 c) { return _mm256_fmadd_ps(a, b, c); }    // a b + c
INLINE v8 fnma(v8 a, v8 b, v8 c) { return _mm256_fnmadd_ps(a, b, c); }   // c - a b
INLINE v8 lo32(v8 a, v8 b) {
    return _mm256_castsi256_ps(_mm256_unpacklo_epi32(_mm256_castps_si256(a), _mm256_castps_si256(b)));
}
INLINE v8 hi32(v8 a, v8 b) {
    return _mm256_castsi256_ps(_mm256_unpackhi_epi32(_mm256_castps_si256(a), _mm256_castps_si256(b)));
}
INLINE v8 lo64(v8 a, v8 b) {
    return _mm256_castsi256_ps(_mm256_unpacklo_epi64(_mm256_castps_si256(a), _mm256_castps_si256(b)));
}
INLINE v8 hi64(v8 a, v8 b) {
    return _mm256_castsi256_ps(_mm256_unpackhi_epi64(_mm256_castps_si256(a), _mm256_castps_si256(b)));
}

struct Lanes4 { v8 x, y, z, w; };

INLINE v8 pair128(const float* a, const float* b) {
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_load_ps(a)), _mm_load_ps(b), 1);
}

// Row numbers are stored times 4, so that rows of 16 and 32 bytes are one address computation away.
using row4 = uint32_t;
template <int FLOATS>
INLINE float* at(float* base, row4 r) { return (float*)((char*)base + (uint64_t)r * FLOATS); }
template <int FLOATS>
INLINE const float* at(const float* base, row4 r) { return (const float*)((const char*)base + (uint64_t)r * FLOATS); }

// Begin to load 8 rows of 8 floats each that are needed soon.
INLINE void fetch8(const float* base, const row4* row) {
    for (int l = 0; l < 8; l++) _mm_prefetch((const char*)at<8>(base, row[l]), _MM_HINT_T0);
}

// Four floats of each of 8 rows of a table with FLOATS floats a row, as four vectors.
template <int FLOATS>
INLINE Lanes4 gather4(const float* base, const row4* row) {
    v8 a = pair128(at<FLOATS>(base, row[0]), at<FLOATS>(base, row[4]));
    v8 b = pair128(at<FLOATS>(base, row[1]), at<FLOATS>(base, row[5]));
    v8 c = pair128(at<FLOATS>(base, row[2]), at<FLOATS>(base, row[6]));
    v8 d = pair128(at<FLOATS>(base, row[3]), at<FLOATS>(base, row[7]));
    v8 t0 = lo32(a, b), t1 = hi32(a, b), t2 = lo32(c, d), t3 = hi32(c, d);
    return {lo64(t0, t2), hi64(t0, t2), lo64(t1, t3), hi64(t1, t3)};
}

// The reverse: r[l] holds rows l and l + 4.
INLINE void rows4(v8 x, v8 y, v8 z, v8 w, v8 r[4]) {
    v8 t0 = lo32(x, y), t1 = hi32(x, y), t2 = lo32(z, w), t3 = hi32(z, w);
    r[0] = lo64(t0, t2); r[1] = hi64(t0, t2); r[2] = lo64(t1, t3); r[3] = hi64(t1, t3);
}

// table[row[l]] += lane l. One row after the other: two lanes may name the same row.
INLINE void scatter_add4(float* table, const row4* row, v8 x, v8 y, v8 z, v8 w) {
    v8 r[4];
    rows4(x, y, z, w, r);
    for (int l = 0; l < 8; l++) {
        float* p = at<4>(table, row[l]);
        __m128 add = l < 4 ? _mm256_castps256_ps128(r[l]) : _mm256_extractf128_ps(r[l - 4], 1);
        _mm_store_ps(p, _mm_add_ps(_mm_load_ps(p), add));
    }
}

// Lane l to the second and third four floats of row[l] (times 8) of 16 floats. From the last lane to the first: where
// idle lanes repeat the row of the first, that one counts.
INLINE void scatter8(float* table, const row4* row, v8 x, v8 y, v8 z, v8 w, v8 a, v8 b, v8 c) {
    v8 p[4], q[4];
    rows4(x, y, z, w, p);
    rows4(a, b, c, _mm256_setzero_ps(), q);
    for (int l = 7; l >= 0; l--) {
        const v8 both = l < 4 ? _mm256_insertf128_ps(p[l], _mm256_castps256_ps128(q[l]), 1)
                              : _mm256_permute2f128_ps(p[l - 4], q[l - 4], 0x31);
        _mm256_storeu_ps(at<8>(table + 4, row[l]), both);
    }
}

INLINE float sum8(v8 a) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
}

INLINE v8 lane_mask(i8 count, int k) {
    return _mm256_castsi256_ps(_mm256_cmpgt_epi32(count, _mm256_set1_epi32(k)));
}

// Aligned array that only grows; `reserve` keeps what is there when asked to.
template <class T>
struct Buf {
    T* p = nullptr;
    size_t cap = 0;
    Buf() = default;
    Buf(const Buf&) = delete;
    Buf& operator=(const Buf&) = delete;
    Buf(Buf&& o) noexcept : p(o.p), cap(o.cap) { o.p = nullptr; o.cap = 0; }
    ~Buf() { std::free(p); }
    void reserve(size_t m, bool keep = false) {
        if (m <= cap) return;
        size_t want = m + m / 4 + 64, bytes = (want * sizeof(T) + 4095) / 4096 * 4096;
        size_t align = bytes > (4u << 20) ? (2u << 20) : 4096;
        T* q = static_cast<T*>(std::aligned_alloc(align, (bytes + align - 1) / align * align));
        if (!q) throw std::bad_alloc();
        if (align > 4096) madvise(q, bytes, MADV_HUGEPAGE);
        if (keep && p) std::memcpy(q, p, cap * sizeof(T));
        std::free(p);
        p = q;
        cap = want;
    }
    void zero(size_t m) { std::memset(p, 0, m * sizeof(T)); }
    T& operator[](size_t i) { return p[i]; }
    const T& operator[](size_t i) const { return p[i]; }
};
