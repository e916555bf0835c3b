// Combines the networks' outputs into one pair of raw scores, mixes these into one number, and passes derivatives back.
// In double throughout; network/calibration.py explains it.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "functions.h"
#include "interface.h"

namespace TARGET {

// The scores of one member for `count` rows, at most eight: its logit and the mean of its rescaled potentials, in its own
// units, (count, 2). `outputs` are those of the first row, and one row follows another.
static void member_scores(const Calibration& by, Size member, Size count, const double* outputs, double* pairs) {
    const Size k = by.potentials;
    const auto column = [&](Size which) {
        double found[HALF] = {};
        for (Size i = 0; i < count; ++i) found[i] = outputs[i * (1 + k) + which];
        return load(found);
    };
    Doubles local = all(0.0);
    for (Size s = 0; s < k; ++s) local = local + (column(1 + s) - all(by.low[member * k + s])) * all(by.per_unit[member * k + s]);
    const double *center = by.center + 2 * member, *per_spread = by.per_spread + 2 * member;
    double found[2][HALF];
    store(found[0], (column(0) - all(center[0])) * all(per_spread[0]));
    store(found[1], (local / all(double(k)) - all(center[1])) * all(per_spread[1]));
    for (Size i = 0; i < count; ++i) pairs[2 * i] = found[0][i], pairs[2 * i + 1] = found[1][i];
}

static void of_members(const Calibration& by, Size n, const double* outputs, double* out) {
    for (Size m = 0; m < by.members; ++m)
        for (Size i = 0; i < n; i += HALF)
            member_scores(by, m, std::min<Size>(HALF, n - i), outputs + (m * n + i) * (1 + by.potentials), out + 2 * (m * n + i));
}

// For each row and head the lowest score of a member, (n, 2); and which member it is, the first of several, if wanted.
static void lowest_scores(const Calibration& by, Size n, const double* outputs, double* out, Size* which) {
    double pairs[2 * HALF];
    for (Size i = 0; i < n; i += HALF) {
        const Size count = std::min<Size>(HALF, n - i);
        for (Size m = 0; m < by.members; ++m) {
            member_scores(by, m, count, outputs + (m * n + i) * (1 + by.potentials), pairs);
            for (Size place = 0; place < 2 * count; ++place) {
                double& lowest = out[2 * i + place];
                if (m && !(pairs[place] < lowest)) continue;
                lowest = pairs[place];
                if (which) which[2 * i + place] = m;
            }
        }
    }
}

static void raw(const Calibration& by, Size n, const double* outputs, double* out) { lowest_scores(by, n, outputs, out, nullptr); }

static void raw_back(const Calibration& by, Size n, const double* outputs, const double* by_raw, double* out) {
    const Size k = by.potentials;
    std::vector<double> scores(std::size_t(2 * n));
    std::vector<Size> which(std::size_t(2 * n));
    lowest_scores(by, n, outputs, scores.data(), which.data());
    std::fill_n(out, by.members * n * (1 + k), 0.0);
    for (Size i = 0; i < n; ++i) {
        const Size of_global = which[std::size_t(2 * i)], of_local = which[std::size_t(2 * i + 1)];
        out[(of_global * n + i) * (1 + k)] = by_raw[2 * i] * by.per_spread[2 * of_global];
        const double each = by_raw[2 * i + 1] * by.per_spread[2 * of_local + 1] / double(k);
        for (Size s = 0; s < k; ++s) out[(of_local * n + i) * (1 + k) + 1 + s] = each * by.per_unit[of_local * k + s];
    }
}

// Raw scores to head scores, in place: 0 is the low end of each head, 1 lies a width above it.
static void rescale(const Units& units, Size n, double* pairs) {
    for (Size i = 0; i < n; ++i)
        for (Size head = 0; head < 2; ++head) pairs[2 * i + head] = (pairs[2 * i + head] - units.low[head]) / units.width[head];
}

// Head scores, (n, 2), to their mixtures, (n,). The local one counts for no more than `allowance` above the global one.
static void mix(const Mixing& by, Size n, const double* pairs, double* out) {
    for (Size i = 0; i < n; ++i) {
        const double most = pairs[2 * i] + by.allowance, local = pairs[2 * i + 1] < most ? pairs[2 * i + 1] : most;
        out[i] = (1 - by.share) * pairs[2 * i] + by.share * local;
    }
}

// Map the real line onto (0, 1), in place: 0 becomes 1/2, the lower tail is 1 / distance, the upper one falls with its cube.
static void squeeze(Size n, double* values) {
    for (Size i = 0; i < n; ++i) {
        // The cube of more than 1e100 would overflow; std::fmin alone would make a number of NaN.
        const double size = std::isnan(values[i]) ? values[i] : std::fmin(std::fabs(values[i]), 1e100);
        values[i] = values[i] <= 0 ? 0.5 / (1 + size) : 0.5 + 0.5 * size / cube_root(1 + size * size * size);
    }
}

static bool all_finite(Size count, const double* values) {
    return std::all_of(values, values + count, [](double value) { return std::isfinite(value); });
}

}  // namespace TARGET
