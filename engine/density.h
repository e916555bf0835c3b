// How near rows lie to each other: their density, blurred by round noise, at other rows (network/levels.py and
// network/shape.py use it), and the distance to a neighbour (training/noise.py).
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "mixture.h"

namespace TARGET {

// For each row and scale, log Σ exp(-½ d² / η²) over the distances d to the seen rows. The largest term is factored
// out of the sum, which is then at least 1.
static void log_density(Size width, Size n, const float* rows, Size m, const float* seen, Size scales, const double* eta, double* out) {
    constexpr Size AT_ONCE = 6;  // rows, as many as a tile has
    const Size columns = (m + 2 * WIDTH - 1) / (2 * WIDTH) * 2 * WIDTH;
    Buffer<float> across(width * columns), squares(AT_ONCE * columns);
    transpose(
        m, width, [&](Size i) { return seen + i * width; }, across.data(), columns);
    for (Size first = 0; first < n; first += AT_ONCE) {
        const Size count = std::min(AT_ONCE, n - first);
        gaps<true>(count, columns, width, {rows + first * width, width, 1}, across.data(), columns, squares.data(), columns);
        for (Size i = 0; i < count; ++i) {
            float* square = squares.data() + i * columns;
            std::fill(square + m, square + columns, std::numeric_limits<float>::infinity());  // padding: no row
            Floats lowest = load(square);
            for (Size c = WIDTH; c < columns; c += WIDTH) lowest = min(lowest, load(square + c));
            const float nearest = -highest(all(0.0f) - lowest);
            for (Size c = 0; c < columns; c += WIDTH) store(square + c, load(square + c) - all(nearest));
            for (Size s = 0; s < scales; ++s) {
                const Floats times = all(float(-0.5 / (eta[s] * eta[s])));
                Floats total = all(0.0f);
                for (Size c = 0; c < columns; c += WIDTH) total = total + exponential(max(load(square + c) * times, all(-100.0f)));
                out[(first + i) * scales + s] = log_1_plus(double(sum(total)) - 1.0) - 0.5 * double(nearest) / (eta[s] * eta[s]);
            }
        }
    }
}

// The distance of each row to its `order`-th nearest among the other ones, of which there are at least so many.
static void neighbour_distances(Size width, Size n, const float* rows, Size order, double* out) {
    constexpr Size AT_ONCE = 6;  // rows, as many as a tile has
    const Size columns = (n + 2 * WIDTH - 1) / (2 * WIDTH) * 2 * WIDTH;
    Buffer<float> across(width * columns), squares(AT_ONCE * columns);
    std::vector<float> nearest(std::size_t(order), 0.0f);  // rising
    transpose(
        n, width, [&](Size i) { return rows + i * width; }, across.data(), columns);
    for (Size first = 0; first < n; first += AT_ONCE) {
        const Size count = std::min(AT_ONCE, n - first);
        gaps<true>(count, columns, width, {rows + first * width, width, 1}, across.data(), columns, squares.data(), columns);
        for (Size i = 0; i < count; ++i) {
            float* square = squares.data() + i * columns;
            square[first + i] = std::numeric_limits<float>::infinity();  // the row itself
            std::fill(square + n, square + columns, std::numeric_limits<float>::infinity());
            std::fill(nearest.begin(), nearest.end(), std::numeric_limits<float>::infinity());
            for (Size c = 0; c < columns; c += WIDTH) {
                if (!any_less(load(square + c), all(nearest.back()))) continue;
                for (Size k = c; k < c + WIDTH; ++k)
                    if (square[k] < nearest.back()) {  // it takes its place among the nearest
                        Size place = order - 1;
                        for (; place > 0 && nearest[std::size_t(place - 1)] > square[k]; --place)
                            nearest[std::size_t(place)] = nearest[std::size_t(place - 1)];
                        nearest[std::size_t(place)] = square[k];
                    }
            }
            out[first + i] = std::sqrt(double(nearest.back()));
        }
    }
}

}  // namespace TARGET
