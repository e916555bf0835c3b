// The parameters of one network in training, or of one of its heads with the trunk below it, one after another in rows padded to whole vectors, and
// Adam's update of them.
#pragma once

#include <algorithm>
#include <vector>

#include "interface.h"
#include "memory.h"
#include "products.h"

namespace TARGET {

// The position of one linear layer in the flat memory of the parameters that are trained.
struct LayerAt {
    Size in, out, row, weight, bias;  // row: in, padded; weight, bias: where they begin
    bool taught;                      // whether it is trained; else it has no position there
};

class Parameters {
  public:
    explicit Parameters(const Training& asked) : job_(asked) {
        for (int t = 0; t < job_.trunks; ++t) {
            trunks.emplace_back();
            Size in = job_.width;
            for (Size out : job_.hidden) {
                trunks.back().push_back(add(in, out, taught(t)));
                in = out;
            }
            trunks.back().push_back(add(in, in, taught(t)));  // the projection
        }
        const Size top = job_.hidden.back();
        global = add(top, 1, job_.teaches(0)), local = add(top, job_.potentials, job_.teaches(1));
        for (auto* each : {&values, &means_, &squares_, &gradient}) *each = Buffer<float>(count_);
        for (const LayerAt& layer : layers_) transposed_.emplace_back(layer.taught ? layer.in * padded(layer.out) : 0);
        copy(true);
    }

    // Copy the trained parameters back to the caller's memory.
    void save() { copy(false); }

    // Begin a step: clear the gradient, and transpose the current weights for the pass up through the hidden layers.
    void begin_step() {
        gradient.clear();
        for (std::size_t i = 0; i < trunks.size() * trunks[0].size(); ++i) {
            if ((i + 1) % trunks[0].size() == 0) continue;  // a projection is folded into its heads
            const LayerAt& layer = layers_[i];
            if (!layer.taught) continue;
            const float* from = values.data() + layer.weight;
            transpose(
                layer.out, layer.in, [&](Size o) { return from + o * layer.row; }, transposed_[i].data(), padded(layer.out));
        }
    }

    // The weights of this layer of a trunk as (in, out padded).
    const float* transposed(int trunk, Size layer) const { return transposed_[trunk * trunks[0].size() + layer].data(); }

    // Adam's update (Kingma and Ba, 2015); the rate is corrected for moments that begin at zero.
    void update(float rate) {
        const Floats decay = all(job_.weight_decay), step = all(-rate), smallest = all(float(job_.smallest_root));
        const Floats new_mean = all(float(1 - job_.mean_decay)), old_square = all(float(job_.square_decay));
        const Floats new_square = all(float(1 - job_.square_decay));
        for (Size i = 0; i < values.size(); i += WIDTH) {
            const Floats g = fma(decay, load(values.data() + i), load(gradient.data() + i));
            const Floats mean = fma(g - load(means_.data() + i), new_mean, load(means_.data() + i));
            const Floats square = fma(g * new_square, g, load(squares_.data() + i) * old_square);
            store(means_.data() + i, mean);
            store(squares_.data() + i, square);
            store(values.data() + i, fma(mean * step, all(1.0f) / (sqrt(square) + smallest), load(values.data() + i)));
        }
    }

    std::vector<std::vector<LayerAt>> trunks;  // the last layer of each is its projection
    LayerAt global{}, local{};
    Buffer<float> values, gradient;

  private:
    bool taught(int trunk) const { return job_.trunks == 1 || job_.teaches(trunk); }

    LayerAt add(Size in, Size out, bool taught) {
        const LayerAt layer{in, out, padded(in), count_, count_ + out * padded(in), taught};
        if (taught) count_ = layer.bias + padded(out);
        layers_.push_back(layer);
        return layer;
    }

    // Copy between the layout of a model file, one parameter after another, and the padded one.
    void copy(bool in) {
        const std::pair<float*, Buffer<float>*> pairs[] = {{job_.values, &values}, {job_.mean, &means_}, {job_.square, &squares_}};
        for (auto [file, own] : pairs)
            for (const LayerAt& layer : layers_) {
                if (!layer.taught) {
                    file += layer.out * (layer.in + 1);
                    continue;
                }
                for (Size o = 0; o < layer.out; ++o, file += layer.in) move(file, own->data() + layer.weight + o * layer.row, layer.in, in);
                move(file, own->data() + layer.bias, layer.out, in);
                file += layer.out;
            }
    }
    static void move(float* file, float* own, Size count, bool in) { std::memcpy(in ? own : file, in ? file : own, count * sizeof(float)); }

    const Training& job_;
    Size count_ = 0;
    std::vector<LayerAt> layers_;
    Buffer<float> means_, squares_;
    std::vector<Buffer<float>> transposed_;
};

}  // namespace TARGET
