// Prints a hash of the kernels' results for fixed numbers; it must be equal on all instruction sets.
// It does without Python, so that another architecture can be emulated: see `make test-arm`.
#include <cstdio>

#include "calibration.h"
#include "groups.h"
#include "neighbours.h"
#include "scoring.h"
#include "testing.h"
#include "training.h"

namespace {

std::uint64_t hash = 14695981039346656037u;
template <class Number>
void add(const std::vector<Number>& values) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(values.data());
    for (std::size_t i = 0; i < values.size() * sizeof(Number); ++i) hash = (hash ^ bytes[i]) * 1099511628211u;
}

}  // namespace

int main() {
    using namespace TARGET;
    const Size p = 19, n = 101, k = 5, levels = k + 1, hidden = 37, components = 3, axes = 7;
    const auto rows = numbers(n * p, 12.0f), means = numbers(2 * components * p), directions = numbers(2 * components * axes * p, 0.3f);
    auto precision = numbers(2 * levels * components * axes), rest = numbers(2 * levels * components);
    const auto level = numbers(2 * levels * components);
    std::vector<float> bounds(4 * k);
    for (std::size_t i = 0; i < bounds.size(); ++i) bounds[i] = i % 2 ? 1.0f : -1.0f;
    for (auto* all_of : {&precision, &rest})
        for (float& each : *all_of) each = 1.5f + each;
    std::vector<Mixture> backgrounds;
    for (Size m = 0; m < 2; ++m)
        backgrounds.push_back({components, axes, means.data() + m * components * p, directions.data() + m * components * axes * p,
                               precision.data() + m * levels * components * axes, rest.data() + m * levels * components,
                               level.data() + m * levels * components, bounds.data() + m * 2 * k, 4.0f, -1e30f});

    const auto first = numbers(hidden * p, 0.2f), second = numbers(hidden * hidden, 0.2f), bias = numbers(hidden);
    const auto rough = numbers((1 + k) * (hidden + 1));
    const std::vector<double> head(rough.begin(), rough.end());
    const Trunk trunk{{{p, hidden, first.data(), bias.data()}, {hidden, hidden, second.data(), bias.data()}},
                      {hidden, 1 + k, head.data(), head.data() + (1 + k) * hidden}};
    const PackedNetwork network(p, 1 + levels, {{trunk}, {trunk, trunk}}, backgrounds, levels);
    std::vector<double> given(rows.begin(), rows.end()), center(p, 0.1), weight(p, 2.0), shrink(p, 0.9);
    const Scaling scaling{center.data(), weight.data(), shrink.data(), nullptr, nullptr, 10.0, 1e15};
    std::vector<double> outputs(2 * n * (1 + levels));
    network.outputs({nullptr, given.data(), n}, &scaling, outputs.data());
    const std::vector<double> low(2 * levels, -1.0), per_unit(2 * levels, 0.3), middle_of_pair(4, 0.2), per_spread(4, 1.5), by_raw(2 * n, 0.7);
    const Calibration calibration{2, levels, low.data(), per_unit.data(), middle_of_pair.data(), per_spread.data()};
    std::vector<double> pair(2 * n), by_output(outputs.size());
    raw(calibration, n, outputs.data(), pair.data());
    raw_back(calibration, n, outputs.data(), by_raw.data(), by_output.data());
    std::vector<double> of_each(2 * 2 * n);
    of_members(calibration, n, outputs.data(), of_each.data());
    add(outputs), add(pair), add(by_output), add(of_each);
    const auto at = numbers(10 * 7), by = numbers(2 * 10 * 7 * (1 + levels));
    std::vector<double> along(2 * 10 * 7 * (1 + levels));
    std::vector<float> back(10 * p);
    network.along(10, 7, rows.data(), rows.data() + 10 * p, at.data(), along.data());
    network.back(10, 7, rows.data(), rows.data() + 10 * p, at.data(), by.data(), back.data());
    add(along), add(back);

    std::vector<double> spacing(n);
    neighbour_distances(p, n, rows.data(), 10, spacing.data());
    add(spacing);
    const std::vector<double> drawn(2 * 9, 0.6);
    std::vector<std::int64_t> picked(10), owner(n);
    std::vector<double> centres(10 * p);
    far_apart(p, n, rows.data(), 3, 10, 2, drawn.data(), picked.data());
    for (Size c = 0; c < 10; ++c) std::copy_n(rows.data() + picked[std::size_t(c)] * p, p, centres.data() + c * p);
    k_means(p, n, rows.data(), 10, 5, centres.data(), owner.data());
    add(picked), add(owner), add(centres);

    for (const Metric metric : {Metric::euclidean, Metric::manhattan})
        for (const int trunks : {1, 2}) {
            const Size size = trunks * (hidden * (p + 1) + 2 * hidden * (hidden + 1)) + (1 + k) * (hidden + 1), steps = 5;
            auto values = numbers(size, 0.2f), noise = numbers(steps * 20 * p);
            std::vector<float> moments(size), squares(size), losses(2 * steps), rates(steps, 0.004f), eta(20, 0.5f), share(20, 1.0f),
                learned(p, 1.0f);
            std::vector<std::int64_t> positions(steps * (16 + 20 + 30));
            for (auto& each : positions) each = std::int64_t(state = state * 6364136223846793005u + 1442695040888963407u) >> 33 & 63;
            Training job{};
            job.width = p, job.potentials = k, job.hidden = {hidden, hidden}, job.trunks = trunks;
            job.values = values.data(), job.mean = moments.data(), job.square = squares.data();
            job.rows = job.vectors = rows.data(), job.row_count = n, job.metric = metric, job.tie = 1e-5f;
            job.steps = steps, job.candidates = 8, job.opponents = 4, job.noised = 20, job.anchors = 30;
            job.positions = positions.data(), job.position_stride = 66, job.anchors_at = 36, job.noise = noise.data(), job.noise_stride = 20 * p;
            job.learned = learned.data(), job.eta = eta.data(), job.weight = share.data(), job.balance = 0.3f, job.weight_decay = 0.01f;
            job.mean_decay = 0.9, job.square_decay = 0.999, job.smallest_root = 1e-8;
            job.rates = rates.data(), job.losses = losses.data(), job.loss_stride = 2, job.background = backgrounds[0];
            Learner(job).run();
            add(values), add(moments), add(squares);
        }
    std::printf("%016llx\n", static_cast<unsigned long long>(hash));
}
