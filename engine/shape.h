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
        : width_(width),
          directions_(given.directions),
          columns_((given.directions + HALF - 1) / HALF * HALF),
          rest_(given.rest),
          mean_(given.mean, given.mean + width),
          weight_(given.weight, given.weight + scales),
          across_(width * columns_) {
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

    // The same for the points start + at * step. On a line the map of a point is linear in `at`: it is taken twice, not
    // once for each point.
    void add_on_line(Size points, const float* start, const float* step, const float* at, double* out, Size apart) const {
        const OnLine line(*this, start, step);
        for (Size i = 0; i < points; ++i) {
            const double root = line.root(double(at[i]));
            for (std::size_t s = 0; s < weight_.size(); ++s) out[i * apart + Size(s)] -= weight_[s] * root;
        }
    }

    // Add to the gradient, (width,), for derivatives by the potentials of these points. It is linear in the points and their
    // maps: those are summed up first, so that the map back is taken once.
    void pull_on_line(Size points, const float* start, const float* step, const float* at, const float* by, Size apart, float* out) const {
        OnLine line(*this, start, step);
        double all_points = 0, times_at = 0;
        for (Size i = 0; i < points; ++i) {
            double strength = 0;
            for (std::size_t s = 0; s < weight_.size(); ++s) strength -= weight_[s] * double(by[i * apart + Size(s)]);
            strength /= line.root(double(at[i]));
            all_points += strength, times_at += strength * double(at[i]);
        }
        line.combine(all_points, times_at);
        for (Size k = 0; k < width_; ++k) {
            const double across = dot(across_.data() + k * columns_, line.along.data(), columns_);
            out[k] += float(rest_ > 0 ? rest_ * line.off.data()[k] - across : across);
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

    // A sum of products of doubles, as many as fill their lanes.
    static double dot(const double* a, const double* b, Size count) {
        Doubles sums = all(0.0);
        for (Size d = 0; d < count; d += HALF) sums = fma(load(a + d), load(b + d), sums);
        return total(sums);
    }

    static double total(Doubles sums) {
        double each[HALF], found = 0;
        store(each, sums);
        for (double one : each) found += one;
        return found;
    }

    // A line as this potential sees it: (z - mean) and the map of it at its start, and what a step adds to both.
    struct OnLine {
        OnLine(const ShapedPotential& of, const float* start, const float* step)
            : shape(of), places((of.width_ + HALF - 1) / HALF * HALF), off(places), along(of.columns_), off_step(places), along_step(of.columns_) {
            for (Size k = 0; k < of.width_; ++k) off.data()[k] = double(start[k]) - of.mean_[std::size_t(k)], off_step.data()[k] = double(step[k]);
            for (Size d = 0; d < of.columns_; d += HALF) of.map<1>(d, off.data(), along.data()), of.map<1>(d, off_step.data(), along_step.data());
        }

        // sqrt(1 + d²) at one point.
        double root(double at) const {
            const double square = length(off.data(), off_step.data(), at, shape.rest_ > 0 ? places : 0);
            const double across = length(along.data(), along_step.data(), at, shape.columns_);
            return std::sqrt(1.0 + std::max(shape.rest_ > 0 ? shape.rest_ * square - across : across, 0.0));
        }

        // Put a sum of points, so much of the start and so much of the step, in place of the start.
        void combine(double starts, double steps) {
            for (Size k = 0; k < places; ++k) off.data()[k] = starts * off.data()[k] + steps * off_step.data()[k];
            for (Size d = 0; d < shape.columns_; ++d) along.data()[d] = starts * along.data()[d] + steps * along_step.data()[d];
        }

        static double length(const double* start, const double* step, double at, Size count) {
            Doubles sums = all(0.0);
            for (Size d = 0; d < count; d += HALF) {
                const Doubles here = fma(all(at), load(step + d), load(start + d));
                sums = fma(here, here, sums);
            }
            return total(sums);
        }

        const ShapedPotential& shape;
        const Size places;  // columns, as many as fill the lanes
        Buffer<double> off, along, off_step, along_step;
    };

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
