// Steps of training with explicit gradients. The losses are those of torch/networks.py, where autograd gives the same.
//
// With h the inputs and a = φ(h) the outputs of each layer, and u the head folded through the linear projection:
//     score       m_L = u φ'(h_L),  m_i = (m_{i+1} W_{i+1}) φ'(h_i),  score = m_1 W_1   (a chain down)
//     its loss's derivative by these is a chain up, followed by ordinary back-propagation, which the global loss shares.
#pragma once

#include "background.h"
#include "batch.h"
#include "parameters.h"

namespace TARGET {

class Learner {
  public:
    explicit Learner(const Training& asked) : job(asked), batch(asked), parameters(asked), row(batch.row), top(padded(asked.hidden.back())) {
        const Size rows = 2 * job.candidates + job.noised, pairs = job.opponents * job.candidates;
        Size widest = row;
        for (Size out : job.hidden) {
            widest = std::max(widest, padded(out));
            for (auto* each : {&value, &slope, &curve, &outward, &inward}) each->emplace_back(rows * padded(out));
        }
        for (auto* each : {&here, &there}) *each = Buffer<float>(rows * widest);
        for (auto* each : {&folded, &pulls}) *each = Buffer<float>((1 + job.potentials) * top);
        residual = Buffer<float>(job.noised * row), logits = Buffer<float>(2 * job.candidates);
        difference = Buffer<float>(padded(pairs)), by_logit = Buffer<float>(2 * job.candidates);
        if (job.background.count && job.noised) {
            background = Background(job.background, job.width, job.potentials), panel = background.panel(job.noised);
            by_levels = Buffer<float>(job.potentials * panel.stride), pulled = Buffer<float>(job.width * panel.stride);
            for (Size i = 0; i < job.noised; ++i) by_levels.data()[(i % job.potentials) * panel.stride + i] = 1.0f;
        }
    }

    void run() {
        const Size compared = 2 * job.candidates;
        for (Size step = 0; step < job.steps; ++step) {
            batch.gather(step);
            parameters.begin_step();
            double loss[2] = {0, 0};
            if (job.trunks == 1) {
                pass({0, 0, compared, job.noised}, loss);
            } else {
                if (compared) pass({0, 0, compared, 0}, loss);
                if (job.noised) pass({1, compared, 0, job.noised}, loss);
            }
            for (int head = 0; head < 2; ++head)
                if (job.teaches(head)) job.losses[step * job.loss_stride + head] = float(loss[head]);
            parameters.update(job.rates[step]);
        }
        parameters.save();
    }

  private:
    // The rows of the batch that pass through one trunk: candidates, then noised rows.
    struct Share {
        int trunk;
        Size from, compared, noised;
        Size count() const { return compared + noised; }
    };

    const std::vector<LayerAt>& layers(const Share& of) const { return parameters.trunks[of.trunk]; }
    Size depth(const Share& of) const { return Size(layers(of).size()) - 1; }  // without the projection
    const float* input(const Share& of) const { return batch.rows.data() + of.from * row; }
    const float* weights(const LayerAt& layer) const { return parameters.values.data() + layer.weight; }

    // The forward pass, the losses and their derivatives at the top, then the backward pass.
    void pass(const Share& of, double* loss) {
        forward(of);
        if (of.compared) compare_by_logit(layers(of).back(), loss);
        if (of.noised) match_score(of, loss);
        teach_heads(layers(of).back(), of);
        begin_backward(of);
        backward(of);
    }

    // Values, first and second derivatives of the activations of every layer.
    void forward(const Share& of) {
        for (Size l = 0; l < depth(of); ++l) {
            const LayerAt& layer = layers(of)[l];
            const Size out = padded(layer.out);
            float* h = here.data();
            product(of.count(), out, layer.in, {l ? value[l - 1].data() : input(of), layer.row, 1}, parameters.transposed(of.trunk, l), out, h, out,
                    parameters.values.data() + layer.bias, 0);
            for (Size i = 0; i < of.count() * out; i += WIDTH) {
                const Gelu g = gelu_and_slopes(load(h + i));
                store(value[l].data() + i, g.value);
                store(slope[l].data() + i, g.slope);
                store(curve[l].data() + i, g.curve);
            }
        }
    }

    // The head folded through the projection: one row of `folded` for the logit, then one for each potential.
    void fold(const LayerAt& head, const LayerAt& projection, float* to) {
        product(head.out, projection.row, projection.in, {weights(head), head.row, 1}, weights(projection), projection.row, to, projection.row);
    }

    // The cross-entropy between the preferences and the Bradley-Terry model, and its derivative by each logit.
    void compare_by_logit(const LayerAt& projection, double* loss) {
        const Size b = job.candidates, pairs = job.opponents * b;
        const float *tops = value.back().data(), *preferred = batch.preferred.data();
        float *logit = logits.data(), *d = difference.data(), *by = by_logit.data();
        fold(parameters.global, projection, folded.data());
        for (Size i = 0; i < 2 * b; ++i) logit[i] = dot(tops + i * top, folded.data(), top);  // without biases, which cancel in differences
        for (Size s = 0; s < job.opponents; ++s)
            for (Size i = 0; i < b; ++i) d[s * b + i] = logit[i] - logit[b + (i + s) % b];
        double total = 0;
        for (Size i = 0; i < pairs; ++i) total += log_1_plus_exp(d[i]) - double(preferred[i]) * d[i];
        loss[0] = total / double(pairs);
        const Floats share = all(job.balance / float(pairs));
        for (Size i = 0; i < pairs; i += WIDTH) store(d + i, (sigmoid(load(d + i)) - load(preferred + i)) * share);
        std::fill(by, by + 2 * b, 0.0f);
        for (Size s = 0; s < job.opponents; ++s)
            for (Size i = 0; i < b; ++i) {
                by[i] += d[s * b + i];
                by[b + (i + s) % b] -= d[s * b + i];
            }
        product(1, top, 2 * b, {by, 0, 1}, tops, top, pulls.data(), top);
    }

    // Denoising score matching: its loss, its direct gradient by weights, and (in `outward`) its derivative by each φ'.
    void match_score(const Share& of, double* loss) {
        score_of_rows(of);
        if (background) add_score_of_background(input(of) + of.compared * row, of.noised);
        loss[1] = loss_of_residuals(of.noised);
        score_backward(of);
    }

    // Down the chain to the score of each noised row: outward holds t, inward m = t φ'.
    void score_of_rows(const Share& of) {
        float* heads = folded.data() + top;
        fold(parameters.local, layers(of).back(), heads);
        for (Size i = 0; i < of.noised; ++i)
            std::memcpy(outward[depth(of) - 1].data() + i * top, heads + (i % job.potentials) * top, top * sizeof(float));
        for (Size l = depth(of) - 1; l >= 0; --l) {
            const LayerAt& layer = layers(of)[l];
            const Size out = padded(layer.out);
            const float* slopes = slope[l].data() + of.compared * out;
            for (Size i = 0; i < of.noised * out; i += WIDTH) store(inward[l].data() + i, load(outward[l].data() + i) * load(slopes + i));
            product(of.noised, layer.row, layer.out, {inward[l].data(), out, 1}, weights(layer), layer.row,
                    l ? outward[l - 1].data() : residual.data(), layer.row);
        }
    }

    void add_score_of_background(const float* z, Size noised) {
        transpose(noised, job.width, [&](Size i) { return z + i * row; }, panel.z.data(), panel.stride);
        pulled.clear();
        background.look(panel);
        background.weigh(panel, by_levels.data());
        background.pull(panel, pulled.data());
        for (Size i = 0; i < noised; ++i)
            for (Size k = 0; k < job.width; ++k) residual.data()[i * row + k] += pulled.data()[k * panel.stride + i];
    }

    // Returns the loss, and replaces each residual, score + noise / η, by the loss's derivative by it.
    double loss_of_residuals(Size noised) {
        double total = 0;
        const double each = 1.0 / (double(noised) * double(batch.learned_columns));
        for (Size i = 0; i < noised; ++i) {
            float* off_by = residual.data() + i * row;
            const Floats inverse = all(1.0f / job.eta[i]), share = all(job.weight[i] * float(each));
            Floats squares = all(0.0f);
            for (Size j = 0; j < row; j += WIDTH) {
                const Floats found = fma(load(batch.drawn.data() + i * row + j), inverse, load(off_by + j)) * load(batch.learned.data() + j);
                squares = fma(found, found, squares);
                store(off_by + j, found * share);
            }
            total += double(job.weight[i]) * double(sum(squares));
        }
        return 0.5 * total * each;
    }

    // Up the chain again: the gradient by its weights, and in `outward` the derivative by each φ'.
    void score_backward(const Share& of) {
        float *back = here.data(), *above = there.data(), *by_head = pulls.data() + top;
        std::memcpy(back, residual.data(), of.noised * row * sizeof(float));
        for (Size l = 0; l < depth(of); ++l) {
            const LayerAt& layer = layers(of)[l];
            const Size out = padded(layer.out);
            float* weight = parameters.gradient.data() + layer.weight;
            product(layer.out, layer.row, of.noised, {inward[l].data(), 1, out}, back, layer.row, weight, layer.row, weight, layer.row);
            product(of.noised, out, layer.in, {back, layer.row, 1}, parameters.transposed(of.trunk, l), out, above, out);
            const float* slopes = slope[l].data() + of.compared * out;
            for (Size i = 0; i < of.noised * out; i += WIDTH) {
                const Floats came = load(above + i);
                store(outward[l].data() + i, load(outward[l].data() + i) * came);
                store(above + i, came * load(slopes + i));
            }
            std::swap(back, above);
        }
        std::fill(by_head, by_head + job.potentials * top, 0.0f);
        for (Size i = 0; i < of.noised; ++i) add_scaled(by_head + (i % job.potentials) * top, 1.0f, back + i * top, top);
    }

    // The gradients of both heads, and of the projection below, from the derivatives by the folded heads (`pulls`).
    void teach_heads(const LayerAt& projection, const Share& of) {
        float* gradient = parameters.gradient.data();
        auto teach = [&](const LayerAt& head, const float* pull) {
            for (Size h = 0; h < head.out; ++h, pull += top)
                for (Size j = 0; j < projection.out; ++j) {
                    gradient[head.weight + h * head.row + j] = dot(pull, weights(projection) + j * projection.row, top);
                    add_scaled(gradient + projection.weight + j * projection.row, weights(head)[h * head.row + j], pull, top);
                }
        };
        if (of.compared) teach(parameters.global, pulls.data());
        if (of.noised) teach(parameters.local, pulls.data() + top);
    }

    // The derivative of both losses by the inputs h of the last layer, in `here`.
    void begin_backward(const Share& of) {
        const Size last = depth(of) - 1, split = of.compared * top;
        float* by_h = here.data();
        for (Size i = 0; i < of.compared; ++i)
            for (Size j = 0; j < top; j += WIDTH)
                store(by_h + i * top + j, all(by_logit.data()[i]) * load(folded.data() + j) * load(slope[last].data() + i * top + j));
        for (Size i = split; i < of.count() * top; i += WIDTH) store(by_h + i, load(outward[last].data() + i - split) * load(curve[last].data() + i));
    }

    // Ordinary back-propagation of both losses together.
    void backward(const Share& of) {
        float *by_h = here.data(), *next = there.data(), *gradient = parameters.gradient.data();
        for (Size l = depth(of) - 1; l >= 0; --l) {
            const LayerAt& layer = layers(of)[l];
            const Size out = padded(layer.out), count = of.count();
            float *weight = gradient + layer.weight, *bias = gradient + layer.bias;
            product(layer.out, layer.row, count, {by_h, 1, out}, l ? value[l - 1].data() : input(of), layer.row, weight, layer.row, weight,
                    layer.row);
            for (Size i = 0; i < count; ++i) add_scaled(bias, 1.0f, by_h + i * out, out);
            if (l == 0) break;
            product(count, layer.row, layer.out, {by_h, out, 1}, weights(layer), layer.row, next, layer.row);
            const Size split = of.compared * layer.row;
            for (Size i = 0; i < split; i += WIDTH) store(next + i, load(next + i) * load(slope[l - 1].data() + i));
            for (Size i = split; i < count * layer.row; i += WIDTH)
                store(next + i,
                      fma(load(next + i), load(slope[l - 1].data() + i), load(outward[l - 1].data() + i - split) * load(curve[l - 1].data() + i)));
            std::swap(by_h, next);
        }
    }

    const Training& job;
    Batch batch;
    Parameters parameters;
    const Size row, top;                                              // floats of a row, and of the last layer, padded
    std::vector<Buffer<float>> value, slope, curve, outward, inward;  // of each layer; outward, inward: of noised rows only
    Buffer<float> here, there, residual, folded, pulls, logits, difference, by_logit;
    Background background;
    Panel panel;
    Buffer<float> by_levels, pulled;  // (potentials, noised padded) which level is whose, (p, noised padded) the gradient
};

}  // namespace TARGET
