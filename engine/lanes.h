// Sixteen floats, or eight doubles, as one value: the only file that depends on the instruction set.
//
// The number of lanes does not depend on the width of the machine's registers, and each operation is exactly rounded
// (fma included). So code written with these types gives the same bits everywhere. The build compiles it once for each
// instruction set, in a namespace of its own (TARGET).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(ENGINE_AVX512) || defined(ENGINE_AVX2)
#include <immintrin.h>
#elif defined(ENGINE_NEON)
#include <arm_neon.h>
#endif

#if defined(_MSC_VER)
#define INLINE static __forceinline
#else
#define INLINE static inline __attribute__((always_inline))
#endif

namespace TARGET {

constexpr int WIDTH = 16;  // lanes of a Floats
constexpr int HALF = 8;    // lanes of a Doubles

#if defined(ENGINE_AVX512)

struct Floats {
    __m512 v;
};
struct Doubles {
    __m512d v;
};
INLINE Floats load(const float* x) { return {_mm512_loadu_ps(x)}; }
INLINE void store(float* x, Floats a) { _mm512_storeu_ps(x, a.v); }
INLINE Floats all(float x) { return {_mm512_set1_ps(x)}; }
INLINE Floats fma(Floats a, Floats b, Floats c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
INLINE Floats operator+(Floats a, Floats b) { return {_mm512_add_ps(a.v, b.v)}; }
INLINE Floats operator-(Floats a, Floats b) { return {_mm512_sub_ps(a.v, b.v)}; }
INLINE Floats operator*(Floats a, Floats b) { return {_mm512_mul_ps(a.v, b.v)}; }
INLINE Floats operator/(Floats a, Floats b) { return {_mm512_div_ps(a.v, b.v)}; }
INLINE Floats sqrt(Floats a) { return {_mm512_sqrt_ps(a.v)}; }
INLINE Floats min(Floats a, Floats b) { return {_mm512_min_ps(a.v, b.v)}; }
INLINE Floats max(Floats a, Floats b) { return {_mm512_max_ps(a.v, b.v)}; }
INLINE Floats abs(Floats a) { return {_mm512_abs_ps(a.v)}; }
INLINE Floats rounded(Floats a) { return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)}; }
// Where a < b, x; elsewhere y.
INLINE Floats if_less(Floats a, Floats b, Floats x, Floats y) { return {_mm512_mask_blend_ps(_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ), y.v, x.v)}; }
// p times 2 to the power of whole numbers, where p and the result are normal numbers.
INLINE Floats times_power_of_two(Floats p, Floats n) { return {_mm512_scalef_ps(p.v, n.v)}; }
INLINE bool any_less(Floats a, Floats b) { return _mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ) != 0; }
INLINE Doubles load(const double* x) { return {_mm512_loadu_pd(x)}; }
INLINE void store(double* x, Doubles a) { _mm512_storeu_pd(x, a.v); }
INLINE Doubles all(double x) { return {_mm512_set1_pd(x)}; }
INLINE Doubles fma(Doubles a, Doubles b, Doubles c) { return {_mm512_fmadd_pd(a.v, b.v, c.v)}; }
INLINE Doubles operator+(Doubles a, Doubles b) { return {_mm512_add_pd(a.v, b.v)}; }
INLINE Doubles operator-(Doubles a, Doubles b) { return {_mm512_sub_pd(a.v, b.v)}; }
INLINE Doubles operator*(Doubles a, Doubles b) { return {_mm512_mul_pd(a.v, b.v)}; }
INLINE Doubles operator/(Doubles a, Doubles b) { return {_mm512_div_pd(a.v, b.v)}; }
INLINE Doubles min(Doubles a, Doubles b) { return {_mm512_min_pd(a.v, b.v)}; }
INLINE Doubles max(Doubles a, Doubles b) { return {_mm512_max_pd(a.v, b.v)}; }
INLINE Doubles abs(Doubles a) { return {_mm512_abs_pd(a.v)}; }
INLINE Doubles if_less(Doubles a, Doubles b, Doubles x, Doubles y) {
    return {_mm512_mask_blend_pd(_mm512_cmp_pd_mask(a.v, b.v, _CMP_LT_OQ), y.v, x.v)};
}
INLINE bool any_less(Doubles a, Doubles b) { return _mm512_cmp_pd_mask(a.v, b.v, _CMP_LT_OQ) != 0; }
INLINE Doubles widened(const float* x) { return {_mm512_cvtps_pd(_mm256_loadu_ps(x))}; }
INLINE void store_rounded(float* x, Doubles a) { _mm256_storeu_ps(x, _mm512_cvtpd_ps(a.v)); }

#elif defined(ENGINE_AVX2)

struct Floats {
    __m256 a, b;
};
struct Doubles {
    __m256d a, b;
};
INLINE Floats load(const float* x) { return {_mm256_loadu_ps(x), _mm256_loadu_ps(x + 8)}; }
INLINE void store(float* x, Floats v) {
    _mm256_storeu_ps(x, v.a);
    _mm256_storeu_ps(x + 8, v.b);
}
INLINE Floats all(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
INLINE Floats fma(Floats x, Floats y, Floats z) { return {_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)}; }
INLINE Floats operator+(Floats x, Floats y) { return {_mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b)}; }
INLINE Floats operator-(Floats x, Floats y) { return {_mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b)}; }
INLINE Floats operator*(Floats x, Floats y) { return {_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)}; }
INLINE Floats operator/(Floats x, Floats y) { return {_mm256_div_ps(x.a, y.a), _mm256_div_ps(x.b, y.b)}; }
INLINE Floats sqrt(Floats x) { return {_mm256_sqrt_ps(x.a), _mm256_sqrt_ps(x.b)}; }
INLINE Floats min(Floats x, Floats y) { return {_mm256_min_ps(x.a, y.a), _mm256_min_ps(x.b, y.b)}; }
INLINE Floats max(Floats x, Floats y) { return {_mm256_max_ps(x.a, y.a), _mm256_max_ps(x.b, y.b)}; }
INLINE Floats abs(Floats x) {
    const __m256 sign = _mm256_set1_ps(-0.0f);
    return {_mm256_andnot_ps(sign, x.a), _mm256_andnot_ps(sign, x.b)};
}
INLINE Floats rounded(Floats x) {
    return {_mm256_round_ps(x.a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC), _mm256_round_ps(x.b, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}
INLINE Floats if_less(Floats a, Floats b, Floats x, Floats y) {
    return {_mm256_blendv_ps(y.a, x.a, _mm256_cmp_ps(a.a, b.a, _CMP_LT_OQ)), _mm256_blendv_ps(y.b, x.b, _mm256_cmp_ps(a.b, b.b, _CMP_LT_OQ))};
}
INLINE __m256 times_power_of_two(__m256 p, __m256 n) {
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(p), _mm256_slli_epi32(_mm256_cvtps_epi32(n), 23)));
}
INLINE Floats times_power_of_two(Floats p, Floats n) { return {times_power_of_two(p.a, n.a), times_power_of_two(p.b, n.b)}; }
INLINE bool any_less(Floats a, Floats b) {
    return _mm256_movemask_ps(_mm256_or_ps(_mm256_cmp_ps(a.a, b.a, _CMP_LT_OQ), _mm256_cmp_ps(a.b, b.b, _CMP_LT_OQ)));
}
INLINE Doubles load(const double* x) { return {_mm256_loadu_pd(x), _mm256_loadu_pd(x + 4)}; }
INLINE void store(double* x, Doubles v) {
    _mm256_storeu_pd(x, v.a);
    _mm256_storeu_pd(x + 4, v.b);
}
INLINE Doubles all(double x) { return {_mm256_set1_pd(x), _mm256_set1_pd(x)}; }
INLINE Doubles fma(Doubles x, Doubles y, Doubles z) { return {_mm256_fmadd_pd(x.a, y.a, z.a), _mm256_fmadd_pd(x.b, y.b, z.b)}; }
INLINE Doubles operator+(Doubles x, Doubles y) { return {_mm256_add_pd(x.a, y.a), _mm256_add_pd(x.b, y.b)}; }
INLINE Doubles operator-(Doubles x, Doubles y) { return {_mm256_sub_pd(x.a, y.a), _mm256_sub_pd(x.b, y.b)}; }
INLINE Doubles operator*(Doubles x, Doubles y) { return {_mm256_mul_pd(x.a, y.a), _mm256_mul_pd(x.b, y.b)}; }
INLINE Doubles operator/(Doubles x, Doubles y) { return {_mm256_div_pd(x.a, y.a), _mm256_div_pd(x.b, y.b)}; }
INLINE Doubles min(Doubles x, Doubles y) { return {_mm256_min_pd(x.a, y.a), _mm256_min_pd(x.b, y.b)}; }
INLINE Doubles max(Doubles x, Doubles y) { return {_mm256_max_pd(x.a, y.a), _mm256_max_pd(x.b, y.b)}; }
INLINE Doubles abs(Doubles x) {
    const __m256d sign = _mm256_set1_pd(-0.0);
    return {_mm256_andnot_pd(sign, x.a), _mm256_andnot_pd(sign, x.b)};
}
INLINE Doubles if_less(Doubles a, Doubles b, Doubles x, Doubles y) {
    return {_mm256_blendv_pd(y.a, x.a, _mm256_cmp_pd(a.a, b.a, _CMP_LT_OQ)), _mm256_blendv_pd(y.b, x.b, _mm256_cmp_pd(a.b, b.b, _CMP_LT_OQ))};
}
INLINE bool any_less(Doubles a, Doubles b) {
    return _mm256_movemask_pd(_mm256_or_pd(_mm256_cmp_pd(a.a, b.a, _CMP_LT_OQ), _mm256_cmp_pd(a.b, b.b, _CMP_LT_OQ)));
}
INLINE Doubles widened(const float* x) { return {_mm256_cvtps_pd(_mm_loadu_ps(x)), _mm256_cvtps_pd(_mm_loadu_ps(x + 4))}; }
INLINE void store_rounded(float* x, Doubles a) {
    _mm_storeu_ps(x, _mm256_cvtpd_ps(a.a));
    _mm_storeu_ps(x + 4, _mm256_cvtpd_ps(a.b));
}

#else  // four lanes of NEON four times, or one lane sixteen times

#if defined(ENGINE_NEON)
using Part = float32x4_t;
using DoublePart = float64x2_t;
INLINE Part part_load(const float* x) { return vld1q_f32(x); }
INLINE void part_store(float* x, Part a) { vst1q_f32(x, a); }
INLINE Part part_all(float x) { return vdupq_n_f32(x); }
INLINE Part part_fma(Part a, Part b, Part c) { return vfmaq_f32(c, a, b); }
INLINE Part part_add(Part a, Part b) { return vaddq_f32(a, b); }
INLINE Part part_sub(Part a, Part b) { return vsubq_f32(a, b); }
INLINE Part part_mul(Part a, Part b) { return vmulq_f32(a, b); }
INLINE Part part_div(Part a, Part b) { return vdivq_f32(a, b); }
INLINE Part part_sqrt(Part a) { return vsqrtq_f32(a); }
INLINE Part part_if_less(Part a, Part b, Part x, Part y) { return vbslq_f32(vcltq_f32(a, b), x, y); }
INLINE Part part_abs(Part a) { return vabsq_f32(a); }
INLINE Part part_rounded(Part a) { return vrndnq_f32(a); }
INLINE Part part_times_power(Part p, Part n) { return vreinterpretq_f32_s32(vaddq_s32(vreinterpretq_s32_f32(p), vshlq_n_s32(vcvtq_s32_f32(n), 23))); }
INLINE bool part_any_less(Part a, Part b) { return vmaxvq_u32(vcltq_f32(a, b)) != 0; }
INLINE DoublePart part_load(const double* x) { return vld1q_f64(x); }
INLINE void part_store(double* x, DoublePart a) { vst1q_f64(x, a); }
INLINE DoublePart part_all(double x) { return vdupq_n_f64(x); }
INLINE DoublePart part_fma(DoublePart a, DoublePart b, DoublePart c) { return vfmaq_f64(c, a, b); }
INLINE DoublePart part_add(DoublePart a, DoublePart b) { return vaddq_f64(a, b); }
INLINE DoublePart part_sub(DoublePart a, DoublePart b) { return vsubq_f64(a, b); }
INLINE DoublePart part_mul(DoublePart a, DoublePart b) { return vmulq_f64(a, b); }
INLINE DoublePart part_div(DoublePart a, DoublePart b) { return vdivq_f64(a, b); }
INLINE DoublePart part_if_less(DoublePart a, DoublePart b, DoublePart x, DoublePart y) { return vbslq_f64(vcltq_f64(a, b), x, y); }
INLINE DoublePart part_abs(DoublePart a) { return vabsq_f64(a); }
INLINE bool part_any_less(DoublePart a, DoublePart b) {
    const uint64x2_t less = vcltq_f64(a, b);
    return (vgetq_lane_u64(less, 0) | vgetq_lane_u64(less, 1)) != 0;
}
INLINE DoublePart part_widened(const float* x) { return vcvt_f64_f32(vld1_f32(x)); }
INLINE void part_store_rounded(float* x, DoublePart a) { vst1_f32(x, vcvt_f32_f64(a)); }
#else
using Part = float;
using DoublePart = double;
INLINE Part part_load(const float* x) { return *x; }
INLINE void part_store(float* x, Part a) { *x = a; }
INLINE Part part_all(float x) { return x; }
INLINE Part part_fma(Part a, Part b, Part c) { return std::fma(a, b, c); }
INLINE Part part_add(Part a, Part b) { return a + b; }
INLINE Part part_sub(Part a, Part b) { return a - b; }
INLINE Part part_mul(Part a, Part b) { return a * b; }
INLINE Part part_div(Part a, Part b) { return a / b; }
INLINE Part part_sqrt(Part a) { return std::sqrt(a); }
INLINE Part part_if_less(Part a, Part b, Part x, Part y) { return a < b ? x : y; }
INLINE Part part_abs(Part a) { return std::fabs(a); }
INLINE Part part_rounded(Part a) { return std::nearbyint(a); }
INLINE Part part_times_power(Part p, Part n) {
    const float shifted = n + 12582912.0f;  // 1.5 * 2^23: the lowest bits of the sum are those of n, also of a negative one
    std::uint32_t bits, exponent;
    std::memcpy(&bits, &p, sizeof bits);
    std::memcpy(&exponent, &shifted, sizeof exponent);
    bits += exponent << 23;
    std::memcpy(&p, &bits, sizeof bits);
    return p;
}
INLINE bool part_any_less(Part a, Part b) { return a < b; }
INLINE DoublePart part_load(const double* x) { return *x; }
INLINE void part_store(double* x, DoublePart a) { *x = a; }
INLINE DoublePart part_all(double x) { return x; }
INLINE DoublePart part_fma(DoublePart a, DoublePart b, DoublePart c) { return std::fma(a, b, c); }
INLINE DoublePart part_add(DoublePart a, DoublePart b) { return a + b; }
INLINE DoublePart part_sub(DoublePart a, DoublePart b) { return a - b; }
INLINE DoublePart part_mul(DoublePart a, DoublePart b) { return a * b; }
INLINE DoublePart part_div(DoublePart a, DoublePart b) { return a / b; }
INLINE DoublePart part_if_less(DoublePart a, DoublePart b, DoublePart x, DoublePart y) { return a < b ? x : y; }
INLINE DoublePart part_abs(DoublePart a) { return std::fabs(a); }
INLINE bool part_any_less(DoublePart a, DoublePart b) { return a < b; }
INLINE DoublePart part_widened(const float* x) { return double(*x); }
INLINE void part_store_rounded(float* x, DoublePart a) { *x = float(a); }
#endif

constexpr int EACH = sizeof(Part) / sizeof(float), PARTS = WIDTH / EACH;
constexpr int DOUBLE_EACH = sizeof(DoublePart) / sizeof(double), DOUBLE_PARTS = HALF / DOUBLE_EACH;
struct Floats {
    Part p[PARTS];
};
struct Doubles {
    DoublePart p[DOUBLE_PARTS];
};
#define OVER_PARTS(expression)                           \
    Floats r;                                            \
    for (int i = 0; i < PARTS; ++i) r.p[i] = expression; \
    return r
INLINE Floats load(const float* x) { OVER_PARTS(part_load(x + i * EACH)); }
INLINE void store(float* x, Floats a) {
    for (int i = 0; i < PARTS; ++i) part_store(x + i * EACH, a.p[i]);
}
INLINE Floats all(float x) { OVER_PARTS(part_all(x)); }
INLINE Floats fma(Floats a, Floats b, Floats c) { OVER_PARTS(part_fma(a.p[i], b.p[i], c.p[i])); }
INLINE Floats operator+(Floats a, Floats b) { OVER_PARTS(part_add(a.p[i], b.p[i])); }
INLINE Floats operator-(Floats a, Floats b) { OVER_PARTS(part_sub(a.p[i], b.p[i])); }
INLINE Floats operator*(Floats a, Floats b) { OVER_PARTS(part_mul(a.p[i], b.p[i])); }
INLINE Floats operator/(Floats a, Floats b) { OVER_PARTS(part_div(a.p[i], b.p[i])); }
INLINE Floats sqrt(Floats a) { OVER_PARTS(part_sqrt(a.p[i])); }
INLINE Floats abs(Floats a) { OVER_PARTS(part_abs(a.p[i])); }
INLINE Floats rounded(Floats a) { OVER_PARTS(part_rounded(a.p[i])); }
INLINE Floats if_less(Floats a, Floats b, Floats x, Floats y) { OVER_PARTS(part_if_less(a.p[i], b.p[i], x.p[i], y.p[i])); }
INLINE Floats min(Floats a, Floats b) { return if_less(a, b, a, b); }  // as on x86: the second where one is NaN
INLINE Floats max(Floats a, Floats b) { return if_less(b, a, a, b); }
INLINE Floats times_power_of_two(Floats p, Floats n) { OVER_PARTS(part_times_power(p.p[i], n.p[i])); }
INLINE bool any_less(Floats a, Floats b) {
    bool found = false;
    for (int i = 0; i < PARTS; ++i) found |= part_any_less(a.p[i], b.p[i]);
    return found;
}
#undef OVER_PARTS
#define OVER_PARTS(expression)                                  \
    Doubles r;                                                  \
    for (int i = 0; i < DOUBLE_PARTS; ++i) r.p[i] = expression; \
    return r
INLINE Doubles load(const double* x) { OVER_PARTS(part_load(x + i * DOUBLE_EACH)); }
INLINE void store(double* x, Doubles a) {
    for (int i = 0; i < DOUBLE_PARTS; ++i) part_store(x + i * DOUBLE_EACH, a.p[i]);
}
INLINE Doubles all(double x) { OVER_PARTS(part_all(x)); }
INLINE Doubles fma(Doubles a, Doubles b, Doubles c) { OVER_PARTS(part_fma(a.p[i], b.p[i], c.p[i])); }
INLINE Doubles operator+(Doubles a, Doubles b) { OVER_PARTS(part_add(a.p[i], b.p[i])); }
INLINE Doubles operator-(Doubles a, Doubles b) { OVER_PARTS(part_sub(a.p[i], b.p[i])); }
INLINE Doubles operator*(Doubles a, Doubles b) { OVER_PARTS(part_mul(a.p[i], b.p[i])); }
INLINE Doubles operator/(Doubles a, Doubles b) { OVER_PARTS(part_div(a.p[i], b.p[i])); }
INLINE Doubles abs(Doubles a) { OVER_PARTS(part_abs(a.p[i])); }
INLINE Doubles if_less(Doubles a, Doubles b, Doubles x, Doubles y) { OVER_PARTS(part_if_less(a.p[i], b.p[i], x.p[i], y.p[i])); }
INLINE Doubles min(Doubles a, Doubles b) { return if_less(a, b, a, b); }
INLINE Doubles max(Doubles a, Doubles b) { return if_less(b, a, a, b); }
INLINE Doubles widened(const float* x) { OVER_PARTS(part_widened(x + i * DOUBLE_EACH)); }
INLINE void store_rounded(float* x, Doubles a) {
    for (int i = 0; i < DOUBLE_PARTS; ++i) part_store_rounded(x + i * DOUBLE_EACH, a.p[i]);
}
INLINE bool any_less(Doubles a, Doubles b) {
    bool found = false;
    for (int i = 0; i < DOUBLE_PARTS; ++i) found |= part_any_less(a.p[i], b.p[i]);
    return found;
}
#undef OVER_PARTS

#endif

// The sum of all lanes, always in this order: halves are added until one is left. And the highest lane, in the same way.
#if defined(ENGINE_AVX512) || defined(ENGINE_AVX2)
INLINE float sum(Floats a) {
#if defined(ENGINE_AVX512)
    const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1));
#else
    const __m256 eight = _mm256_add_ps(a.a, a.b);
#endif
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
INLINE float highest(Floats a) {
#if defined(ENGINE_AVX512)
    const __m256 eight = _mm256_max_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1));
#else
    const __m256 eight = _mm256_max_ps(a.a, a.b);
#endif
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}
#else
INLINE float sum(Floats a) {
    float lane[WIDTH];
    store(lane, a);
    for (int width = WIDTH / 2; width; width /= 2)
        for (int i = 0; i < width; ++i) lane[i] += lane[i + width];
    return lane[0];
}
INLINE float highest(Floats a) {
    float lane[WIDTH];
    store(lane, a);
    for (int width = WIDTH / 2; width; width /= 2)
        for (int i = 0; i < width; ++i) lane[i] = lane[i + width] > lane[i] ? lane[i + width] : lane[i];
    return lane[0];
}
#endif

// Transposes sixteen rows of sixteen floats, the first of which `row(0)` points to, into columns of `to`.
template <class RowAt>
INLINE void transpose_tile(RowAt row, float* to, std::ptrdiff_t to_row) {
#if defined(ENGINE_AVX512)
    __m512 a[WIDTH], b[WIDTH];
    for (int i = 0; i < WIDTH; ++i) a[i] = _mm512_loadu_ps(row(i));
    for (int i = 0; i < WIDTH; i += 2) b[i] = _mm512_unpacklo_ps(a[i], a[i + 1]), b[i + 1] = _mm512_unpackhi_ps(a[i], a[i + 1]);
    for (int i = 0; i < WIDTH; i += 4)
        for (int j = 0; j < 2; ++j) {  // now a[i + k] holds columns k, k + 4, k + 8 and k + 12 of four rows
            const __m512d low = _mm512_castps_pd(b[i + j]), high = _mm512_castps_pd(b[i + j + 2]);
            a[i + 2 * j] = _mm512_castpd_ps(_mm512_unpacklo_pd(low, high));
            a[i + 2 * j + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(low, high));
        }
    for (int k = 0; k < 4; ++k) {
        const __m512 first = _mm512_shuffle_f32x4(a[k], a[k + 4], 0x88), second = _mm512_shuffle_f32x4(a[k + 8], a[k + 12], 0x88);
        const __m512 third = _mm512_shuffle_f32x4(a[k], a[k + 4], 0xdd), fourth = _mm512_shuffle_f32x4(a[k + 8], a[k + 12], 0xdd);
        _mm512_storeu_ps(to + k * to_row, _mm512_shuffle_f32x4(first, second, 0x88));
        _mm512_storeu_ps(to + (k + 4) * to_row, _mm512_shuffle_f32x4(third, fourth, 0x88));
        _mm512_storeu_ps(to + (k + 8) * to_row, _mm512_shuffle_f32x4(first, second, 0xdd));
        _mm512_storeu_ps(to + (k + 12) * to_row, _mm512_shuffle_f32x4(third, fourth, 0xdd));
    }
#else
    for (int i = 0; i < WIDTH; ++i)
        for (int k = 0; k < WIDTH; ++k) to[k * to_row + i] = row(i)[k];
#endif
}

// Transposes any number of rows of any length, `row(i)` pointing to each, into columns of `to`.
template <class RowAt>
INLINE void transpose(std::ptrdiff_t rows, std::ptrdiff_t columns, RowAt row, float* to, std::ptrdiff_t to_row) {
    const std::ptrdiff_t whole = columns / WIDTH * WIDTH;
    for (std::ptrdiff_t i = 0; i < rows; i += WIDTH) {
        const std::ptrdiff_t end = i + WIDTH <= rows ? i + WIDTH : rows, tiled = end - i == WIDTH ? whole : 0;
        for (std::ptrdiff_t k = 0; k < tiled; k += WIDTH) transpose_tile([&](int each) { return row(i + each) + k; }, to + k * to_row + i, to_row);
        for (std::ptrdiff_t each = i; each < end; ++each)
            for (std::ptrdiff_t k = tiled; k < columns; ++k) to[k * to_row + each] = row(each)[k];
    }
}

}  // namespace TARGET
