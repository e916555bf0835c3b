// The rows of one step of training: candidates to compare, then rows with noise added; and the preferences.
#pragma once

#include <algorithm>

#include "interface.h"
#include "memory.h"
#include "products.h"

namespace TARGET {

class Batch {
  public:
    explicit Batch(const Training& asked) : row(padded(asked.width)), job_(asked), width_(asked.width) {
        rows = Buffer<float>((2 * job_.candidates + job_.noised) * row), drawn = Buffer<float>(job_.noised * row);
        learned = Buffer<float>(row);
        std::memcpy(learned.data(), job_.learned, width_ * sizeof(float));
        for (Size j = 0; j < width_; ++j) learned_columns += job_.learned[j] != 0.0f;
        preferred = Buffer<float>(padded(job_.opponents * job_.candidates));
        if (job_.metric != Metric::given && job_.candidates) {
            anchor_columns_ = (job_.anchors + 2 * WIDTH - 1) / (2 * WIDTH) * 2 * WIDTH;
            compared_ = Buffer<float>(2 * job_.candidates * row), anchors_ = Buffer<float>(width_ * anchor_columns_);
            far_ = Buffer<float>(2 * job_.candidates * anchor_columns_);
        }
    }

    void gather(Size step) {
        const std::int64_t* position = job_.positions + step * job_.position_stride;
        const Size compared_rows = 2 * job_.candidates;
        for (Size i = 0; i < compared_rows + job_.noised; ++i)
            std::memcpy(rows.data() + i * row, row_at(job_.rows, position[i]), width_ * sizeof(float));
        for (Size i = 0; i < job_.noised; ++i) {
            float* noise = drawn.data() + i * row;
            std::memcpy(noise, job_.noise + step * job_.noise_stride + i * width_, width_ * sizeof(float));
            for (Size j = 0; j < row; j += WIDTH) store(noise + j, load(noise + j) * load(learned.data() + j));
            add_scaled(rows.data() + (compared_rows + i) * row, job_.eta[i], noise, row);
        }
        if (!job_.candidates) return;
        if (job_.metric == Metric::given)
            std::memcpy(preferred.data(), job_.preferred + step * job_.preferred_stride, job_.opponents * job_.candidates * sizeof(float));
        else
            compare(position, position + job_.anchors_at);
    }

    const Size row;  // floats of a row: the width, padded
    Size learned_columns = 0;
    Buffer<float> rows, drawn;  // (2 candidates + noised, row), (noised, row) standard normal
    Buffer<float> learned;      // (row,) 1 for a column whose slope is learned, else 0
    Buffer<float> preferred;    // (opponents, candidates)

  private:
    const float* row_at(const float* of, std::int64_t position) const { return of + position * width_; }

    // The share of anchors that are nearer to the first candidate than to its opponent; ties do not vote.
    void compare(const std::int64_t* candidates, const std::int64_t* before) {
        find_distances(candidates, before);
        const Size b = job_.candidates;
        const Floats tie = all(job_.tie), one = all(1.0f), zero = all(0.0f);
        for (Size s = 0; s < job_.opponents; ++s)
            for (Size i = 0; i < b; ++i) {
                const float *first = far_.data() + i * anchor_columns_, *second = far_.data() + (b + (i + s) % b) * anchor_columns_;
                Floats wins = zero, losses = zero;
                for (Size j = 0; j < anchor_columns_; j += WIDTH) {
                    const Floats margin = load(second + j) - load(first + j);
                    wins = wins + if_less(tie, margin, one, zero);
                    losses = losses + if_less(margin, zero - tie, one, zero);
                }
                const float won = sum(wins), lost = sum(losses);
                preferred.data()[s * b + i] = 0.5f + 0.5f * (won - lost) / std::max(won + lost, 1.0f);
            }
    }

    // The distance of each candidate to each anchor; 0 in the padding after the last anchor, where all candidates tie.
    void find_distances(const std::int64_t* candidates, const std::int64_t* before) {
        const Size count = 2 * job_.candidates;
        for (Size i = 0; i < count; ++i) std::memcpy(compared_.data() + i * row, row_at(job_.vectors, candidates[i]), width_ * sizeof(float));
        transpose(
            job_.anchors, width_, [&](Size j) { return row_at(job_.vectors, before[j]); }, anchors_.data(), anchor_columns_);
        const View from{compared_.data(), row, 1};
        if (job_.metric == Metric::manhattan) {
            gaps<false>(count, anchor_columns_, width_, from, anchors_.data(), anchor_columns_, far_.data(), anchor_columns_);
        } else {  // ½|x|² - x·a: it ranks x by its distance to a, since the ½|a|² left out is the same for all x
            product(count, anchor_columns_, width_, from, anchors_.data(), anchor_columns_, far_.data(), anchor_columns_);
            for (Size i = 0; i < count; ++i) {
                const Floats half = all(0.5f * dot(compared_.data() + i * row, compared_.data() + i * row, row));
                for (Size j = 0; j < anchor_columns_; j += WIDTH)
                    store(far_.data() + i * anchor_columns_ + j, half - load(far_.data() + i * anchor_columns_ + j));
            }
        }
        for (Size i = 0; i < count; ++i) std::fill(far_.data() + i * anchor_columns_ + job_.anchors, far_.data() + (i + 1) * anchor_columns_, 0.0f);
    }

    const Training& job_;
    const Size width_;
    Size anchor_columns_ = 0;
    Buffer<float> compared_, anchors_, far_;
};

}  // namespace TARGET
