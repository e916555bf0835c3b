// Combines the networks' outputs into one pair of raw scores, and passes derivatives back. In double throughout.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "functions.h"
#include "interface.h"

namespace TARGET {

// Of three or more rescaled potentials the lowest and the highest are left out: beyond the training rows each falls at
// its own rate, and the steepest would decide the mean. And none may exceed the most central training rows by
// much: between distant groups of rows a potential learned with little noise may be far too high.
INLINE Size first_kept(const Calibration& by) { return by.potentials < 3 ? 0 : 1; }
INLINE Size last_kept(const Calibration& by) { return by.potentials < 3 ? by.potentials : by.potentials - 1; }

// The scores of one member, eight rows at a time: its logit and its local score, in its own units.
class MemberScores {
  public:
    explicit MemberScores(const Calibration& by) : by_(by), values_(std::size_t(by.potentials)) {}

    // Pairs of `count` rows, at most eight; `outputs` are those of the first, and one row follows another.
    void find(Size member, Size count, const double* outputs, double* pairs) {
        const Size k = by_.potentials;
        const Doubles logit = column(outputs, count, 0);
        for (Size s = 0; s < k; ++s) value(s) = (column(outputs, count, 1 + s) - all(by_.low[member * k + s])) * all(by_.per_unit[member * k + s]);
        for (Size end = 1; end < k; ++end)  // sorted by insertion: the sum has one order
            for (Size s = end; s > 0; --s) {
                const Doubles a = value(s - 1), b = value(s);
                value(s - 1) = min(a, b), value(s) = max(a, b);
            }
        const Size first = first_kept(by_), last = last_kept(by_);
        Doubles local = all(0.0);
        for (Size s = first; s < last; ++s) local = local + bent(value(s));
        const double *center = by_.center + 2 * member, *per_spread = by_.per_spread + 2 * member;
        double found[2][HALF];
        store(found[0], (logit - all(center[0])) * all(per_spread[0]));
        store(found[1], (local / all(double(last - first)) - all(center[1])) * all(per_spread[1]));
        for (Size i = 0; i < count; ++i) pairs[2 * i] = found[0][i], pairs[2 * i + 1] = found[1][i];
    }

  private:
    Doubles& value(Size s) { return values_[std::size_t(s)]; }

    // One output of these rows; 0 where there are fewer than eight.
    Doubles column(const double* outputs, Size count, Size which) const {
        double found[HALF] = {};
        for (Size i = 0; i < count; ++i) found[i] = outputs[i * (1 + by_.potentials) + which];
        return load(found);
    }

    Doubles bent(Doubles u) const {
        const Doubles one = all(1.0), top = all(1 - by_.bend);
        if (!(by_.bend > 0) || !any_less(top, u)) return u;
        return if_less(top, u, one - all(by_.bend * by_.bend) / (all(2 * by_.bend) - (one - u)), u);
    }

    const Calibration& by_;
    std::vector<Doubles> values_;
};

// Derivatives of one member's scores of one row by its outputs.
class MemberSlopes {
  public:
    explicit MemberSlopes(const Calibration& by) : by_(by), values_(std::size_t(by.potentials)), order_(std::size_t(by.potentials)) {}

    void find(Size member, const double* outputs, const double* by_pair, double* out) {
        const Size k = by_.potentials, first = first_kept(by_), last = last_kept(by_);
        for (Size s = 0; s < k; ++s) values_[std::size_t(s)] = (outputs[1 + s] - by_.low[member * k + s]) * by_.per_unit[member * k + s];
        std::iota(order_.begin(), order_.end(), Size(0));
        std::stable_sort(order_.begin(), order_.end(), [&](Size a, Size b) { return values_[std::size_t(a)] < values_[std::size_t(b)]; });
        out[0] = by_pair[0] * by_.per_spread[2 * member];
        std::fill(out + 1, out + 1 + k, 0.0);
        const double each = by_pair[1] * by_.per_spread[2 * member + 1] / double(last - first);
        for (Size s = first; s < last; ++s) {
            const Size which = order_[std::size_t(s)];
            out[1 + which] = each * slope(values_[std::size_t(which)]) * by_.per_unit[member * k + which];
        }
    }

  private:
    double slope(double u) const {  // of `MemberScores::bent`
        const double far = 2 * by_.bend - (1 - u);
        return by_.bend > 0 && u > 1 - by_.bend ? by_.bend * by_.bend / (far * far) : 1.0;
    }

    const Calibration& by_;
    std::vector<double> values_;
    std::vector<Size> order_;
};

// The members' mean, weighted by e^(-doubt * score): a member that scores a row lower counts more.
// For a training row those are the members that were not trained on it.
class Members {
  public:
    explicit Members(const Calibration& by)
        : by_(by), scores_(by), slopes_(by), pairs_(std::size_t(2 * HALF * by.members)), weight_(std::size_t(by.members)) {}

    // The raw scores of `count` rows, at most eight, from the given one of n on: (count, 2).
    void find(Size row, Size count, Size n, const double* outputs, double* raw) {
        for (Size m = 0; m < by_.members; ++m)
            scores_.find(m, count, outputs + (m * n + row) * (1 + by_.potentials), &pairs_[std::size_t(2 * HALF * m)]);
        for (Size i = 0; i < count; ++i) combine(i, raw + 2 * i);
    }

    // Derivatives by the outputs of one row of n, from derivatives by its raw scores; a weight changes by -doubt * weight
    // times its score's lead.
    void back(Size row, Size n, const double* outputs, const double* by_raw, double* out) {
        double raw[2];
        find(row, 1, n, outputs, raw);
        for (Size m = 0; m < by_.members; ++m) {
            const double lead = by_raw[0] * (pair(m, 0)[0] - raw[0]) + by_raw[1] * (pair(m, 0)[1] - raw[1]);
            const double by_mixed = -by_.doubt * lead, weight = weight_[std::size_t(m)];
            const double by_own[2] = {weight * (by_raw[0] + by_mixed * (1 - by_.share)), weight * (by_raw[1] + by_mixed * by_.share)};
            const Size at = (m * n + row) * (1 + by_.potentials);
            slopes_.find(m, outputs + at, by_own, out + at);
        }
    }

  private:
    const double* pair(Size m, Size i) const { return &pairs_[std::size_t(2 * (HALF * m + i))]; }
    double mixed(Size m, Size i) const { return (1 - by_.share) * pair(m, i)[0] + by_.share * pair(m, i)[1]; }

    void combine(Size i, double* raw) {
        double lowest = mixed(0, i), total = 0;
        for (Size m = 1; m < by_.members; ++m) lowest = std::min(lowest, mixed(m, i));
        for (Size m = 0; m < by_.members; ++m)  // one member alone counts e^0
            total += weight_[std::size_t(m)] = by_.members == 1 ? 1.0 : exponential_of_double(-by_.doubt * (mixed(m, i) - lowest));
        raw[0] = raw[1] = 0;
        for (Size m = 0; m < by_.members; ++m) {
            const double weight = weight_[std::size_t(m)] /= total;
            for (int head = 0; head < 2; ++head) raw[head] += weight * pair(m, i)[head];
        }
    }

    const Calibration& by_;
    MemberScores scores_;
    MemberSlopes slopes_;
    std::vector<double> pairs_, weight_;  // (members, HALF, 2), (members,)
};

static void of_members(const Calibration& by, Size n, const double* outputs, double* out) {
    MemberScores scores(by);
    for (Size m = 0; m < by.members; ++m)
        for (Size i = 0; i < n; i += HALF)
            scores.find(m, std::min<Size>(HALF, n - i), outputs + (m * n + i) * (1 + by.potentials), out + 2 * (m * n + i));
}

static void raw(const Calibration& by, Size n, const double* outputs, double* out) {
    Members members(by);
    for (Size i = 0; i < n; i += HALF) members.find(i, std::min<Size>(HALF, n - i), n, outputs, out + 2 * i);
}

static void raw_back(const Calibration& by, Size n, const double* outputs, const double* by_raw, double* out) {
    Members members(by);
    for (Size i = 0; i < n; ++i) members.back(i, n, outputs, by_raw + 2 * i, out);
}

}  // namespace TARGET
