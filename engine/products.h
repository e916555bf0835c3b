// Matrix products, each of whose results is a sum over k in one fixed order: the same bits in any tile, batch or thread.
#pragma once

#include <cstddef>

#include "lanes.h"

namespace TARGET {

using Size = std::ptrdiff_t;

// A matrix whose element (i, k) is at[i * row + k * column].
struct View {
    const float* at;
    Size row, column;
};

// A tile of `ROWS` rows and `VECTORS` vectors of the result stays in registers while k runs.
template <int ROWS, int VECTORS>
INLINE void tile(Size depth, View a, const float* b, Size b_row, float* c, Size c_row, const float* start, Size start_row) {
    Floats sums[ROWS][VECTORS];
    for (int i = 0; i < ROWS; ++i)
        for (int j = 0; j < VECTORS; ++j) sums[i][j] = start ? load(start + i * start_row + j * WIDTH) : all(0.0f);
    for (Size k = 0; k < depth; ++k) {
        Floats right[VECTORS];
        for (int j = 0; j < VECTORS; ++j) right[j] = load(b + k * b_row + j * WIDTH);
        for (int i = 0; i < ROWS; ++i) {
            const Floats left = all(a.at[i * a.row + k * a.column]);
            for (int j = 0; j < VECTORS; ++j) sums[i][j] = fma(left, right[j], sums[i][j]);
        }
    }
    for (int i = 0; i < ROWS; ++i)
        for (int j = 0; j < VECTORS; ++j) store(c + i * c_row + j * WIDTH, sums[i][j]);
}

#if defined(ENGINE_AVX512)
constexpr int TILE_ROWS = 6, TILE_VECTORS = 4;  // 24 of 32 registers
#elif defined(ENGINE_AVX2)
constexpr int TILE_ROWS = 6, TILE_VECTORS = 1;  // 12 of 16 registers, which hold 8 floats
#else
constexpr int TILE_ROWS = 4, TILE_VECTORS = 1;
#endif

template <int VECTORS>
static void panel(Size rows, Size depth, View a, const float* b, Size b_row, float* c, Size c_row, const float* start, Size start_row) {
    Size i = 0;
    for (; i + TILE_ROWS <= rows; i += TILE_ROWS)
        tile<TILE_ROWS, VECTORS>(depth, {a.at + i * a.row, a.row, a.column}, b, b_row, c + i * c_row, c_row, start ? start + i * start_row : nullptr,
                                 start_row);
    for (; i + 2 <= rows; i += 2)  // with a single row, the multipliers would wait for its sums
        tile<2, VECTORS>(depth, {a.at + i * a.row, a.row, a.column}, b, b_row, c + i * c_row, c_row, start ? start + i * start_row : nullptr,
                         start_row);
    for (; i < rows; ++i)
        tile<1, VECTORS>(depth, {a.at + i * a.row, a.row, a.column}, b, b_row, c + i * c_row, c_row, start ? start + i * start_row : nullptr,
                         start_row);
}

// c = start + a b for `rows` x `columns` results; columns is a multiple of WIDTH. A null `start` means zero; a row
// stride of 0 repeats one row (a bias); `start` may be c itself.
static void product(Size rows, Size columns, Size depth, View a, const float* b, Size b_row, float* c, Size c_row, const float* start = nullptr,
                    Size start_row = 0) {
    Size j = 0;
    for (; j + TILE_VECTORS * WIDTH <= columns; j += TILE_VECTORS * WIDTH)
        panel<TILE_VECTORS>(rows, depth, a, b + j, b_row, c + j, c_row, start ? start + j : nullptr, start_row);
    for (; TILE_VECTORS > 3 && j + 3 * WIDTH <= columns; j += 3 * WIDTH)
        panel<3>(rows, depth, a, b + j, b_row, c + j, c_row, start ? start + j : nullptr, start_row);
    for (; TILE_VECTORS > 2 && j + 2 * WIDTH <= columns; j += 2 * WIDTH)
        panel<2>(rows, depth, a, b + j, b_row, c + j, c_row, start ? start + j : nullptr, start_row);
    for (; j < columns; j += WIDTH) panel<1>(rows, depth, a, b + j, b_row, c + j, c_row, start ? start + j : nullptr, start_row);
}

// A tile of sums over k of (a - b)² or |a - b|, without the cancellation of |a|² + |b|² - 2ab.
template <bool SQUARED, int ROWS, int VECTORS>
INLINE void gaps_tile(Size depth, View a, const float* b, Size b_row, float* c, Size c_row) {
    Floats sums[ROWS][VECTORS];
    for (auto& row : sums)
        for (Floats& each : row) each = all(0.0f);
    for (Size k = 0; k < depth; ++k) {
        Floats right[VECTORS];
        for (int j = 0; j < VECTORS; ++j) right[j] = load(b + k * b_row + j * WIDTH);
        for (int i = 0; i < ROWS; ++i) {
            const Floats left = all(a.at[i * a.row + k * a.column]);
            for (int j = 0; j < VECTORS; ++j) {
                const Floats gap = left - right[j];
                sums[i][j] = SQUARED ? fma(gap, gap, sums[i][j]) : sums[i][j] + abs(gap);
            }
        }
    }
    for (int i = 0; i < ROWS; ++i)
        for (int j = 0; j < VECTORS; ++j) store(c + i * c_row + j * WIDTH, sums[i][j]);
}

template <bool SQUARED, int VECTORS>
static void gaps_panel(Size rows, Size depth, View a, const float* b, Size b_row, float* c, Size c_row) {
    const auto from = [&](Size i) { return View{a.at + i * a.row, a.row, a.column}; };
    Size i = 0;
    for (; i + TILE_ROWS <= rows; i += TILE_ROWS) gaps_tile<SQUARED, TILE_ROWS, VECTORS>(depth, from(i), b, b_row, c + i * c_row, c_row);
    for (; i < rows; ++i) gaps_tile<SQUARED, 1, VECTORS>(depth, from(i), b, b_row, c + i * c_row, c_row);
}

// c = Σ (a - b)² or Σ |a - b| for `rows` x `columns` results; columns is a multiple of WIDTH.
template <bool SQUARED>
static void gaps(Size rows, Size columns, Size depth, View a, const float* b, Size b_row, float* c, Size c_row) {
    Size j = 0;
    for (; j + TILE_VECTORS * WIDTH <= columns; j += TILE_VECTORS * WIDTH)
        gaps_panel<SQUARED, TILE_VECTORS>(rows, depth, a, b + j, b_row, c + j, c_row);
    for (; j < columns; j += WIDTH) gaps_panel<SQUARED, 1>(rows, depth, a, b + j, b_row, c + j, c_row);
}

INLINE float dot(const float* a, const float* b, Size n) {  // n is a multiple of WIDTH
    Floats total = all(0.0f);
    for (Size i = 0; i < n; i += WIDTH) total = fma(load(a + i), load(b + i), total);
    return sum(total);
}

// y = y + s x over n floats, a multiple of WIDTH.
INLINE void add_scaled(float* y, float s, const float* x, Size n) {
    for (Size i = 0; i < n; i += WIDTH) store(y + i, fma(all(s), load(x + i), load(y + i)));
}

INLINE Size padded(Size n) { return (n + WIDTH - 1) / WIDTH * WIDTH; }

}  // namespace TARGET
