// Unit tests of what happens to rows beside the networks: scaling, and the ends of columns.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "columns.h"
#include "scaling.h"
#include "testing.h"

namespace {

// One number as network/scaling.py tells it.
Real scaled_of(const Scaling& by, Size p, Size k, Real x) {
    Real u = (x - by.center[k]) * by.weight[k];
    if (by.shrink) {
        const Real size = std::fabs(u);
        if (size > by.knee) u = std::copysign(by.knee + std::log1p(size - by.knee), u);
        u *= by.shrink[k];
    }
    if (by.seen) {
        if (u > by.seen[p + k]) u += by.beyond[p + k] * (u - by.seen[p + k]);
        if (u < by.seen[k]) u -= by.beyond[k] * (by.seen[k] - u);
    }
    return std::min(std::max(u, Real(-by.limit)), Real(by.limit));
}

void test_scaling() {
    using namespace TARGET;
    const Size p = 11, n = 30;  // a whole vector of columns, and a part of one
    const auto rough = numbers(n * p, 40.0f), middle = numbers(p);
    std::vector<double> rows(rough.begin(), rough.end()), center(middle.begin(), middle.end()), weight(p), shrink(p), ends(2 * p), beyond(2 * p);
    for (Size k = 0; k < p; ++k)
        weight[k] = 0.1 * double(k + 1), shrink[k] = 1 / double(k + 1), ends[k] = -1.5, ends[p + k] = 2.0, beyond[k] = 0.5, beyond[p + k] = double(k);
    weight[4] = 0;  // a constant column
    rows[3] = 1e300, rows[2 * p + 9] = -1e300;
    const Scaling plain{center.data(), weight.data(), nullptr, nullptr, nullptr, 10.0, 1e15};
    Scaling bent = plain, ended = plain;
    bent.shrink = shrink.data(), bent.seen = ends.data(), bent.beyond = beyond.data();
    ended.seen = ends.data(), ended.beyond = beyond.data();
    std::vector<double> found(n * p), of_floats(n * p);
    std::vector<float> rounded(n * p);
    for (const Scaling& by : {plain, bent, ended}) {
        scale(p, {nullptr, rows.data(), n}, by, found.data());
        scale(p, {nullptr, rows.data(), n}, by, rounded.data());
        scale(p, {rough.data(), nullptr, n}, by, of_floats.data());
        for (Size i = 0; i < n * p; ++i) {
            const Real wanted = scaled_of(by, p, i % p, rows[i]), same = scaled_of(by, p, i % p, rough[i]);
            close("scaled", double(i), found[i], wanted, 1e-13L * (1 + std::fabs(wanted)));
            close("scaled from a float", double(i), of_floats[i], same, 1e-13L * (1 + std::fabs(same)));
            check(rounded[i] == float(found[i]), "scaled and rounded", double(i), rounded[i], found[i]);
        }
    }
    const double far[] = {std::numeric_limits<double>::infinity()};
    const double one[] = {1.0}, zero[] = {0.0};
    double limit = 0;
    scale(1, {nullptr, far, 1}, Scaling{zero, one, one, nullptr, nullptr, 10.0, 1e15}, &limit);
    check(limit == 1e15, "an infinity, scaled", 0, limit, 1e15L);
}

template <class Number>
void test_ends_of(Size p, Size n) {
    const auto rough = numbers(n * p, 5.0f);
    std::vector<Number> rows(rough.begin(), rough.end());
    Rows given;
    given.count = n;
    if constexpr (sizeof(Number) == sizeof(float))
        given.floats = rows.data();
    else
        given.doubles = rows.data();
    std::vector<double> found(2 * p);
    for (Number odd : {Number(0), std::numeric_limits<Number>::quiet_NaN(), -std::numeric_limits<Number>::infinity()}) {
        const Size at = p / 2;
        rows[(n - 1) / 2 * p + at] = odd;
        TARGET::ends(p, given, found.data());
        for (Size k = 0; k < p; ++k) {
            Number least = rows[k], greatest = rows[k];
            for (Size i = 1; i < n; ++i) least = std::min(least, rows[i * p + k]), greatest = std::max(greatest, rows[i * p + k]);
            const bool lost = k == at && !std::isfinite(odd);
            check(lost ? std::isnan(found[k]) : found[k] == double(least), "least", double(k), found[k], least);
            check(lost ? std::isnan(found[p + k]) : found[p + k] == double(greatest), "greatest", double(k), found[p + k], greatest);
        }
    }
}

void test_ends() {
    for (Size p : {1, 3, 16, 21, 64, 130})
        for (Size n : {1, 5, 70, 201}) test_ends_of<float>(p, n), test_ends_of<double>(p, n);
}


}  // namespace
