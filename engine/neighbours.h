// The distance of rows to their neighbours: fuse/initialize.py uses it.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "memory.h"
#include "products.h"

namespace TARGET {

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
