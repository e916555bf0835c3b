// From rows to the networks' outputs, a few rows at a time: scaling, layers, heads. And derivatives along lines.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "background.h"
#include "scaling.h"

namespace TARGET {

constexpr Size TOGETHER = 48;  // rows that pass the layers together: activations stay in the nearest cache

struct PackedLayer {
    Size in, out;                          // out is padded
    Buffer<float> across, bias, downward;  // (in, out), (out,), (out, in padded): forward, and backward
    explicit PackedLayer(const Linear& given)
        : in(given.in), out(padded(given.out)), across(given.in * out), bias(out), downward(out * padded(given.in)) {
        for (Size o = 0; o < given.out; ++o) {
            bias.data()[o] = given.bias[o];
            for (Size i = 0; i < in; ++i) across.data()[i * out + o] = downward.data()[o * padded(in) + i] = given.weight[o * in + i];
        }
    }
};

struct PackedTrunk {
    std::vector<PackedLayer> layers;
    Size top, heads, outputs;   // features below the head, its outputs, and these padded to eights
    Buffer<double> head, bias;  // (top, outputs), (outputs,)
    Buffer<float> down;         // (outputs, top padded)
    explicit PackedTrunk(const Trunk& given)
        : top(given.head.in), heads(given.head.out), outputs((given.head.out + HALF - 1) / HALF * HALF), head(top * outputs), bias(outputs), down(outputs * padded(top)) {
        for (const Linear& layer : given.layers) layers.emplace_back(layer);
        for (Size o = 0; o < given.head.out; ++o) {
            bias.data()[o] = given.head.bias[o];
            for (Size i = 0; i < top; ++i) {
                head.data()[i * outputs + o] = given.head.weight[o * top + i];
                down.data()[o * padded(top) + i] = float(given.head.weight[o * top + i]);
            }
        }
    }
};

class PackedNetwork final : public Scorer {
  public:
    PackedNetwork(Size width, Size outputs, const std::vector<std::vector<Trunk>>& members, const std::vector<Mixture>& backgrounds, Size levels)
        : width_(width), outputs_(outputs) {
        for (const Mixture& each : backgrounds) {
            backgrounds_.emplace_back(each, width, levels);
            bounds_.emplace_back(each.bounds, each.bounds + 2 * (levels - 1));
        }
        for (const auto& trunks : members) {
            members_.emplace_back();
            for (const Trunk& trunk : trunks) {
                members_.back().emplace_back(trunk);
                for (const PackedLayer& layer : members_.back().back().layers) widest_ = std::max(widest_, layer.out);
            }
        }
    }

    void outputs(Rows rows, const Scaling* scaling, double* out) const override {
        const Size row = padded(width_), most = std::min(TOGETHER, rows.count);
        Buffer<float> z(most * row), space(2 * most * widest_);
        std::vector<Panel> panels;
        for (const Background& each : backgrounds_) panels.push_back(each.panel(most));
        std::optional<PackedScaling> by;
        if (scaling) by.emplace(*scaling, width_);
        Buffer<double> fine(row), tops(most * widest_);
        for (Size first = 0; first < rows.count; first += TOGETHER) {
            const Size count = std::min(TOGETHER, rows.count - first);
            for (Size i = 0; i < count; ++i) take(rows, first + i, by ? &*by : nullptr, fine.data(), z.data() + i * row);
            for (std::size_t member = 0; member < members_.size(); ++member) {
                double* to = out + (Size(member) * rows.count + first) * outputs_;
                climb(members_[member], count, {z.data(), row, 1}, space.data(), tops.data(), to);
                if (backgrounds_.empty()) continue;
                clamp(member, count, to);
                Panel& panel = panels[member];
                transpose(count, width_, [&](Size i) { return z.data() + i * row; }, panel.z.data(), panel.stride);
                backgrounds_[member].look(panel);
                backgrounds_[member].add(panel, count, to + 1, outputs_);
            }
        }
    }

    void along(Size lines, Size points, const float* start, const float* step, const float* at, double* out) const override {
        Line line(*this, points);
        for (Size i = 0; i < lines; ++i) {
            for (std::size_t member = 0; member < members_.size(); ++member) {
                double* to = out + ((Size(member) * lines + i) * points) * outputs_;
                std::fill(to, to + points * outputs_, 0.0);
                for (const PackedTrunk& trunk : members_[member]) {
                    line.begin(trunk, start + i * width_, step + i * width_, at + i * points);
                    line.up(trunk);
                    line.read(trunk, to, outputs_);
                }
                if (backgrounds_.empty()) continue;
                clamp(member, points, to);
                line.add_background(member, start + i * width_, step + i * width_, at + i * points, to + 1);
            }
        }
    }

    void back(Size lines, Size points, const float* start, const float* step, const float* at, const float* by, float* out) const override {
        Line line(*this, points);
        const Size apart = lines * points * outputs_;  // distance between the derivatives of two members
        for (Size i = 0; i < lines; ++i) {
            line.total.clear();
            for (std::size_t member = 0; member < members_.size(); ++member) {
                const float* by_outputs = by + Size(member) * apart + i * points * outputs_;
                for (const PackedTrunk& trunk : members_[member]) {
                    line.begin(trunk, start + i * width_, step + i * width_, at + i * points);
                    line.up(trunk);
                    line.down(trunk, backgrounds_.empty() ? by_outputs : line.within_bounds(trunk, member, by_outputs));
                }
                if (!backgrounds_.empty()) line.pull_background(member, start + i * width_, step + i * width_, at + i * points, by_outputs + 1);
            }
            std::memcpy(out + i * width_, line.total.data(), width_ * sizeof(float));
        }
    }

  private:
    void take(Rows rows, Size number, const PackedScaling* scaling, double* fine, float* z) const {
        if (rows.floats && !scaling) {
            std::memcpy(z, rows.floats + number * width_, std::size_t(width_) * sizeof(float));
            return;
        }
        rows.read(number, width_, fine);
        if (!scaling) {
            for (Size k = 0; k < width_; ++k) z[k] = float(fine[k]);
            return;
        }
        scaling->apply(fine, z);
    }

    bool beyond(std::size_t member, Size potential, double value) const {
        const float* bounds = bounds_[member].data() + 2 * potential;
        return value < double(bounds[0]) || value > double(bounds[1]);
    }

    // Keep what the network adds to a background within its bounds: far from the rows it has learned nothing.
    void clamp(std::size_t member, Size count, double* out) const {
        for (Size i = 0; i < count; ++i)
            for (Size s = 0; s + 2 < outputs_; ++s) {
                double& value = out[i * outputs_ + 1 + s];
                const float* bounds = bounds_[member].data() + 2 * s;
                if (beyond(member, s, value)) value = double(value < double(bounds[0]) ? bounds[0] : bounds[1]);
            }
    }

    // The outputs of one member for scaled rows: the sum over the heads of its trunks.
    void climb(const std::vector<PackedTrunk>& trunks, Size rows, View z, float* space, double* tops, double* out) const {
        std::fill(out, out + rows * outputs_, 0.0);
        for (const PackedTrunk& trunk : trunks) {
            View below = z;
            float* above = space;
            for (const PackedLayer& layer : trunk.layers) {
                product(rows, layer.out, layer.in, below, layer.across.data(), layer.out, above, layer.out, layer.bias.data(), 0);
                bend<4>(rows * layer.out, above);
                below = {above, layer.out, 1};
                above = above == space ? space + rows * widest_ : space;
            }
            read(trunk, rows, below, tops, out, outputs_);
        }
    }

    // Replace each h by its GELU.
    template <int VECTORS>
    static void bend(Size count, float* h) {
        Size i = 0;
        for (; i + VECTORS * WIDTH <= count; i += VECTORS * WIDTH) {
            Floats each[VECTORS];
            for (int j = 0; j < VECTORS; ++j) each[j] = load(h + i + j * WIDTH);
            gelu(each);
            for (int j = 0; j < VECTORS; ++j) store(h + i + j * WIDTH, each[j]);
        }
        if (VECTORS > 1 && i < count) bend<1>(count - i, h + i);
    }

    // Add the outputs of a trunk's head for the features below it. In double: large terms cancel here.
    static void read(const PackedTrunk& trunk, Size rows, View below, double* tops, double* out, Size wanted) {
        for (Size i = 0; i < rows; ++i)
            for (Size q = 0; q < below.row; q += HALF) store(tops + i * below.row + q, widened(below.at + i * below.row + q));
        for (Size o = 0; o < trunk.outputs; o += HALF) {
            Size i = 0;
            for (; i + 6 <= rows; i += 6) read_tile<6>(trunk, o, tops + i * below.row, below.row, out + i * wanted, wanted);
            for (; i < rows; ++i) read_tile<1>(trunk, o, tops + i * below.row, below.row, out + i * wanted, wanted);
        }
    }

    template <int ROWS>
    INLINE void read_tile(const PackedTrunk& trunk, Size o, const double* tops, Size row, double* out, Size wanted) {
        Doubles sums[ROWS];
        for (int i = 0; i < ROWS; ++i) sums[i] = load(trunk.bias.data() + o);
        const double* weights = trunk.head.data() + o;
        for (Size q = 0; q < trunk.top; ++q) {
            const Doubles weight = load(weights + q * trunk.outputs);
            for (int i = 0; i < ROWS; ++i) sums[i] = fma(all(tops[i * row + q]), weight, sums[i]);
        }
        const Size count = std::min<Size>(HALF, wanted - o);
        double found[ROWS][HALF];
        for (int i = 0; i < ROWS; ++i) store(found[i], sums[i]);
        for (int i = 0; i < ROWS; ++i)
            for (Size j = 0; j < count; ++j) out[i * wanted + o + j] += found[i][j];
    }

    // Points on one straight line: the first layer is linear, so it is computed once for the line, not for every point.
    struct Line {
        const PackedNetwork& net;
        Size points, row;
        std::size_t layers = 0;
        Buffer<float> ends, features, value, slope, by, other, positions, by_levels, by_within, total;
        Buffer<double> tops, outputs;
        std::vector<Panel> panels;  // of the backgrounds

        Line(const PackedNetwork& network, Size count)
            : net(network),
              points(count),
              row(padded(network.width_)),
              ends(2 * row),
              features(2 * net.widest_),
              by(count * net.widest_),
              other(count * net.widest_),
              positions(padded(count)),
              total(row),
              tops(count * net.widest_) {
            for (const auto& trunks : net.members_)
                for (const PackedTrunk& trunk : trunks) layers = std::max(layers, trunk.layers.size());
            value = Buffer<float>(Size(layers) * count * net.widest_);
            slope = Buffer<float>(Size(layers) * count * net.widest_);
            for (const Background& each : net.backgrounds_) panels.push_back(each.panel(count));
            if (panels.empty()) return;
            by_levels = Buffer<float>((net.outputs_ - 1) * padded(count));
            by_within = Buffer<float>(count * net.outputs_), outputs = Buffer<double>(count * net.outputs_);
        }

        float* of(Buffer<float>& all, std::size_t layer) { return all.data() + Size(layer) * points * net.widest_; }

        void begin(const PackedTrunk& trunk, const float* start, const float* step, const float* at) {
            const PackedLayer& first = trunk.layers[0];
            std::memcpy(ends.data(), start, net.width_ * sizeof(float));
            std::memcpy(ends.data() + row, step, net.width_ * sizeof(float));
            product(1, first.out, first.in, {ends.data(), row, 1}, first.across.data(), first.out, features.data(), first.out, first.bias.data(), 0);
            product(1, first.out, first.in, {ends.data() + row, row, 1}, first.across.data(), first.out, features.data() + net.widest_, first.out);
            for (Size i = 0; i < points; ++i)
                for (Size j = 0; j < first.out; j += WIDTH)
                    bend(0, i * first.out + j, fma(all(at[i]), load(features.data() + net.widest_ + j), load(features.data() + j)));
        }

        void bend(std::size_t layer, Size place, Floats h) {
            const Gelu g = gelu_and_slopes(h);
            store(of(value, layer) + place, g.value);
            store(of(slope, layer) + place, g.slope);
        }

        void up(const PackedTrunk& trunk) {
            for (std::size_t i = 1; i < trunk.layers.size(); ++i) {
                const PackedLayer& layer = trunk.layers[i];
                product(points, layer.out, layer.in, {of(value, i - 1), trunk.layers[i - 1].out, 1}, layer.across.data(), layer.out, by.data(),
                        layer.out, layer.bias.data(), 0);
                for (Size j = 0; j < points * layer.out; j += WIDTH) bend(i, j, load(by.data() + j));
            }
        }

        void read(const PackedTrunk& trunk, double* out, Size wanted) {
            const std::size_t last = trunk.layers.size() - 1;
            PackedNetwork::read(trunk, points, {of(value, last), trunk.layers[last].out, 1}, tops.data(), out, wanted);
        }

        // Derivatives by the outputs, and 0 where a potential of the network is beyond its bounds. Each potential comes from one
        // trunk: the other one's are 0, and so are its weights.
        const float* within_bounds(const PackedTrunk& trunk, std::size_t member, const float* by_outputs) {
            outputs.clear();
            read(trunk, outputs.data(), net.outputs_);
            std::copy_n(by_outputs, points * net.outputs_, by_within.data());
            for (Size i = 0; i < points; ++i)
                for (Size s = 0; s + 2 < net.outputs_; ++s)
                    if (net.beyond(member, s, outputs.data()[i * net.outputs_ + 1 + s])) by_within.data()[i * net.outputs_ + 1 + s] = 0.0f;
            return by_within.data();
        }

        void down(const PackedTrunk& trunk, const float* by_outputs) {
            const std::size_t last = trunk.layers.size() - 1;
            float *here = by.data(), *there = other.data();
            product(points, trunk.layers[last].out, trunk.heads, {by_outputs, net.outputs_, 1}, trunk.down.data(), padded(trunk.top), here,
                    trunk.layers[last].out);
            for (std::size_t i = last + 1; i-- > 0;) {
                const PackedLayer& layer = trunk.layers[i];
                for (Size j = 0; j < points * layer.out; j += WIDTH) store(here + j, load(here + j) * load(of(slope, i) + j));
                if (i == 0) break;
                product(points, padded(layer.in), layer.out, {here, layer.out, 1}, layer.downward.data(), padded(layer.in), there, padded(layer.in));
                std::swap(here, there);
            }
            const PackedLayer& first = trunk.layers[0];
            for (Size i = 1; i < points; ++i) add_scaled(here, 1.0f, here + i * first.out, first.out);
            product(1, row, first.out, {here, first.out, 1}, first.downward.data(), row, total.data(), row, total.data(), row);
        }

        void look(std::size_t member, const float* start, const float* step, const float* at) {
            std::copy_n(at, points, positions.data());
            net.backgrounds_[member].look(panels[member], start, step, positions.data());
        }

        void add_background(std::size_t member, const float* start, const float* step, const float* at, double* out) {
            look(member, start, step, at);
            net.backgrounds_[member].add(panels[member], points, out, net.outputs_);
        }

        void pull_background(std::size_t member, const float* start, const float* step, const float* at, const float* by_potentials) {
            look(member, start, step, at);
            for (Size i = 0; i < points; ++i)
                for (Size s = 0; s + 1 < net.outputs_; ++s) by_levels.data()[s * positions.size() + i] = by_potentials[i * net.outputs_ + s];
            net.backgrounds_[member].weigh(panels[member], by_levels.data());
            net.backgrounds_[member].pull(panels[member], start, step, positions.data(), total.data());
        }
    };

    Size width_, outputs_, widest_ = 0;
    std::vector<std::vector<PackedTrunk>> members_;
    std::vector<Background> backgrounds_;     // one for each member, or none
    std::vector<std::vector<float>> bounds_;  // (potentials, 2) of each background
};

}  // namespace TARGET
