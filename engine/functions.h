// Exponentials, the GELU and logarithms from exactly rounded operations, so that their bits do not depend on a library.
#pragma once

#include "lanes.h"

namespace TARGET {

// Horner's rule for a few numbers side by side, so that none waits for the others' multipliers; the highest power is first.
template <int COUNT, std::size_t TERMS>
INLINE void polynomial(const float (&terms)[TERMS], const Floats (&x)[COUNT], Floats (&found)[COUNT]) {
    for (Floats& each : found) each = all(terms[0]);
    for (std::size_t term = 1; term < TERMS; ++term)
        for (int i = 0; i < COUNT; ++i) found[i] = fma(found[i], x[i], all(terms[term]));
}

// e to the power of x, within 2 units in the last place; 0 below -87, where float32 nearly ends. x must not exceed 88.
INLINE Floats exponential(Floats x) {
    const Floats n = rounded(x * all(1.44269504088896341f));  // x = n log 2 + r, |r| <= log(2) / 2
    Floats r = fma(n, all(-0.693359375f), x);                 // log 2 in two parts, the first of few bits
    r = fma(n, all(2.12194440e-4f), r);
    Floats p = all(1.0f / 5040);  // the series of exp, up to r⁷
    p = fma(p, r, all(1.0f / 720));
    p = fma(p, r, all(1.0f / 120));
    p = fma(p, r, all(1.0f / 24));
    p = fma(p, r, all(1.0f / 6));
    p = fma(p, r, all(0.5f));
    p = fma(p, r, all(1.0f));
    p = fma(p, r, all(1.0f));
    const Floats clear = times_power_of_two(all(1.0f), max(min(n, all(127.0f)), all(-126.0f)));
    return if_less(x, all(-87.0f), all(0.0f), p * clear);
}

// The standard normal distribution function, for scores: ½ + h P(h²), a fit of degree 13 off by less than 1e-7 for |h| < 5.3,
// and beyond that 0 or 1 to the last bit. The rest of the error is rounding: 2e-7.
template <int COUNT>
INLINE void normal_below(const Floats (&h)[COUNT], Floats (&found)[COUNT]) {
    constexpr float TERMS[] = {-0.00063216348644346f, 0.0016697599785402417f, -0.0014935078797861934f, 0.0019211011240258813f, -0.005393624305725098f,
                               0.009604444727301598f, -0.013434366323053837f, 0.018672063946723938f,   -0.025232918560504913f, 0.03211883828043938f,
                               -0.03959619998931885f, 0.04926189035177231f,   -0.06651827692985535f,   0.1333925724029541f};
    Floats bounded[COUNT], s[COUNT];
    for (int i = 0; i < COUNT; ++i) bounded[i] = max(all(-5.3f), min(all(5.3f), h[i]));  // in this order of arguments a NaN stays one
    for (int i = 0; i < COUNT; ++i) s[i] = fma(bounded[i] * bounded[i], all(0.07119970768690109f), all(-1.0f));  // h² brought to [-1, 1]
    polynomial(TERMS, s, found);
    for (int i = 0; i < COUNT; ++i) found[i] = bounded[i] * found[i] + all(0.5f);
}

// h Φ(h) for a few vectors, in place.
template <int COUNT>
INLINE void gelu(Floats (&h)[COUNT]) {
    Floats below[COUNT];
    normal_below(h, below);
    for (int i = 0; i < COUNT; ++i) h[i] = h[i] * below[i];
}

struct Normal {
    Floats below, density;
};  // the standard normal distribution function and its density, for training

// The tail is ½ erfc(|h|/√2) = e^(-h²/2) t P(t) with t = 1 / (1 + 0.4 |h|/√2); P is a fit of degree 9 for |h| < 31, off
// by less than 2e-8 of the tail. The rest of the error is rounding: 1.8e-7.
INLINE Normal normal(Floats h) {
    const Floats density = exponential(h * h * all(-0.5f));
    const Floats t = all(1.0f) / fma(abs(h), all(0.28284271247461901f), all(1.0f));
    Floats p = all(-0.00800362813642433f);
    p = fma(p, t, all(0.0634314247805247f));
    p = fma(p, t, all(-0.1691752420779064f));
    p = fma(p, t, all(0.17174330183534164f));
    p = fma(p, t, all(-0.06193302252835353f));
    p = fma(p, t, all(0.09561050284578494f));
    p = fma(p, t, all(0.0778328388362789f));
    p = fma(p, t, all(0.10489628755503984f));
    p = fma(p, t, all(0.11275715631415638f));
    p = fma(p, t, all(0.1128403971906349f));
    const Floats tail = p * t * density;
    return {if_less(h, all(0.0f), tail, all(1.0f) - tail), density * all(0.398942280401432678f)};
}

struct Gelu {
    Floats value, slope, curve;
};  // φ(h) = h Φ(h), φ' and φ''

INLINE Gelu gelu_and_slopes(Floats h) {
    const Normal n = normal(h);
    return {h * n.below, fma(h, n.density, n.below), fma(h * h, all(-1.0f), all(2.0f)) * n.density};
}

// 1 / (1 + e^-x), without overflow at either end.
INLINE Floats sigmoid(Floats x) {
    const Floats e = exponential(all(0.0f) - abs(x)), s = all(1.0f) / (all(1.0f) + e);
    return if_less(x, all(0.0f), e * s, s);
}

// log(1 + x) for x >= 0, within a few units in the last place: the mantissa's logarithm is 2 artanh((m - 1) / (m + 1)).
INLINE double log_1_plus(double x) {
    if (std::isinf(x)) return x;
    const double one_more = 1.0 + x, lost = one_more > 2.0 ? 1.0 - (one_more - x) : x - (one_more - 1.0);
    int exponent;
    double m = std::frexp(one_more, &exponent);  // in [1/2, 1)
    if (m < 0.70710678118654752) {
        m *= 2;
        --exponent;
    }
    const double s = (m - 1) / (m + 1), square = s * s;
    double series = 1.0 / 21;
    for (int odd = 19; odd >= 1; odd -= 2) series = series * square + 1.0 / odd;
    return exponent * 0.693147180559945309 + 2 * s * series + lost / one_more;
}

// The cube root of a number of at least 1, within a few units in the last place, by three of Halley's steps.
INLINE double cube_root(double x) {
    int exponent;
    const double fraction = std::frexp(x, &exponent);  // x = fraction 2^exponent
    const double m = std::ldexp(fraction, exponent % 3);  // in [1/2, 4)
    double root = 0.6 + 0.28 * m;  // off by an eighth at most
    for (int step = 0; step < 3; ++step) {
        const double cube = root * root * root;
        root *= (cube + 2 * m) / (2 * cube + m);
    }
    return std::ldexp(root, exponent / 3);
}

// The logarithms of eight normal numbers.
INLINE Doubles logarithm(Doubles x) {
    const Doubles one = all(1.0), two = all(2.0);
    double m[HALF], exponent[HALF];
    store(m, x);
    for (int i = 0; i < HALF; ++i) {  // x = m 2^exponent: its bits show both
        std::uint64_t bits;
        std::memcpy(&bits, &m[i], sizeof bits);
        const bool low = (bits & 0xfffffffffffffu) < 0x6a09e667f3bcdu;  // m < √½, if m were in [½, 1)
        exponent[i] = double(int(bits >> 52) - (low ? 1023 : 1022));
        bits = (bits & 0xfffffffffffffu) | (low ? 0x3ff0000000000000u : 0x3fe0000000000000u);
        std::memcpy(&m[i], &bits, sizeof bits);
    }
    const Doubles s = (load(m) - one) / (load(m) + one), square = s * s;
    Doubles series = all(1.0 / 21);
    for (int odd = 19; odd >= 1; odd -= 2) series = series * square + all(1.0 / odd);
    return load(exponent) * all(0.693147180559945309) + two * s * series;
}

// The same as above for eight finite numbers, with the same bits.
INLINE Doubles log_1_plus(Doubles x) {
    const Doubles one = all(1.0), one_more = one + x;
    const Doubles lost = if_less(all(2.0), one_more, one - (one_more - x), x - (one_more - one));
    return logarithm(one_more) + lost / one_more;
}

INLINE double log_1_plus_exp(double x) {  // softplus; used only for losses that are reported
    const double e = std::exp(-std::fabs(x));
    return (x > 0 ? x : 0.0) + log_1_plus(e);
}

}  // namespace TARGET
