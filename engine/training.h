// Steps of training with gradients written out. The losses are those of torch/losses.py, where autograd finds the same.
//
// With h the inputs and a = φ(h) the outputs of each layer, and u the head folded through the linear projection:
//     score       m_L = u φ'(h_L),  m_i = (m_{i+1} W_{i+1}) φ'(h_i),  score = m_1 W_1   (a chain down)
//     its loss's derivative by these is a chain up, followed by ordinary back-propagation, which the global loss shares.
#pragma once

#include <stdexcept>

#include "mixture.h"

namespace TARGET {

// One linear layer inside the flat memory of all parameters: rows of weights padded to whole vectors.
struct LayerAt {
    Size in, out, row, weight, bias;  // row: in, padded; weight, bias: where they begin
};

class Learner {
  public:
    explicit Learner(const Training& asked) : job(asked), width(asked.width), row(padded(asked.width)) {
        Size next = 0;
        auto add = [&](Size in, Size out) {
            const LayerAt layer{in, out, padded(in), next, next + out * padded(in)};
            next = layer.bias + padded(out);
            all_layers.push_back(layer);
            return layer;
        };
        for (int t = 0; t < job.trunks; ++t) {
            trunks.emplace_back();
            Size in = width;
            for (Size out : job.hidden) {
                trunks.back().push_back(add(in, out));
                in = out;
            }
            trunks.back().push_back(add(in, in));  // the projection
        }
        top = job.hidden.back();
        global = add(top, 1);
        local = add(top, job.potentials);
        values = Buffer<float>(next), means = Buffer<float>(next), squares = Buffer<float>(next), gradient = Buffer<float>(next);
        for (const LayerAt& layer : all_layers) across.emplace_back(layer.in * padded(layer.out));
        copy(job.values, values, true), copy(job.mean, means, true), copy(job.square, squares, true);
        make_room();
    }

    void run() {
        for (Size step = 0; step < job.steps; ++step) {
            gather(step);
            gradient.clear();
            transpose();
            double loss[2] = {0, 0};
            const Size compared_rows = 2 * job.candidates;
            if (job.trunks == 1) {
                pass(0, 0, compared_rows, job.noised, loss);
            } else {
                if (compared_rows) pass(0, 0, compared_rows, 0, loss);
                if (job.noised) pass(1, compared_rows, 0, job.noised, loss);
            }
            for (int head = 0; head < 2; ++head) job.losses[step * job.loss_stride + head] = float(loss[head]);
            update(job.rates[step]);
        }
        copy(job.values, values, false), copy(job.mean, means, false), copy(job.square, squares, false);
    }

  private:
    void make_room() {
        const Size rows_ = 2 * job.candidates + job.noised;
        Size widest = row;
        for (Size out : job.hidden) widest = std::max(widest, padded(out));
        rows = Buffer<float>(rows_ * row), drawn = Buffer<float>(job.noised * row);
        for (Size out : job.hidden)
            for (auto* each : {&value, &slope, &curve, &outward, &inward}) each->emplace_back(rows_ * padded(out));
        for (auto* each : {&here, &there}) *each = Buffer<float>(rows_ * widest);
        residual = Buffer<float>(job.noised * row), learned = Buffer<float>(row);
        std::memcpy(learned.data(), job.learned, width * sizeof(float));
        for (Size j = 0; j < width; ++j) sloping += job.learned[j] != 0.0f;
        folded = Buffer<float>((1 + job.potentials) * padded(top)), pulls = Buffer<float>((1 + job.potentials) * padded(top));
        const Size pairs = job.opponents * job.candidates;
        preferred = Buffer<float>(padded(pairs)), difference = Buffer<float>(padded(pairs)), by_logit = Buffer<float>(2 * job.candidates);
        if (job.metric != Metric::given && job.candidates) {
            anchor_columns = (job.anchors + 2 * WIDTH - 1) / (2 * WIDTH) * 2 * WIDTH;
            compared = Buffer<float>(2 * job.candidates * row), anchors = Buffer<float>(width * anchor_columns);
            far = Buffer<float>(2 * job.candidates * anchor_columns);
        }
        if (job.prior.count) {
            prior = Gaussians(job.prior, width, job.potentials);
            off = Buffer<float>(job.noised * row), distances = Buffer<float>((job.noised + 1) * prior.columns());
            shares = Buffer<float>(job.noised * prior.columns());
        }
    }

    // Between the layout of a model file, one parameter after another, and the padded one.
    void copy(float* file, Buffer<float>& own, bool in) {
        for (const LayerAt& layer : all_layers) {
            for (Size o = 0; o < layer.out; ++o, file += layer.in) move(file, own.data() + layer.weight + o * layer.row, layer.in, in);
            move(file, own.data() + layer.bias, layer.out, in);
            file += layer.out;
        }
    }
    static void move(float* file, float* own, Size count, bool in) { std::memcpy(in ? own : file, in ? file : own, count * sizeof(float)); }

    const float* row_at(const float* of, std::int64_t position) const { return of + position * width; }

    // Put the step's rows together, noise added, and find out who is preferred.
    void gather(Size step) {
        const std::int64_t* position = job.positions + step * job.position_stride;
        const Size compared_rows = 2 * job.candidates;
        for (Size i = 0; i < compared_rows + job.noised; ++i)
            std::memcpy(rows.data() + i * row, row_at(job.rows, position[i]), width * sizeof(float));
        for (Size i = 0; i < job.noised; ++i) {
            std::memcpy(drawn.data() + i * row, job.noise + step * job.noise_stride + i * width, width * sizeof(float));
            for (Size j = 0; j < row; j += WIDTH) store(drawn.data() + i * row + j, load(drawn.data() + i * row + j) * load(learned.data() + j));
            add_scaled(rows.data() + (compared_rows + i) * row, job.eta[i], drawn.data() + i * row, row);
        }
        if (!job.candidates) return;
        if (job.metric == Metric::given)
            std::memcpy(preferred.data(), job.preferred + step * job.preferred_stride, job.opponents * job.candidates * sizeof(float));
        else
            compare(position, position + compared_rows + job.noised);
    }

    // The share of anchors that are nearer to the first candidate than to its opponent; ties do not vote.
    void compare(const std::int64_t* candidates, const std::int64_t* before) {
        const Size b = job.candidates;
        for (Size i = 0; i < 2 * b; ++i) std::memcpy(compared.data() + i * row, row_at(job.vectors, candidates[i]), width * sizeof(float));
        for (Size j = 0; j < job.anchors; ++j) {
            const float* anchor = row_at(job.vectors, before[j]);
            for (Size k = 0; k < width; ++k) anchors.data()[k * anchor_columns + j] = anchor[k];
        }
        const View from{compared.data(), row, 1};
        if (job.metric == Metric::manhattan) {
            gaps<false>(2 * b, anchor_columns, width, from, anchors.data(), anchor_columns, far.data(), anchor_columns);
        } else {  // ½|x - a|² less ½|a|², which no difference feels
            product(2 * b, anchor_columns, width, from, anchors.data(), anchor_columns, far.data(), anchor_columns);
            for (Size i = 0; i < 2 * b; ++i) {
                const Floats half = all(0.5f * dot(compared.data() + i * row, compared.data() + i * row, row));
                for (Size j = 0; j < anchor_columns; j += WIDTH)
                    store(far.data() + i * anchor_columns + j, half - load(far.data() + i * anchor_columns + j));
            }
        }
        for (Size i = 0; i < 2 * b; ++i)  // where there is no anchor, nobody is nearer
            std::fill(far.data() + i * anchor_columns + job.anchors, far.data() + (i + 1) * anchor_columns, 0.0f);
        const Floats tie = all(job.tie), one = all(1.0f), zero = all(0.0f);
        for (Size s = 0; s < job.opponents; ++s)
            for (Size i = 0; i < b; ++i) {
                const float *first = far.data() + i * anchor_columns, *second = far.data() + (b + (i + s) % b) * anchor_columns;
                Floats wins = zero, losses = zero;
                for (Size j = 0; j < anchor_columns; j += WIDTH) {
                    const Floats margin = load(second + j) - load(first + j);
                    wins = wins + if_less(tie, margin, one, zero);
                    losses = losses + if_less(margin, zero - tie, one, zero);
                }
                const float won = sum(wins), lost = sum(losses);
                preferred.data()[s * b + i] = 0.5f + 0.5f * (won - lost) / std::max(won + lost, 1.0f);
            }
    }

    void transpose() {
        for (std::size_t i = 0; i < all_layers.size(); ++i) {
            const LayerAt& layer = all_layers[i];
            const Size to = padded(layer.out);
            const float* from = values.data() + layer.weight;
            for (Size o = 0; o < layer.out; o += 16)  // squares that stay in the cache
                for (Size k = 0; k < layer.in; ++k)
                    for (Size each = o; each < std::min(o + 16, layer.out); ++each) across[i].data()[k * to + each] = from[each * layer.row + k];
        }
    }

    // Rows through one trunk, forward and back: `compared_rows` candidates, then `noised` rows.
    void pass(int number, Size from, Size compared_rows, Size noised, double* loss) {
        const std::vector<LayerAt>& layers = trunks[number];
        const std::size_t first_across = number * layers.size();
        const Size count = compared_rows + noised, depth = Size(layers.size()) - 1;
        const float* input = rows.data() + from * row;
        for (Size l = 0; l < depth; ++l) {
            const LayerAt& layer = layers[l];
            const Size out = padded(layer.out);
            float* h = here.data();
            product(count, out, layer.in, {l ? value[l - 1].data() : input, layer.row, 1}, across[first_across + l].data(), out, h, out,
                    values.data() + layer.bias, 0);
            for (Size i = 0; i < count * out; i += WIDTH) {
                const Gelu g = gelu_and_slopes(load(h + i));
                store(value[l].data() + i, g.value);
                store(slope[l].data() + i, g.slope);
                store(curve[l].data() + i, g.curve);
            }
        }
        const LayerAt& projection = layers.back();
        const Size q = padded(top);
        float* by_h = here.data();
        if (compared_rows) compare_by_logit(projection, loss);
        if (noised) match_score(layers, first_across, input, compared_rows, noised, loss);
        finish_heads(projection, compared_rows > 0, noised > 0);
        for (Size i = 0; i < compared_rows; ++i)
            for (Size j = 0; j < q; j += WIDTH)
                store(by_h + i * q + j, all(by_logit.data()[i]) * load(folded.data() + j) * load(slope[depth - 1].data() + i * q + j));
        for (Size i = compared_rows * q; i < count * q; i += WIDTH)
            store(by_h + i, load(outward[depth - 1].data() + i - compared_rows * q) * load(curve[depth - 1].data() + i));
        back_propagate(layers, input, compared_rows, count, by_h);
    }

    void back_propagate(const std::vector<LayerAt>& layers, const float* input, Size compared_rows, Size count, float* by_h) {
        float* next = there.data();
        for (Size l = Size(layers.size()) - 2; l >= 0; --l) {
            const LayerAt& layer = layers[l];
            const Size out = padded(layer.out);
            float *weight = gradient.data() + layer.weight, *bias = gradient.data() + layer.bias;
            product(layer.out, layer.row, count, {by_h, 1, out}, l ? value[l - 1].data() : input, layer.row, weight, layer.row, weight, layer.row);
            for (Size i = 0; i < count; ++i) add_scaled(bias, 1.0f, by_h + i * out, out);
            if (l == 0) break;
            product(count, layer.row, layer.out, {by_h, out, 1}, values.data() + layer.weight, layer.row, next, layer.row);
            const Size split = compared_rows * layer.row;
            for (Size i = 0; i < split; i += WIDTH) store(next + i, load(next + i) * load(slope[l - 1].data() + i));
            for (Size i = split; i < count * layer.row; i += WIDTH)
                store(next + i, fma(load(next + i), load(slope[l - 1].data() + i),
                                    load(outward[l - 1].data() + i - split) * load(curve[l - 1].data() + i)));
            std::swap(by_h, next);
        }
    }

    // The head folded through the projection: one row of `folded` for the logit, then one for each potential.
    void fold(const LayerAt& head, const LayerAt& projection, float* to) {
        product(head.out, projection.row, top, {values.data() + head.weight, head.row, 1}, values.data() + projection.weight, projection.row, to,
                projection.row);
    }

    // The cross-entropy between the preferences and the Bradley-Terry model, and its derivative by each logit.
    void compare_by_logit(const LayerAt& projection, double* loss) {
        const Size b = job.candidates, pairs = job.opponents * b, q = padded(top);
        const float* tops = value.back().data();
        fold(global, projection, folded.data());
        std::vector<float>& logit = logits;
        logit.resize(2 * b);
        for (Size i = 0; i < 2 * b; ++i) logit[i] = dot(tops + i * q, folded.data(), q);  // up to a constant, which no difference feels
        for (Size s = 0; s < job.opponents; ++s)
            for (Size i = 0; i < b; ++i) difference.data()[s * b + i] = logit[i] - logit[b + (i + s) % b];
        double total = 0;
        for (Size i = 0; i < pairs; ++i) total += log_1_plus_exp(difference.data()[i]) - double(preferred.data()[i]) * difference.data()[i];
        loss[0] = total / double(pairs);
        const Floats share = all(job.balance / float(pairs));
        for (Size i = 0; i < pairs; i += WIDTH)
            store(difference.data() + i, (sigmoid(load(difference.data() + i)) - load(preferred.data() + i)) * share);
        std::fill(by_logit.data(), by_logit.data() + 2 * b, 0.0f);
        for (Size s = 0; s < job.opponents; ++s)
            for (Size i = 0; i < b; ++i) {
                by_logit.data()[i] += difference.data()[s * b + i];
                by_logit.data()[b + (i + s) % b] -= difference.data()[s * b + i];
            }
        product(1, q, 2 * b, {by_logit.data(), 0, 1}, tops, q, pulls.data(), q);
    }

    // Denoising score matching: its loss, what it teaches weights directly, and (in `outward`) its derivative by each φ'.
    void match_score(const std::vector<LayerAt>& layers, std::size_t first_across, const float* input, Size skipped, Size noised, double* loss) {
        const Size depth = Size(layers.size()) - 1, q = padded(top), k = job.potentials;
        float *heads = folded.data() + q, *by_head = pulls.data() + q;
        fold(local, layers.back(), heads);
        for (Size i = 0; i < noised; ++i) std::memcpy(outward[depth - 1].data() + i * q, heads + (i % k) * q, q * sizeof(float));
        for (Size l = depth - 1; l >= 0; --l) {  // down: outward holds t, inward m = t φ'
            const LayerAt& layer = layers[l];
            const Size out = padded(layer.out), size = noised * out;
            const float* slopes = slope[l].data() + skipped * out;
            for (Size i = 0; i < size; i += WIDTH) store(inward[l].data() + i, load(outward[l].data() + i) * load(slopes + i));
            product(noised, layer.row, layer.out, {inward[l].data(), out, 1}, values.data() + layer.weight, layer.row,
                    l ? outward[l - 1].data() : residual.data(), layer.row);
        }
        if (job.prior.count) add_prior_score(input + skipped * row, noised);
        double total = 0;
        const double each = 1.0 / (double(noised) * double(sloping));
        for (Size i = 0; i < noised; ++i) {
            float* off_by = residual.data() + i * row;
            const Floats inverse = all(1.0f / job.eta[i]), share = all(job.weight[i] * float(each));
            Floats squares_ = all(0.0f);
            for (Size j = 0; j < row; j += WIDTH) {
                const Floats residual_ = fma(load(drawn.data() + i * row + j), inverse, load(off_by + j)) * load(learned.data() + j);
                squares_ = fma(residual_, residual_, squares_);
                store(off_by + j, residual_ * share);
            }
            total += double(job.weight[i]) * double(sum(squares_));
        }
        loss[1] = 0.5 * total * each;
        float *back = here.data(), *above = there.data();
        std::memcpy(back, residual.data(), noised * row * sizeof(float));
        for (Size l = 0; l < depth; ++l) {  // up again
            const LayerAt& layer = layers[l];
            const Size out = padded(layer.out);
            float* weight = gradient.data() + layer.weight;
            product(layer.out, layer.row, noised, {inward[l].data(), 1, out}, back, layer.row, weight, layer.row, weight, layer.row);
            product(noised, out, layer.in, {back, layer.row, 1}, across[first_across + l].data(), out, above, out);
            const float* slopes = slope[l].data() + skipped * out;
            for (Size i = 0; i < noised * out; i += WIDTH) {
                const Floats came = load(above + i);
                store(outward[l].data() + i, load(outward[l].data() + i) * came);
                store(above + i, came * load(slopes + i));
            }
            std::swap(back, above);
        }
        std::fill(by_head, by_head + k * q, 0.0f);
        for (Size i = 0; i < noised; ++i) add_scaled(by_head + (i % k) * q, 1.0f, back + i * q, q);
    }

    void add_prior_score(const float* z, Size noised) {
        prior.rough_distances(noised, z, row, off.data(), distances.data());
        shares.clear();
        const Size columns = prior.columns();
        for (Size i = 0; i < noised; ++i)
            prior.add_shares(distances.data() + i * columns, i % job.potentials, 1.0f, shares.data() + i * columns, distances.data() + noised * columns);
        prior.pull(noised, shares.data(), off.data(), there.data());
        for (Size i = 0; i < noised * row; i += WIDTH) store(residual.data() + i, load(residual.data() + i) + load(there.data() + i));
    }

    // What both heads, and the projection below them, are taught by the pulls on the folded heads.
    void finish_heads(const LayerAt& projection, bool of_global, bool of_local) {
        const Size q = padded(top);
        auto teach = [&](const LayerAt& head, const float* pull) {
            for (Size h = 0; h < head.out; ++h, pull += q)
                for (Size j = 0; j < top; ++j) {
                    gradient.data()[head.weight + h * head.row + j] = dot(pull, values.data() + projection.weight + j * projection.row, q);
                    add_scaled(gradient.data() + projection.weight + j * projection.row, values.data()[head.weight + h * head.row + j], pull, q);
                }
        };
        if (of_global) teach(global, pulls.data());
        if (of_local) teach(local, pulls.data() + q);
    }

    // Adam's update (Kingma and Ba, 2015); the rate is corrected for moments that begin at zero.
    void update(float rate) {
        const Floats decay = all(job.weight_decay), step = all(-rate), smallest = all(float(job.smallest_root));
        const Floats new_mean = all(float(1 - job.mean_decay)), old_square = all(float(job.square_decay)), new_square = all(float(1 - job.square_decay));
        for (Size i = 0; i < values.size(); i += WIDTH) {
            const Floats g = fma(decay, load(values.data() + i), load(gradient.data() + i));
            const Floats mean = fma(g - load(means.data() + i), new_mean, load(means.data() + i));
            const Floats square = fma(g * new_square, g, load(squares.data() + i) * old_square);
            store(means.data() + i, mean);
            store(squares.data() + i, square);
            store(values.data() + i, fma(mean * step, all(1.0f) / (sqrt(square) + smallest), load(values.data() + i)));
        }
    }

    const Training& job;
    Size width, row, top = 0, anchor_columns = 0, sloping = 0;  // sloping: columns whose slopes are learned
    std::vector<std::vector<LayerAt>> trunks;  // the last of each is its projection
    std::vector<LayerAt> all_layers;
    LayerAt global{}, local{};
    Buffer<float> values, means, squares, gradient;
    std::vector<Buffer<float>> across, value, slope, curve, outward, inward;  // outward, inward: of noised rows only
    Buffer<float> rows, drawn, here, there, residual, learned, folded, pulls, preferred, difference, by_logit;
    Buffer<float> compared, anchors, far, off, distances, shares;
    std::vector<float> logits;
    Gaussians prior;
};

}  // namespace TARGET
