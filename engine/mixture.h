// The mixture of round Gaussians that potentials start from for clean rows.
#pragma once

#include <vector>

#include "functions.h"
#include "interface.h"
#include "memory.h"
#include "products.h"

namespace TARGET {

constexpr float NEGLIGIBLE = -20.0f;  // a Gaussian whose logarithm is this far below the highest is lost to rounding
constexpr float CANCELLING = 4.0f;    // times p: beyond, float32 loses over 5e-7 of a potential's range over the rows

// A tile of sums over k of (a - b)² or |a - b|, without the cancellation of |a|² + |b|² - 2ab. With FINE, a is rounded
// and its exact value is a + rest; rest has the same layout as a.
template <bool SQUARED, bool FINE, int ROWS, int VECTORS>
INLINE void gaps_tile(Size depth, View a, const float* rest, const float* b, Size b_row, float* c, Size c_row) {
    Floats sums[ROWS][VECTORS];
    for (auto& row : sums)
        for (Floats& each : row) each = all(0.0f);
    for (Size k = 0; k < depth; ++k) {
        Floats right[VECTORS];
        for (int j = 0; j < VECTORS; ++j) right[j] = load(b + k * b_row + j * WIDTH);
        for (int i = 0; i < ROWS; ++i) {
            const Floats left = all(a.at[i * a.row + k * a.column]);
            const Floats more = FINE ? all(rest[i * a.row + k * a.column]) : all(0.0f);
            for (int j = 0; j < VECTORS; ++j) {
                const Floats gap = FINE ? left - right[j] + more : left - right[j];
                sums[i][j] = SQUARED ? fma(gap, gap, sums[i][j]) : sums[i][j] + abs(gap);
            }
        }
    }
    for (int i = 0; i < ROWS; ++i)
        for (int j = 0; j < VECTORS; ++j) store(c + i * c_row + j * WIDTH, sums[i][j]);
}

template <bool SQUARED, bool FINE, int VECTORS>
static void gaps_panel(Size rows, Size depth, View a, const float* b, Size b_row, float* c, Size c_row, const float* rest) {
    const auto from = [&](Size i) { return View{a.at + i * a.row, a.row, a.column}; };
    Size i = 0;
    for (; i + TILE_ROWS <= rows; i += TILE_ROWS)
        gaps_tile<SQUARED, FINE, TILE_ROWS, VECTORS>(depth, from(i), FINE ? rest + i * a.row : nullptr, b, b_row, c + i * c_row, c_row);
    for (; i < rows; ++i) gaps_tile<SQUARED, FINE, 1, VECTORS>(depth, from(i), FINE ? rest + i * a.row : nullptr, b, b_row, c + i * c_row, c_row);
}

// c = Σ (a - b)² or Σ |a - b| for `rows` x `columns` results; columns is a multiple of WIDTH.
template <bool SQUARED, bool FINE = false>
static void gaps(Size rows, Size columns, Size depth, View a, const float* b, Size b_row, float* c, Size c_row, const float* rest = nullptr) {
    Size j = 0;
    for (; j + TILE_VECTORS * WIDTH <= columns; j += TILE_VECTORS * WIDTH)
        gaps_panel<SQUARED, FINE, TILE_VECTORS>(rows, depth, a, b + j, b_row, c + j, c_row, rest);
    for (; j < columns; j += WIDTH) gaps_panel<SQUARED, FINE, 1>(rows, depth, a, b + j, b_row, c + j, c_row, rest);
}

class Gaussians {
  public:
    Gaussians() = default;
    Gaussians(const Mixture& given, Size width, Size scales)
        : count_(given.count),
          columns_((given.count + 2 * WIDTH - 1) / (2 * WIDTH) * 2 * WIDTH),
          width_(width),
          padded_(padded(width)),
          scales_(scales),
          lowest_(given.lowest),
          mean_(padded_),
          across_(width * columns_),
          centres_(columns_ * padded_),
          precision_(scales * columns_),
          minus_half_(scales * columns_),
          level_(scales * columns_),
          squares_(columns_) {
        std::memcpy(mean_.data(), given.mean, width * sizeof(float));
        for (Size c = 0; c < count_; ++c)
            for (Size k = 0; k < width; ++k) across_.data()[k * columns_ + c] = centres_.data()[c * padded_ + k] = given.centres[c * width + k];
        for (Size c = 0; c < count_; ++c) squares_.data()[c] = dot(centres_.data() + c * padded_, centres_.data() + c * padded_, padded_);
        for (Size s = 0; s < scales; ++s)
            for (Size c = 0; c < columns_; ++c) {
                precision_.data()[s * columns_ + c] = c < count_ ? given.precision[s * count_ + c] : 0.0f;
                minus_half_.data()[s * columns_ + c] = -0.5f * precision_.data()[s * columns_ + c];
                level_.data()[s * columns_ + c] = c < count_ ? given.level[s * count_ + c] : lowest_;
            }
        for (Size c = 0; c < count_; ++c) {
            const float square = dot(centres_.data() + c * padded_, centres_.data() + c * padded_, padded_);
            for (Size s = 0; s < scales; ++s) fine_ = fine_ || given.precision[s * count_ + c] * square > CANCELLING * float(width);
        }
    }

    explicit operator bool() const { return count_ > 0; }
    Size columns() const { return columns_; }

    // Squared distances in half the time, but with cancellation: a row within rounding of a centre counts as at it.
    void rough_distances(Size rows, const float* z, Size z_row, float* off, float* found) const {
        find_offsets(rows, z, z_row, off);
        product(rows, columns_, width_, {off, padded_, 1}, across_.data(), columns_, found, columns_);
        for (Size i = 0; i < rows; ++i) {
            const Floats own = all(dot(off + i * padded_, off + i * padded_, padded_));
            for (Size c = 0; c < columns_; c += WIDTH) {
                const Floats square = own + load(squares_.data() + c);
                store(found + i * columns_ + c, max(fma(load(found + i * columns_ + c), all(-2.0f), square), all(0.0f)));
            }
        }
    }

    // Offsets of the rows from the mean, and squared distances to every centre. `off` is rounded: where Gaussians are
    // narrow compared with their distance from the mean, its rounding error matters too, and is kept in `rest`.
    void fine_distances(Size rows, const float* z, Size z_row, float* off, float* rest, float* found) const {
        if (!fine_) return distances(rows, z, z_row, off, found);
        for (Size i = 0; i < rows; ++i)
            for (Size k = 0; k < padded_; k += WIDTH) {  // Knuth's difference of two numbers, and its exact error
                const Floats from = load(z + i * z_row + k), mean = load(mean_.data() + k), d = from - mean, back = d - from;
                store(off + i * padded_ + k, d);
                store(rest + i * padded_ + k, (from - (d - back)) - (mean + back));
            }
        gaps<true, true>(rows, columns_, width_, {off, padded_, 1}, across_.data(), columns_, found, columns_, rest);
    }

    void distances(Size rows, const float* z, Size z_row, float* off, float* found) const {
        find_offsets(rows, z, z_row, off);
        gaps<true>(rows, columns_, width_, {off, padded_, 1}, across_.data(), columns_, found, columns_);
    }

    // Adds to `out` the potentials of rows with these distances, one for each noise scale; rows of it are `apart`.
    void add_potentials(Size rows, const float* distances, double* out, Size apart, float* space) const {
        double totals[HALF] = {}, *to[HALF];  // logarithms are taken of eight at a time
        float tops[HALF];
        int count = 0;
        const auto add_logarithms = [&] {
            double logs[HALF];
            store(logs, log_1_plus(load(totals) - all(1.0)));
            for (int j = 0; j < count; ++j) *to[j] += double(tops[j]) + logs[j];
            count = 0;
        };
        for (Size i = 0; i < rows; ++i)
            for (Size s = 0; s < scales_; ++s) {
                tops[count] = exponents(distances + i * columns_, s, space);
                totals[count] = double(sum_of_exponentials(space, tops[count])), to[count] = out + i * apart + s;
                if (++count == HALF) add_logarithms();
            }
        if (count) add_logarithms();
    }

    // Adds to `shares` each centre's part in the gradient of a row with these distances at this scale, times `by`.
    void add_shares(const float* distances, Size scale, float by, float* shares, float* space) const {
        const float top = exponents(distances, scale, space);
        Floats total = all(0.0f);
        for (Size c = 0; c < columns_; c += WIDTH) {
            const Floats e = exponential(load(space + c) - all(top));
            store(space + c, e);
            total = total + e;
        }
        const Floats share = all(by / sum(total));
        for (Size c = 0; c < columns_; c += WIDTH)
            store(shares + c, fma(load(space + c) * share, load(precision_.data() + scale * columns_ + c), load(shares + c)));
    }

    // The gradient of the potential: the sum over all centres, weighted by `shares`.
    void pull(Size rows, const float* shares, const float* off, float* out) const {
        product(rows, padded_, columns_, {shares, columns_, 1}, centres_.data(), padded_, out, padded_);
        for (Size i = 0; i < rows; ++i) {
            Floats total = all(0.0f);
            for (Size c = 0; c < columns_; c += WIDTH) total = total + load(shares + i * columns_ + c);
            add_scaled(out + i * padded_, -sum(total), off + i * padded_, padded_);
        }
    }

  private:
    void find_offsets(Size rows, const float* z, Size z_row, float* off) const {
        for (Size i = 0; i < rows; ++i)
            for (Size k = 0; k < padded_; k += WIDTH) store(off + i * padded_ + k, load(z + i * z_row + k) - load(mean_.data() + k));
    }

    float sum_of_exponentials(const float* exponents, float top) const {
        Floats total = all(0.0f);
        for (Size c = 0; c < columns_; c += WIDTH) {
            const Floats e = load(exponents + c) - all(top);
            if (any_less(all(NEGLIGIBLE), e)) total = total + exponential(e);
        }
        return sum(total);
    }

    // Each Gaussian's logarithm, and the highest of them.
    float exponents(const float* distances, Size scale, float* found) const {
        const float *minus_half = minus_half_.data() + scale * columns_, *level = level_.data() + scale * columns_;
        Floats top = all(lowest_);
        for (Size c = 0; c < columns_; c += WIDTH) {
            const Floats e = max(fma(load(distances + c), load(minus_half + c), load(level + c)), all(lowest_));
            store(found + c, e);
            top = max(top, e);
        }
        return highest(top);
    }

    Size count_ = 0, columns_ = 0, width_ = 0, padded_ = 0, scales_ = 0;
    float lowest_ = 0;
    bool fine_ = false;
    Buffer<float> mean_, across_, centres_, precision_, minus_half_, level_, squares_;  // minus_half: -½ precision
};

}  // namespace TARGET
