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
template <bool SQUARED, bool FINE, int ROWS>
INLINE void gaps_tile(Size depth, View a, const float* rest, const float* b, Size b_row, float* c, Size c_row) {
    Floats sums[ROWS][2];
    for (int i = 0; i < ROWS; ++i) sums[i][0] = sums[i][1] = all(0.0f);
    for (Size k = 0; k < depth; ++k) {
        const Floats right[2] = {load(b + k * b_row), load(b + k * b_row + WIDTH)};
        for (int i = 0; i < ROWS; ++i) {
            const Floats left = all(a.at[i * a.row + k * a.column]);
            const Floats more = FINE ? all(rest[i * a.row + k * a.column]) : all(0.0f);
            for (int j = 0; j < 2; ++j) {
                const Floats gap = FINE ? left - right[j] + more : left - right[j];
                sums[i][j] = SQUARED ? fma(gap, gap, sums[i][j]) : sums[i][j] + abs(gap);
            }
        }
    }
    for (int i = 0; i < ROWS; ++i)
        for (int j = 0; j < 2; ++j) store(c + i * c_row + j * WIDTH, sums[i][j]);
}

// c = Σ (a - b)² or Σ |a - b| for `rows` x `columns` results; columns is a multiple of 2 WIDTH.
template <bool SQUARED, bool FINE = false>
static void gaps(Size rows, Size columns, Size depth, View a, const float* b, Size b_row, float* c, Size c_row, const float* rest = nullptr) {
    for (Size j = 0; j < columns; j += 2 * WIDTH) {
        Size i = 0;
        for (; i + 6 <= rows; i += 6)
            gaps_tile<SQUARED, FINE, 6>(depth, {a.at + i * a.row, a.row, a.column}, rest + (FINE ? i * a.row : 0), b + j, b_row,
                                        c + i * c_row + j, c_row);
        for (; i < rows; ++i)
            gaps_tile<SQUARED, FINE, 1>(depth, {a.at + i * a.row, a.row, a.column}, rest + (FINE ? i * a.row : 0), b + j, b_row,
                                        c + i * c_row + j, c_row);
    }
}

class Gaussians {
  public:
    Gaussians() = default;
    Gaussians(const Mixture& given, Size width, Size scales)
        : count_(given.count), columns_((given.count + 2 * WIDTH - 1) / (2 * WIDTH) * 2 * WIDTH), width_(width), padded_(padded(width)),
          scales_(scales), lowest_(given.lowest), mean_(padded_), across_(width * columns_), centres_(columns_ * padded_), precision_(scales * columns_),
          level_(scales * columns_), squares_(columns_) {
        std::memcpy(mean_.data(), given.mean, width * sizeof(float));
        for (Size c = 0; c < count_; ++c)
            for (Size k = 0; k < width; ++k)
                across_.data()[k * columns_ + c] = centres_.data()[c * padded_ + k] = given.centres[c * width + k];
        for (Size c = 0; c < count_; ++c) squares_.data()[c] = dot(centres_.data() + c * padded_, centres_.data() + c * padded_, padded_);
        for (Size s = 0; s < scales; ++s)
            for (Size c = 0; c < columns_; ++c) {
                precision_.data()[s * columns_ + c] = c < count_ ? given.precision[s * count_ + c] : 0.0f;
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

    // Adds to `out` the potentials of a row with these distances, one for each noise scale, `apart` from one another.
    void add_potentials(const float* distances, double* out, Size apart, float* space) const {
        for (Size s = 0; s < scales_; ++s) {
            const float top = exponents(distances, s, space);
            Floats total = all(0.0f);
            for (Size c = 0; c < columns_; c += WIDTH) {
                const Floats e = load(space + c) - all(top);
                if (any_less(all(NEGLIGIBLE), e)) total = total + exponential(e);
            }
            out[s * apart] += double(top) + log_1_plus(double(sum(total)) - 1.0);
        }
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

    // Each Gaussian's logarithm, and the highest of them.
    float exponents(const float* distances, Size scale, float* found) const {
        const float *precision = precision_.data() + scale * columns_, *level = level_.data() + scale * columns_;
        Floats top = all(lowest_);
        for (Size c = 0; c < columns_; c += WIDTH) {
            const Floats e = max(fma(load(distances + c) * all(-0.5f), load(precision + c), load(level + c)), all(lowest_));
            store(found + c, e);
            top = max(top, e);
        }
        return highest(top);
    }

    Size count_ = 0, columns_ = 0, width_ = 0, padded_ = 0, scales_ = 0;
    float lowest_ = 0;
    bool fine_ = false;
    Buffer<float> mean_, across_, centres_, precision_, level_, squares_;
};

}  // namespace TARGET
