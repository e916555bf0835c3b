// What the unit tests share: checks against long double, and numbers that are the same everywhere.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <vector>

#include "interface.h"

namespace {

using Real = long double;

int failures = 0;

void check(bool holds, const char* what, double at, Real found, Real wanted) {
    if (holds) return;
    ++failures;
    std::printf("%s at %.9g: %.12Lg was wanted, got %.12Lg\n", what, at, wanted, found);
}

void close(const char* what, double at, Real found, Real wanted, Real tolerance) {
    check(std::fabs(found - wanted) <= tolerance, what, at, found, wanted);
}

// Within so many units in the last place of a number of this type.
template <class Number>
void close_in_units(const char* what, double at, Number found, Real wanted, int units) {
    close(what, at, found, wanted, units * std::numeric_limits<Number>::epsilon() * std::fabs(wanted));
}

std::uint64_t state = 1;
float next_number() {  // in (-1, 1), the same everywhere
    state = state * 6364136223846793005u + 1442695040888963407u;
    return float(std::int32_t(state >> 32)) * 0x1p-31f;
}
std::vector<float> numbers(Size count, float size = 1.0f) {
    std::vector<float> found(count);
    for (float& each : found) each = size * next_number();
    return found;
}

}  // namespace
