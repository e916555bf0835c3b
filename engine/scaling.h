// How the user's columns are brought to the network, see network/scaling.py: in double, eight columns at a time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>

#include "functions.h"
#include "interface.h"
#include "memory.h"

namespace TARGET {

// A scaling whose columns are padded to whole vectors. The padding has weight 0: it becomes 0.
class PackedScaling {
  public:
    PackedScaling(const Scaling& given, Size width) : by_(given), row_((width + HALF - 1) / HALF * HALF), columns_(KINDS * row_) {
        const double* from[KINDS] = {given.center, given.weight, given.shrink, given.seen, given.beyond, nullptr, nullptr};
        if (given.seen) from[GREATEST] = given.seen + width, from[ABOVE] = given.beyond + width;
        for (int kind = 0; kind < KINDS; ++kind)
            if (from[kind]) std::memcpy(columns_.data() + kind * row_, from[kind], std::size_t(width) * sizeof(double));
    }

    Size row() const { return row_; }  // numbers of a padded row

    // Scale one row, in place, padding and all.
    void apply(double* z) const {
        in_vectors(z, [&](Size k, Doubles x) { store(z + k, x); });
    }

    // The same, rounded to floats; z is lost.
    void apply(double* z, float* rounded) const {
        in_vectors(z, [&](Size k, Doubles x) { store_rounded(rounded + k, x); });
    }

  private:
    enum Kind { CENTER, WEIGHT, SHRINK, LEAST, BELOW, GREATEST, ABOVE, KINDS };

    Doubles of(Kind kind, Size k) const { return load(columns_.data() + kind * row_ + k); }

    template <class Take>
    void in_vectors(double* z, Take take) const {
        const bool bent = by_.shrink, ended = by_.seen;
        const Doubles knee = all(by_.knee), zero = all(0.0), lowest = all(-by_.limit), highest = all(by_.limit);
        for (Size k = 0; k < row_; k += HALF) {
            Doubles x = (load(z + k) - of(CENTER, k)) * of(WEIGHT, k);
            if (bent) {
                if (any_less(knee, abs(x))) x = beyond_knee(x);
                x = x * of(SHRINK, k);
            }
            if (ended) {
                const Doubles above = max(zero, x - of(GREATEST, k)), below = max(zero, of(LEAST, k) - x);
                x = x + (of(ABOVE, k) * above - of(BELOW, k) * below);
            }
            take(k, min(highest, max(lowest, x)));  // in this order of arguments a NaN stays one
        }
    }

    // Beyond the knee a logarithm goes on. Few values lie there: one after the other.
    Doubles beyond_knee(Doubles x) const {
        double z[HALF];
        store(z, x);
        for (double& each : z) {
            const double size = std::fabs(each);
            if (size > by_.knee) each = std::copysign(by_.knee + log_1_plus(size - by_.knee), each);
        }
        return load(z);
    }

    const Scaling by_;
    const Size row_;
    Buffer<double> columns_;  // (KINDS, row)
};

// Scale rows as they come and give them as doubles, or rounded to floats: (n, p) -> (n, p).
template <class Number>
static void scale(Size width, Rows rows, const Scaling& given, Number* out) {
    const PackedScaling by(given, width);
    Buffer<double> row(by.row());
    for (Size i = 0; i < rows.count; ++i) {
        rows.read(i, width, row.data());
        by.apply(row.data());
        for (Size k = 0; k < width; ++k) out[i * width + k] = Number(row.data()[k]);
    }
}

}  // namespace TARGET
