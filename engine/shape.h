// The potential that falls with the rows' Mahalanobis distance, see network/shape.py. In double: where there is a rest,
// large terms cancel.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "interface.h"
#include "lanes.h"
#include "memory.h"

namespace TARGET {

class ShapedPotential {
  public:
    ShapedPotential(const Shape& given, Size width, Size scales)
        : width_(width), directions_(given.directions), columns_((given.directions + HALF - 1) / HALF * HALF), rest_(given.rest),
          mean_(given.mean, given.mean + width), weight_(given.weight, given.weight + scales), across_(width * columns_) {
        for (Size d = 0; d < directions_; ++d)
            for (Size k = 0; k < width; ++k) across_.data()[k * columns_ + d] = double(given.map[d * width + k]);
    }

    // Add to the potentials of these rows; `out` is (rows, apart) and begins at the first potential.
    void add(Size rows, const float* z, Size z_row, double* out, Size apart) const {
        Buffer<double> off(TILE * width_), along(TILE * columns_), root(TILE);
        for (Size first = 0; first < rows; first += TILE) {
            const Size count = std::min<Size>(TILE, rows - first);
            roots(count, z + first * z_row, z_row, off.data(), along.data(), root.data());
            for (Size i = 0; i < count; ++i)
                for (std::size_t s = 0; s < weight_.size(); ++s) out[(first + i) * apart + Size(s)] -= weight_[s] * root.data()[i];
        }
    }

    // Add to the gradient, (width,), for derivatives by the potentials of these rows.
    void pull(Size rows, const float* z, Size z_row, const float* by, Size apart, float* out) const {
        Buffer<double> off(width_), along(columns_), root(1);
        for (Size i = 0; i < rows; ++i) {
            roots(1, z + i * z_row, z_row, off.data(), along.data(), root.data());
            double strength = 0;
            for (std::size_t s = 0; s < weight_.size(); ++s) strength -= weight_[s] * double(by[i * apart + Size(s)]);
            strength /= root.data()[0];
            for (Size k = 0; k < width_; ++k) {
                double across = 0;
                for (Size d = 0; d < directions_; ++d) across += across_.data()[k * columns_ + d] * along.data()[d];
                out[k] += float(strength * (rest_ > 0 ? rest_ * off.data()[k] - across : across));
            }
        }
    }

  private:
    static constexpr int TILE = 6;  // rows that use each loaded part of the map together

    // sqrt(1 + d²) of at most TILE rows; it also stores (z - mean) and the map applied to it.
    void roots(Size rows, const float* z, Size z_row, double* off, double* along, double* found) const {
        for (Size i = 0; i < rows; ++i)
            for (Size k = 0; k < width_; ++k) off[i * width_ + k] = double(z[i * z_row + k]) - mean_[std::size_t(k)];
        for (Size d = 0; d < columns_; d += HALF) {
            if (rows == TILE)
                map<TILE>(d, off, along);
            else
                for (Size i = 0; i < rows; ++i) map<1>(d, off + i * width_, along + i * columns_);
        }
        for (Size i = 0; i < rows; ++i) {
            double length = 0, square = 0;
            for (Size k = 0; k < width_; ++k) length += off[i * width_ + k] * off[i * width_ + k];
            for (Size d = 0; d < directions_; ++d) square += along[i * columns_ + d] * along[i * columns_ + d];
            found[i] = std::sqrt(1.0 + std::max(rest_ > 0 ? rest_ * length - square : square, 0.0));
        }
    }

    template <int ROWS>
    void map(Size d, const double* off, double* along) const {
        Doubles sums[ROWS];
        for (int i = 0; i < ROWS; ++i) sums[i] = all(0.0);
        for (Size k = 0; k < width_; ++k) {
            const Doubles weight = load(across_.data() + k * columns_ + d);
            for (int i = 0; i < ROWS; ++i) sums[i] = fma(all(off[i * width_ + k]), weight, sums[i]);
        }
        for (int i = 0; i < ROWS; ++i) store(along + i * columns_ + d, sums[i]);
    }

    Size width_, directions_, columns_;
    double rest_;
    std::vector<double> mean_, weight_;
    Buffer<double> across_;  // (width, columns)
};

}  // namespace TARGET
