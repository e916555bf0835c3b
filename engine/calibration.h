// Combines the networks' outputs into one pair of raw scores, and passes derivatives back. In double throughout.
#pragma once

#include <algorithm>
#include <vector>

#include "functions.h"
#include "interface.h"

namespace TARGET {

// One member's scores of one row: its logit and its local score, in its own units, and the potentials of the latter.
//
// Of three or more rescaled potentials the lowest and the highest are left out: beyond the training rows each falls at
// its own rate, and the steepest would decide the mean. And none may exceed the most central training rows by
// much: between distant groups of rows a potential learned with little noise may be far too high.
class MemberScore {
  public:
    explicit MemberScore(const Calibration& by) : by_(by), values_(by.potentials), order_(by.potentials) {}

    void find(Size member, const double* outputs, double* pair) {
        const Size k = by_.potentials;
        member_ = member;
        for (Size s = 0; s < k; ++s) {
            values_[s] = (outputs[1 + s] - by_.low[member * k + s]) * by_.per_unit[member * k + s];
            order_[s] = s;
        }
        std::stable_sort(order_.begin(), order_.end(), [&](Size a, Size b) { return values_[a] < values_[b]; });
        double local = 0;
        for (Size s = first(); s < last(); ++s) local += bent(values_[order_[s]]);
        pair[0] = (outputs[0] - by_.center[2 * member]) * by_.per_spread[2 * member];
        pair[1] = (local / double(last() - first()) - by_.center[2 * member + 1]) * by_.per_spread[2 * member + 1];
    }

    // Derivatives by the outputs of the last call of `find`, from derivatives by its pair.
    void back(const double* by_pair, double* out) const {
        const Size k = by_.potentials;
        out[0] = by_pair[0] * by_.per_spread[2 * member_];
        std::fill(out + 1, out + 1 + k, 0.0);
        const double each = by_pair[1] * by_.per_spread[2 * member_ + 1] / double(last() - first());
        for (Size s = first(); s < last(); ++s)
            out[1 + order_[s]] = each * slope(values_[order_[s]]) * by_.per_unit[member_ * k + order_[s]];
    }

  private:
    Size first() const { return by_.potentials < 3 ? 0 : 1; }
    Size last() const { return by_.potentials < 3 ? by_.potentials : by_.potentials - 1; }
    bool high(double u) const { return by_.bend > 0 && u > 1 - by_.bend; }
    double bent(double u) const { return high(u) ? 1 - by_.bend * by_.bend / (2 * by_.bend - (1 - u)) : u; }
    double slope(double u) const {
        const double far = 2 * by_.bend - (1 - u);
        return high(u) ? by_.bend * by_.bend / (far * far) : 1.0;
    }

    const Calibration& by_;
    Size member_ = 0;
    std::vector<double> values_;
    std::vector<Size> order_;
};

// The members' mean, weighted by e^(-doubt * score): a member that scores a row lower counts more.
// For a training row those are the members that were not trained on it.
class Members {
  public:
    explicit Members(const Calibration& by) : by_(by), each_(by.members, MemberScore(by)), pairs_(2 * by.members), weight_(by.members) {}

    void find(Size row, Size n, const double* outputs, double* pair) {
        double lowest = 0, total = 0;
        for (Size m = 0; m < by_.members; ++m) {
            each_[m].find(m, outputs + (m * n + row) * (1 + by_.potentials), &pairs_[2 * m]);
            lowest = m ? std::min(lowest, mixed(m)) : mixed(m);
        }
        for (Size m = 0; m < by_.members; ++m) total += weight_[m] = exponential_of_double(-by_.doubt * (mixed(m) - lowest));
        pair[0] = pair[1] = 0;
        for (Size m = 0; m < by_.members; ++m) {
            weight_[m] /= total;
            for (int head = 0; head < 2; ++head) pair[head] += weight_[m] * pairs_[2 * m + head];
        }
        found_[0] = pair[0], found_[1] = pair[1];
    }

    // Derivatives by the outputs of the last row of `find`; a weight changes by -doubt * weight times its score's lead.
    void back(Size row, Size n, const double* by_pair, double* out) const {
        for (Size m = 0; m < by_.members; ++m) {
            const double lead = by_pair[0] * (pairs_[2 * m] - found_[0]) + by_pair[1] * (pairs_[2 * m + 1] - found_[1]);
            const double by_mixed = -by_.doubt * lead;
            const double by_own[2] = {weight_[m] * (by_pair[0] + by_mixed * (1 - by_.share)), weight_[m] * (by_pair[1] + by_mixed * by_.share)};
            each_[m].back(by_own, out + (m * n + row) * (1 + by_.potentials));
        }
    }

  private:
    double mixed(Size m) const { return (1 - by_.share) * pairs_[2 * m] + by_.share * pairs_[2 * m + 1]; }

    const Calibration& by_;
    std::vector<MemberScore> each_;
    std::vector<double> pairs_, weight_;
    double found_[2] = {0, 0};
};

static void of_members(const Calibration& by, Size n, const double* outputs, double* out) {
    MemberScore score(by);
    for (Size m = 0; m < by.members; ++m)
        for (Size i = 0; i < n; ++i) score.find(m, outputs + (m * n + i) * (1 + by.potentials), out + 2 * (m * n + i));
}

static void raw(const Calibration& by, Size n, const double* outputs, double* out) {
    Members members(by);
    for (Size i = 0; i < n; ++i) members.find(i, n, outputs, out + 2 * i);
}

static void raw_back(const Calibration& by, Size n, const double* outputs, const double* by_raw, double* out) {
    Members members(by);
    double pair[2];
    for (Size i = 0; i < n; ++i) {
        members.find(i, n, outputs, pair);
        members.back(i, n, by_raw + 2 * i, out);
    }
}

}  // namespace TARGET
