// Groups of rows: rows that lie far apart, to begin with, and k-means from there. fuse/initialize.py uses both.
//
// Every distance is a sum in one order and every total is added up row by row, so that all builds find the same groups:
// a row between two centres would else go to the one or the other by the last digit of a distance.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "memory.h"
#include "products.h"

namespace TARGET {

// Rows, column by column, so that squared distances to all of them are found together.
class Across {
  public:
    Across(Size width, Size most) : width_(width), columns_((most + 2 * WIDTH - 1) / (2 * WIDTH) * 2 * WIDTH), across_(width * columns_) {}

    template <class Row>
    void hold(Size count, Row row) {
        count_ = count;
        transpose(count, width_, row, across_.data(), columns_);
    }

    Size columns() const { return columns_; }

    // (rows, columns); infinite for columns that hold no row.
    void squares(Size rows, const float* from, float* found) const {
        gaps<true>(rows, columns_, width_, {from, width_, 1}, across_.data(), columns_, found, columns_);
        for (Size i = 0; i < rows; ++i) std::fill(found + i * columns_ + count_, found + (i + 1) * columns_, std::numeric_limits<float>::infinity());
    }

  private:
    Size width_, columns_, count_ = 0;
    Buffer<float> across_;
};

// As k-means++ begins: the next row is drawn by its squared distance to the nearest one picked, some times over; of these the
// one is picked that leaves the least distance in all. `drawn` are numbers between 0 and 1, (count - 1, trials).
static void far_apart(Size width, Size n, const float* rows, Size first, Size count, Size trials, const double* drawn, std::int64_t* picked) {
    Across all_rows(width, n);
    all_rows.hold(n, [&](Size i) { return rows + i * width; });
    Buffer<float> tried(trials * width), squares(trials * all_rows.columns());
    std::vector<float> nearest(std::size_t(n), std::numeric_limits<float>::infinity());
    std::vector<Size> row(std::size_t(trials), first);
    const auto left = [&](const float* square) {
        double total = 0;
        for (Size i = 0; i < n; ++i) total += double(std::min(nearest[std::size_t(i)], square[i]));
        return total;
    };
    for (Size place = 0;; ++place) {
        const Size some = place ? trials : 1;
        for (Size t = 0; t < some; ++t) std::copy_n(rows + row[std::size_t(t)] * width, width, tried.data() + t * width);
        all_rows.squares(some, tried.data(), squares.data());
        Size best = 0;
        double least = left(squares.data());
        for (Size t = 1; t < some; ++t) {
            const double leaves = left(squares.data() + t * all_rows.columns());
            if (leaves < least) least = leaves, best = t;
        }
        const float* square = squares.data() + best * all_rows.columns();
        for (Size i = 0; i < n; ++i) nearest[std::size_t(i)] = std::min(nearest[std::size_t(i)], square[i]);
        picked[place] = row[std::size_t(best)];
        if (place + 1 == count) return;
        for (Size t = 0; t < trials; ++t) {
            const double wanted = drawn[place * trials + t] * least;
            double sum = 0;
            Size i = 0;
            while (i < n - 1 && (sum += double(nearest[std::size_t(i)])) < wanted) ++i;
            row[std::size_t(t)] = i;
        }
    }
}

// Lloyd's rounds: each row goes to the nearest centre, the first of several as near, and each centre to the mean of its rows;
// one without rows stays where it is. `centres` is changed in place; at the end, `owner` belongs to the centres as they are.
static void k_means(Size width, Size n, const float* rows, Size count, Size rounds, double* centres, std::int64_t* owner) {
    constexpr Size AT_ONCE = 6;  // rows, as many as a tile has
    Across places(width, count);
    Buffer<float> rounded(count * width), squares(AT_ONCE * places.columns());
    std::vector<double> sums(std::size_t(count * width));
    std::vector<Size> sizes(std::size_t(count), 0);
    std::fill_n(owner, n, std::int64_t(-1));
    for (Size round = 0;; ++round) {
        for (Size k = 0; k < count * width; ++k) rounded.data()[k] = float(centres[k]);
        places.hold(count, [&](Size c) { return rounded.data() + c * width; });
        bool moved = false;
        for (Size first = 0; first < n; first += AT_ONCE) {
            const Size some = std::min(AT_ONCE, n - first);
            places.squares(some, rows + first * width, squares.data());
            for (Size i = 0; i < some; ++i) {
                const float* square = squares.data() + i * places.columns();
                Floats lowest = load(square);
                for (Size c = WIDTH; c < places.columns(); c += WIDTH) lowest = min(lowest, load(square + c));
                const float nearest = -highest(all(0.0f) - lowest);
                const Floats above = all(std::nextafter(nearest, std::numeric_limits<float>::infinity()));
                Size c = 0;
                while (c + WIDTH < places.columns() && !any_less(load(square + c), above)) c += WIDTH;
                while (c + 1 < count && square[c] > nearest) ++c;
                c = std::min(c, count - 1);
                moved = moved || owner[first + i] != c;
                owner[first + i] = c;
            }
        }
        if (!moved || round == rounds) return;
        std::fill(sums.begin(), sums.end(), 0.0);
        std::fill(sizes.begin(), sizes.end(), Size(0));
        for (Size i = 0; i < n; ++i) {
            ++sizes[std::size_t(owner[i])];
            for (Size k = 0; k < width; ++k) sums[std::size_t(Size(owner[i]) * width + k)] += double(rows[i * width + k]);
        }
        for (Size c = 0; c < count; ++c)
            if (sizes[std::size_t(c)])
                for (Size k = 0; k < width; ++k) centres[c * width + k] = sums[std::size_t(c * width + k)] / double(sizes[std::size_t(c)]);
    }
}

}  // namespace TARGET
