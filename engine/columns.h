// The ends of the columns, and whether all numbers are finite: one pass over the rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "interface.h"
#include "lanes.h"

namespace TARGET {

template <class Number>
struct Vector;
template <>
struct Vector<float> {
    using Lanes = Floats;
    static constexpr Size count = WIDTH;
};
template <>
struct Vector<double> {
    using Lanes = Doubles;
    static constexpr Size count = HALF;
};

// Finds the least and the greatest value of each column; and `spoilt`, which is 0 unless one of them is not finite:
// 0 x is NaN then, and stays so in a sum. A few rows, one after another, make a whole number of vectors.
template <class Number>
class ColumnEnds {
  public:
    explicit ColumnEnds(Size width) : width_(width) {
        Size a = width, b = LANES;
        while (b) std::swap(a, b), b %= a;
        together_ = LANES / a;
        const auto long_row = std::size_t(together_ * width);
        least_.assign(long_row, std::numeric_limits<Number>::infinity());
        greatest_.assign(long_row, -std::numeric_limits<Number>::infinity());
        spoilt_.assign(long_row, Number(0));
    }

    void look(const Number* rows, Size count) {
        const Size long_row = together_ * width_, whole = count / together_;
        for (Size first = 0; first < whole; first += AT_ONCE) {  // so that what is read stays in the nearest cache
            const Size some = std::min(AT_ONCE, whole - first);
            const Number* from = rows + first * long_row;
            Size k = 0;
            for (; k + 4 * LANES <= long_row; k += 4 * LANES) panel<4>(from + k, some, k);
            for (; k < long_row; k += LANES) panel<1>(from + k, some, k);
        }
        for (Size i = whole * together_; i < count; ++i)
            for (Size k = 0; k < width_; ++k) {
                const Number x = rows[i * width_ + k];
                least_[std::size_t(k)] = std::min(least_[std::size_t(k)], x);
                greatest_[std::size_t(k)] = std::max(greatest_[std::size_t(k)], x);
                spoilt_[std::size_t(k)] += x * Number(0);
            }
    }

    void read(double* out) const {
        for (Size k = 0; k < width_; ++k) {
            Number least = least_[std::size_t(k)], greatest = greatest_[std::size_t(k)];
            bool finite = true;
            for (std::size_t at = std::size_t(k); at < least_.size(); at += std::size_t(width_)) {
                least = std::min(least, least_[at]), greatest = std::max(greatest, greatest_[at]);
                finite = finite && !std::isnan(spoilt_[at]);
            }
            out[k] = finite ? double(least) : std::nan("");
            out[width_ + k] = finite ? double(greatest) : std::nan("");
        }
    }

  private:
    using Lanes = typename Vector<Number>::Lanes;
    static constexpr Size LANES = Vector<Number>::count, AT_ONCE = 64;

    template <int VECTORS>
    void panel(const Number* from, Size count, Size k) {
        Lanes least[VECTORS], greatest[VECTORS], spoilt[VECTORS];
        const Lanes zero = all(Number(0));
        for (int j = 0; j < VECTORS; ++j) {
            const auto at = std::size_t(k + j * LANES);
            least[j] = load(&least_[at]), greatest[j] = load(&greatest_[at]), spoilt[j] = load(&spoilt_[at]);
        }
        for (Size i = 0; i < count; ++i)
            for (int j = 0; j < VECTORS; ++j) {
                const Lanes x = load(from + i * together_ * width_ + j * LANES);
                least[j] = min(x, least[j]), greatest[j] = max(x, greatest[j]), spoilt[j] = fma(x, zero, spoilt[j]);
            }
        for (int j = 0; j < VECTORS; ++j) {
            const auto at = std::size_t(k + j * LANES);
            store(&least_[at], least[j]), store(&greatest_[at], greatest[j]), store(&spoilt_[at], spoilt[j]);
        }
    }

    Size width_, together_;                          // rows that make a whole number of vectors
    std::vector<Number> least_, greatest_, spoilt_;  // (together, width)
};

static void ends(Size width, Rows rows, double* out) {
    const auto look = [&](auto found, const auto* from) {
        found.look(from, rows.count);
        found.read(out);
    };
    if (rows.floats)
        look(ColumnEnds<float>(width), rows.floats);
    else
        look(ColumnEnds<double>(width), rows.doubles);
}

}  // namespace TARGET
