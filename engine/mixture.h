// The mixture of round Gaussians that potentials start from for clean rows.
#pragma once

#include <algorithm>
#include <vector>

#include "functions.h"
#include "interface.h"
#include "memory.h"
#include "products.h"

namespace TARGET {

constexpr double LOG_2 = 0.693147180559945309;
constexpr float LOG2_E = float(1 / LOG_2);
constexpr float SMALL = 0x1p-90f;   // a sum above it has lost nothing: terms below 2^-125 count as that
constexpr float RAISED = 109.0f;    // logarithms to base 2 at most: float32 holds a sum of 2^18 such terms
constexpr float CANCELLING = 4.0f;  // times p: beyond, float32 loses over 5e-7 of a potential's range over the rows

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
          lowest_(given.lowest * LOG2_E),
          mean_(padded_),
          across_(width * columns_),
          centres_(columns_ * padded_),
          precision_(scales * columns_),
          slope_(scales * columns_),
          level_(scales * columns_),
          squares_(columns_) {
        std::memcpy(mean_.data(), given.mean, width * sizeof(float));
        for (Size c = 0; c < count_; ++c)
            for (Size k = 0; k < width; ++k) across_.data()[k * columns_ + c] = centres_.data()[c * padded_ + k] = given.centres[c * width + k];
        for (Size c = 0; c < count_; ++c) squares_.data()[c] = dot(centres_.data() + c * padded_, centres_.data() + c * padded_, padded_);
        for (Size s = 0; s < scales; ++s) {
            for (Size c = 0; c < columns_; ++c) {
                precision_.data()[s * columns_ + c] = c < count_ ? given.precision[s * count_ + c] : 0.0f;
                slope_.data()[s * columns_ + c] = -0.5f * LOG2_E * precision_.data()[s * columns_ + c];
            }
            const float* level = given.level + s * count_;
            // A row is about √p deviations from a centre: so much raised, its terms are about 1.
            const float raise = std::min(RAISED, 0.5f * LOG2_E * float(width)) - LOG2_E * *std::max_element(level, level + count_);
            for (Size c = 0; c < columns_; ++c) level_.data()[s * columns_ + c] = c < count_ ? LOG2_E * level[c] + raise : lowest_;
            raised_.push_back(-double(raise));
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
    void add_potentials(Size rows, const float* distances, double* out, Size apart) const {
        Size i = 0;
        for (; i + AT_ONCE <= rows; i += AT_ONCE) add_tile<AT_ONCE>(distances + i * columns_, out + i * apart, apart);
        for (; i < rows; ++i) add_tile<1>(distances + i * columns_, out + i * apart, apart);
    }

    // Adds to `shares` each centre's part in the gradient of a row with these distances at this scale, times `by`.
    void add_shares(const float* distances, Size scale, float by, float* shares, float* space) const {
        const Floats top = all(highest_logarithm(distances, scale));
        Floats total = all(0.0f);
        for (Size c = 0; c < columns_; c += WIDTH) {
            Floats term[] = {logarithms(distances, scale, c) - top};
            power_of_two(term);
            store(space + c, term[0]);
            total = total + term[0];
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

    static constexpr int AT_ONCE = 6;  // rows that use each loaded slope and level together

    // The logarithms to base 2 of a vector of Gaussians, raised, at a row with these distances.
    Floats logarithms(const float* distances, Size scale, Size c) const {
        return fma(load(distances + c), load(slope_.data() + scale * columns_ + c), load(level_.data() + scale * columns_ + c));
    }

    // The highest of them, and no less than `lowest`; a NaN, of a distance beyond all numbers, does not count.
    float highest_logarithm(const float* distances, Size scale) const {
        Floats found = all(lowest_);
        for (Size c = 0; c < columns_; c += WIDTH) found = max(logarithms(distances, scale, c), found);
        return highest(found);
    }

    // For a few rows the sum of 2^logarithm over the Gaussians.
    template <int ROWS>
    void add_up(const float* distances, Size scale, float* sums) const {
        Floats found[ROWS];
        for (Floats& each : found) each = all(0.0f);
        for (Size c = 0; c < columns_; c += WIDTH) {
            Floats terms[ROWS];
            for (int i = 0; i < ROWS; ++i) terms[i] = logarithms(distances + i * columns_, scale, c);
            power_of_two(terms);
            for (int i = 0; i < ROWS; ++i) found[i] = found[i] + terms[i];
        }
        for (int i = 0; i < ROWS; ++i) sums[i] = sum(found[i]);
    }

    // The same for one row, over 2^top.
    float add_up_below(float top, const float* distances, Size scale) const {
        Floats found = all(0.0f);
        for (Size c = 0; c < columns_; c += WIDTH) {
            Floats term[] = {logarithms(distances, scale, c) - all(top)};
            power_of_two(term);
            found = found + term[0];
        }
        return sum(found);
    }

    // The potentials of a few rows: each is log Σ 2^logarithm. Only for rows so far away that all terms nearly vanish is the
    // highest of them factored out of the sum.
    template <int ROWS>
    void add_tile(const float* distances, double* out, Size apart) const {
        double totals[HALF], logs[HALF], *to[HALF];  // logarithms of sums are taken of eight at a time
        int count = 0;
        const auto add_logs = [&] {
            for (int j = count; j < HALF; ++j) totals[j] = 1.0;
            store(logs, logarithm(load(totals)));
            for (int j = 0; j < count; ++j) *to[j] += logs[j];
            count = 0;
        };
        for (Size s = 0; s < scales_; ++s) {
            float sums[ROWS];
            add_up<ROWS>(distances, s, sums);
            for (int i = 0; i < ROWS; ++i) {
                to[count] = out + i * apart + s;
                double factored = raised_[std::size_t(s)];
                if (!(sums[i] > SMALL)) {
                    const float top = highest_logarithm(distances + i * columns_, s);
                    sums[i] = add_up_below(top, distances + i * columns_, s);
                    factored += double(top);
                }
                *to[count] += factored * LOG_2;
                totals[count] = double(sums[i]);
                if (++count == HALF) add_logs();
            }
        }
        if (count) add_logs();
    }

    Size count_ = 0, columns_ = 0, width_ = 0, padded_ = 0, scales_ = 0;
    float lowest_ = 0;
    bool fine_ = false;
    Buffer<float> mean_, across_, centres_, precision_;
    Buffer<float> slope_, level_;  // each Gaussian's logarithm to base 2, raised, is level + slope * squared distance
    std::vector<double> raised_;   // by minus so much, for each scale
    Buffer<float> squares_;
};

}  // namespace TARGET
