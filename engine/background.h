// The background of one member: a mixture of t-distributions, or of Gaussians, whose log-density potentials start from.
// Their covariances are low-rank plus isotropic, and blurred more or less: fuse/background.py.
//
// Rows, or points of a line, lie side by side in lanes (a `Panel`): every sum over columns and directions has one order
// for each of them, and a row's bits do not depend on the others. Distances add up in double: they may be large, and
// what remains of a distance beside the directions is a difference.
#pragma once

#include <algorithm>
#include <vector>

#include "functions.h"
#include "interface.h"
#include "memory.h"
#include "products.h"

namespace TARGET {

// Places side by side, and what backgrounds find of them; the last vector may be filled up with places that do not count.
struct Panel {
    Panel() = default;
    Panel(Size places, Size width, Size components, Size directions, Size levels)
        : stride(padded(places)),
          z(width * stride),
          off(std::max(width * stride, 2 * padded(width))),
          along(components * directions * stride),
          strength(components * levels * stride),
          turned(directions * stride),
          rests(stride),
          length(stride),
          square(components * levels * stride),
          term(components * WIDTH) {}

    Size stride = 0;
    Buffer<float> z, off;           // (p, stride): the places, and as seen from a component's mean
    Buffer<float> along;            // (components, directions, stride): along the directions of each component
    Buffer<float> strength;         // (components, levels, stride): how strongly each component pulls
    Buffer<float> turned, rests;    // (directions, stride), (stride,): sums of these pulls
    Buffer<double> length, square;  // (stride,), (components, levels, stride): squared distances
    Buffer<double> term;            // (components, WIDTH): logarithms
};

class Background {
  public:
    Background() = default;
    Background(const Mixture& of, Size width, Size levels)
        : width_(width), row_(padded(width)), directions_(of.directions), levels_(levels), degrees_(double(of.degrees)) {
        std::vector<Size> present;
        for (Size c = 0; c < of.count; ++c)
            if (of.level[c] > of.lowest) present.push_back(c);
        count_ = Size(present.size());
        mean_ = Buffer<float>(count_ * row_), axes_ = Buffer<float>(count_ * directions_ * row_);
        precision_ = Buffer<double>(count_ * levels * directions_), excess_ = Buffer<float>(count_ * levels * directions_);
        rest_ = Buffer<double>(count_ * levels), level_ = Buffer<double>(count_ * levels);
        for (Size c = 0; c < count_; ++c) {
            const Size from = present[std::size_t(c)];
            std::copy_n(of.mean + from * width, width, mean_.data() + c * row_);
            for (Size j = 0; j < directions_; ++j)
                std::copy_n(of.axes + (from * directions_ + j) * width, width, axes_.data() + (c * directions_ + j) * row_);
            for (Size s = 0; s < levels; ++s) {
                const Size place = s * of.count + from;
                rest_.data()[c * levels + s] = double(of.rest[place]), level_.data()[c * levels + s] = double(of.level[place]);
                has_rest_ = has_rest_ || of.rest[place] != 0.0f;
                for (Size j = 0; j < directions_; ++j) {
                    const float precision = of.precision[place * directions_ + j];
                    precision_.data()[(c * levels + s) * directions_ + j] = double(precision);
                    excess_.data()[(c * levels + s) * directions_ + j] = precision - of.rest[place];
                }
            }
        }
    }

    explicit operator bool() const { return count_ > 0; }
    Panel panel(Size places) const { return Panel(places, width_, count_, directions_, levels_); }

    // Find the distances of the places in `at.z`.
    void look(Panel& at) const {
        for (Size c = 0; c < count_; ++c) {
            for (Size k = 0; k < width_; ++k) {
                const Floats mean = all(mean_.data()[c * row_ + k]);
                for (Size i = 0; i < at.stride; i += WIDTH) store(at.off.data() + k * at.stride + i, load(at.z.data() + k * at.stride + i) - mean);
            }
            float* along = at.along.data() + c * directions_ * at.stride;
            product(directions_, at.stride, width_, {axes_.data() + c * directions_ * row_, row_, 1}, at.off.data(), at.stride, along, at.stride);
            if (has_rest_)
                for (Size i = 0; i < at.stride; i += HALF) store(at.length.data() + i, sum_of_squares(at.stride, width_, at.off.data() + i));
            find_squares(c, at);
        }
    }

    // The same for the points start + at * step of a line; where a point lies along a direction is linear in `at`.
    void look(Panel& at, const float* start, const float* step, const float* positions) const {
        float *off = at.off.data(), *last = at.off.data() + row_;
        for (Size c = 0; c < count_; ++c) {
            see(c, start, step, off, last);
            for (Size j = 0; j < directions_; ++j) {
                const float* axis = axes_.data() + (c * directions_ + j) * row_;
                const Floats from = all(dot(axis, off, row_)), by = all(dot(axis, last, row_));
                float* along = at.along.data() + (c * directions_ + j) * at.stride;
                for (Size i = 0; i < at.stride; i += WIDTH) store(along + i, fma(load(positions + i), by, from));
            }
            if (has_rest_) {
                double square = 0, across = 0, of_step = 0;
                for (Size k = 0; k < width_; ++k) {
                    const double a = double(off[k]), b = double(last[k]);
                    square += a * a, across += a * b, of_step += b * b;
                }
                for (Size i = 0; i < at.stride; ++i) {
                    const double place = double(positions[i]);
                    at.length.data()[i] = std::max(square + place * (2 * across + place * of_step), 0.0);
                }
            }
            find_squares(c, at);
        }
    }

    // Add to each level's output the logarithm of the density; `out` is (count, apart) and begins at the first level.
    void add(Panel& at, Size count, double* out, Size apart) const {
        double tops[WIDTH], logs[WIDTH];
        float sums[WIDTH];
        for (Size s = 0; s < levels_; ++s)
            for (Size i = 0; i < count; i += WIDTH) {
                store(sums, terms(at, s, i, tops));
                for (int half = 0; half < WIDTH; half += HALF) store(logs + half, load(tops + half) + logarithm(widened(sums + half)));
                for (Size place = i; place < std::min(i + WIDTH, count); ++place) out[place * apart + s] += logs[place - i];
            }
    }

    // Find how strongly each component pulls at each place: from derivatives by the levels, (levels, stride).
    void weigh(Panel& at, const float* by) const {
        double tops[WIDTH];
        for (Size s = 0; s < levels_; ++s)
            for (Size i = 0; i < at.stride; i += WIDTH) {
                const Floats share = load(by + s * at.stride + i) / terms(at, s, i, tops);
                for (Size c = 0; c < count_; ++c) {
                    float slopes[WIDTH];
                    for (int half = 0; half < WIDTH; half += HALF) store_rounded(slopes + half, slope(load(at.square.data() + place(c, s, at) + i + half)));
                    const Floats part = exponential(below_top(at.term.data() + c * WIDTH, tops));
                    store(at.strength.data() + place(c, s, at) + i, part * share * load(slopes));
                }
            }
    }

    // Add to `out`, (p, stride), the gradient at each place of what `weigh` was given derivatives by.
    void pull(Panel& at, float* out) const {
        for (Size c = 0; c < count_; ++c) {
            turn(c, at);
            product(width_, at.stride, directions_, {axes_.data() + c * directions_ * row_, 1, row_}, at.turned.data(), at.stride, out, at.stride, out,
                    at.stride);
            if (!has_rest_) continue;
            for (Size k = 0; k < width_; ++k) {
                const Floats mean = all(mean_.data()[c * row_ + k]);
                for (Size i = 0; i < at.stride; i += WIDTH) {
                    float* to = out + k * at.stride + i;
                    store(to, fma(load(at.rests.data() + i), load(at.z.data() + k * at.stride + i) - mean, load(to)));
                }
            }
        }
    }

    // The same for the points of a line, summed over them: `out` is (p,), padded.
    void pull(Panel& at, const float* start, const float* step, const float* positions, float* out) const {
        float *off = at.off.data(), *last = at.off.data() + row_;
        for (Size c = 0; c < count_; ++c) {
            turn(c, at);
            for (Size j = 0; j < directions_; ++j)
                add_scaled(out, total(at.turned.data() + j * at.stride, at.stride), axes_.data() + (c * directions_ + j) * row_, row_);
            if (!has_rest_) continue;
            see(c, start, step, off, last);
            add_scaled(out, total(at.rests.data(), at.stride), off, row_);
            add_scaled(out, dot(at.rests.data(), positions, at.stride), last, row_);
        }
    }

  private:
    Size place(Size c, Size s, const Panel& at) const { return (c * levels_ + s) * at.stride; }

    // A line's start as seen from a component's mean, and its step.
    void see(Size c, const float* start, const float* step, float* off, float* last) const {
        std::fill(off, off + row_, 0.0f), std::fill(last, last + row_, 0.0f);
        for (Size k = 0; k < width_; ++k) off[k] = start[k] - mean_.data()[c * row_ + k], last[k] = step[k];
    }

    static float total(const float* x, Size count) {
        Floats sums = all(0.0f);
        for (Size i = 0; i < count; i += WIDTH) sums = sums + load(x + i);
        return sum(sums);
    }

    static Doubles sum_of_squares(Size stride, Size depth, const float* x) {
        Doubles sums = all(0.0);
        for (Size k = 0; k < depth; ++k) {
            const Doubles each = widened(x + k * stride);
            sums = fma(each, each, sums);
        }
        return sums;
    }

    // The squared distance to a component at each level: what the directions hold, each by its precision, and the rest.
    void find_squares(Size c, Panel& at) const {
        const float* along = at.along.data() + c * directions_ * at.stride;
        if (has_rest_)
            for (Size i = 0; i < at.stride; i += HALF)
                store(at.length.data() + i, max(load(at.length.data() + i) - sum_of_squares(at.stride, directions_, along + i), all(0.0)));
        Size s = 0;
        for (; s + 2 <= levels_; s += 2) find_squares<2>(c, s, along, at);
        if (s < levels_) find_squares<1>(c, s, along, at);
    }

    template <int LEVELS>
    void find_squares(Size c, Size first, const float* along, Panel& at) const {
        const double *precision = precision_.data() + (c * levels_ + first) * directions_, *rest = rest_.data() + c * levels_ + first;
        for (Size i = 0; i < at.stride; i += WIDTH) {
            Doubles sums[LEVELS][2];
            for (int s = 0; s < LEVELS; ++s)
                for (int half = 0; half < 2; ++half) sums[s][half] = has_rest_ ? all(rest[s]) * load(at.length.data() + i + half * HALF) : all(0.0);
            for (Size j = 0; j < directions_; ++j) {
                Doubles square[2];
                for (int half = 0; half < 2; ++half) {
                    const Doubles each = widened(along + j * at.stride + i + half * HALF);
                    square[half] = each * each;
                }
                for (int s = 0; s < LEVELS; ++s)
                    for (int half = 0; half < 2; ++half) sums[s][half] = fma(square[half], all(precision[s * directions_ + j]), sums[s][half]);
            }
            for (int s = 0; s < LEVELS; ++s)
                for (int half = 0; half < 2; ++half) store(at.square.data() + place(c, first + s, at) + i + half * HALF, sums[s][half]);
        }
    }

    // Find the logarithms of a vector of places, one for each component, in `at.term`, and the highest in `tops`; return the
    // sum over the components of e^(logarithm - highest).
    Floats terms(Panel& at, Size s, Size i, double* tops) const {
        Doubles top[2];
        for (Size c = 0; c < count_; ++c)
            for (int half = 0; half < 2; ++half) {
                const Doubles term = all(level_.data()[c * levels_ + s]) - depth(load(at.square.data() + place(c, s, at) + i + half * HALF));
                store(at.term.data() + c * WIDTH + half * HALF, term);
                top[half] = c ? max(top[half], term) : term;
            }
        for (int half = 0; half < 2; ++half) store(tops + half * HALF, top[half]);
        if (count_ == 1) return all(1.0f);
        Floats sums = all(0.0f);
        for (Size c = 0; c < count_; ++c) sums = sums + exponential(below_top(at.term.data() + c * WIDTH, tops));
        return sums;
    }

    // How much lower a component's logarithm is at this squared distance; and twice the logarithm's slope by the square.
    Doubles depth(Doubles square) const {
        return degrees_ > 0 ? all(0.5 * (degrees_ + double(width_))) * log_1_plus(square / all(degrees_)) : all(0.5) * square;
    }
    Doubles slope(Doubles square) const {
        return degrees_ > 0 ? all(-(degrees_ + double(width_))) / (all(degrees_) + square) : all(-1.0);
    }

    // By how much logarithms lie below the highest, where that makes a difference.
    static Floats below_top(const double* term, const double* tops) {
        float found[WIDTH];
        for (int half = 0; half < WIDTH; half += HALF) store_rounded(found + half, max(load(term + half) - load(tops + half), all(-100.0)));
        return load(found);
    }

    // Sum a component's pulls over the levels: along each direction, and for the rest.
    void turn(Size c, Panel& at) const {
        at.turned.clear(), at.rests.clear();
        for (Size s = 0; s < levels_; ++s) {
            const float *strength = at.strength.data() + place(c, s, at), *excess = excess_.data() + (c * levels_ + s) * directions_;
            add_scaled(at.rests.data(), float(rest_.data()[c * levels_ + s]), strength, at.stride);
            for (Size j = 0; j < directions_; ++j) {
                const float *along = at.along.data() + (c * directions_ + j) * at.stride;
                float* to = at.turned.data() + j * at.stride;
                for (Size i = 0; i < at.stride; i += WIDTH) store(to + i, fma(load(strength + i) * all(excess[j]), load(along + i), load(to + i)));
            }
        }
    }

    Size count_ = 0, width_ = 0, row_ = 0, directions_ = 0, levels_ = 0;
    double degrees_ = 0;             // of freedom; 0: Gaussians
    bool has_rest_ = false;          // where directions are fewer than columns
    Buffer<float> mean_, axes_;      // (components, p padded), (components, directions, p padded)
    Buffer<double> precision_;       // (components, levels, directions)
    Buffer<float> excess_;           // the same, less the rest
    Buffer<double> rest_, level_;    // (components, levels)
};

}  // namespace TARGET
