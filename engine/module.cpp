// The engine as a Python module: checks its arguments, releases the interpreter's lock, calls the kernels.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>

#include "interface.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace TARGET {
extern const Kernels kernels;

template <class Number, int DIMENSIONS>
using Array = nb::ndarray<Number, nb::ndim<DIMENSIONS>, nb::c_contig, nb::device::cpu>;
template <class Number, int DIMENSIONS>
using In = Array<const Number, DIMENSIONS>;

static void require(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(std::string("engine: ") + what);
}

template <class Number, int DIMENSIONS>
static nb::ndarray<nb::numpy, Number, nb::ndim<DIMENSIONS>> fresh(const std::size_t (&shape)[DIMENSIONS]) {
    std::size_t count = 1;
    for (std::size_t each : shape) count *= each;
    auto* memory = new Number[count ? count : 1];
    nb::capsule owner(memory, [](void* at) noexcept { delete[] static_cast<Number*>(at); });
    return nb::ndarray<nb::numpy, Number, nb::ndim<DIMENSIONS>>(memory, DIMENSIONS, shape, owner);
}

// mean (members, C, p), axes (members, C, directions, p), precision (members, levels, C, directions), rest and level
// (members, levels, C), degrees of freedom (members,), bounds of the networks (members, levels - 1, 2)
struct BackgroundArrays {
    In<float, 3> mean;
    In<float, 4> axes, precision;
    In<float, 3> rest, level;
    In<float, 1> degrees;
    In<float, 3> bounds;
    double lowest;
    Size members() const { return Size(mean.shape(0)); }
    Size levels() const { return Size(level.shape(1)); }
    Mixture of(Size member, Size width) const {
        const auto count = mean.shape(1), directions = axes.shape(2);
        require(member >= 0 && member < members() && Size(mean.shape(2)) == width && Size(axes.shape(3)) == width,
                "a background must be as wide as the rows, and be the member's");
        require(axes.shape(0) == mean.shape(0) && axes.shape(1) == count && count > 0 && directions > 0, "each component must have its axes");
        const auto fits = [&](const auto& each) { return each.shape(0) == mean.shape(0) && Size(each.shape(1)) == levels() && each.shape(2) == count; };
        require(fits(precision) && fits(rest) && fits(level) && precision.shape(3) == directions,
                "each component must have a precision along each axis, a rest and a level at each blur");
        require(degrees.shape(0) == mean.shape(0), "each member must have its degrees of freedom");
        require(bounds.shape(0) == mean.shape(0) && Size(bounds.shape(1)) + 1 == levels() && bounds.shape(2) == 2,
                "each potential of each member must have two bounds");
        const Size place = member * levels() * Size(count);
        return {Size(count),
                Size(directions),
                mean.data() + member * Size(count) * width,
                axes.data() + member * Size(count * directions) * width,
                precision.data() + place * Size(directions),
                rest.data() + place,
                level.data() + place,
                bounds.data() + member * (levels() - 1) * 2,
                degrees.data()[member],
                float(lowest)};
    }
};

struct ScalingArrays {
    In<double, 1> center, weight;
    std::optional<In<double, 1>> shrink;
    std::optional<In<double, 2>> seen, beyond;
    double knee, limit;
    Scaling view(Size width) const {
        require(Size(center.shape(0)) == width && Size(weight.shape(0)) == width, "the scaling must be as wide as the rows");
        require(!shrink || Size(shrink->shape(0)) == width, "the scaling must be as wide as the rows");
        require(bool(seen) == bool(beyond), "the ends of the columns, and what lies beyond them, go together");
        for (const auto& ends : {&seen, &beyond})
            require(!*ends || ((*ends)->shape(0) == 2 && Size((*ends)->shape(1)) == width), "the scaling must be as wide as the rows");
        return {center.data(),
                weight.data(),
                shrink ? shrink->data() : nullptr,
                seen ? seen->data() : nullptr,
                beyond ? beyond->data() : nullptr,
                knee,
                limit};
    }
};

// Rows as they come: (n, p) of float32 or float64.
using AnyRows = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

static Rows view(const AnyRows& rows) {
    Rows found;
    found.count = Size(rows.shape(0));
    if (rows.dtype() == nb::dtype<float>())
        found.floats = static_cast<const float*>(rows.data());
    else if (rows.dtype() == nb::dtype<double>())
        found.doubles = static_cast<const double*>(rows.data());
    else
        require(false, "rows must be float32 or float64");
    return found;
}

static nb::object scale(const AnyRows& rows, const ScalingArrays& scaling) {
    const Rows given = view(rows);
    const Scaling by = scaling.view(Size(rows.shape(1)));
    auto out = fresh<double, 2>({rows.shape(0), rows.shape(1)});
    {
        nb::gil_scoped_release released;
        kernels.scale(Size(rows.shape(1)), given, by, out.data());
    }
    return nb::cast(out);
}

static nb::object scale_to_floats(const AnyRows& rows, const ScalingArrays& scaling) {
    const Rows given = view(rows);
    const Scaling by = scaling.view(Size(rows.shape(1)));
    auto out = fresh<float, 2>({rows.shape(0), rows.shape(1)});
    {
        nb::gil_scoped_release released;
        kernels.scale_to_floats(Size(rows.shape(1)), given, by, out.data());
    }
    return nb::cast(out);
}

static nb::object ends(const AnyRows& rows) {
    require(rows.shape(0) > 0 && rows.shape(1) > 0, "there must be a row and a column");
    const Rows given = view(rows);
    auto out = fresh<double, 2>({2, rows.shape(1)});
    {
        nb::gil_scoped_release released;
        kernels.ends(Size(rows.shape(1)), given, out.data());
    }
    return nb::cast(out);
}

struct CalibrationArrays {
    In<double, 2> low, per_unit, center, per_spread;
    Calibration view(std::size_t members, std::size_t each) const {
        require(members > 0 && each > 1, "there must be a network with a potential");
        const auto k = each - 1;
        require(low.shape(0) == members && low.shape(1) == k && per_unit.shape(0) == members && per_unit.shape(1) == k,
                "each potential must have a low end and a unit");
        require(center.shape(0) == members && center.shape(1) == 2 && per_spread.shape(0) == members && per_spread.shape(1) == 2,
                "each member must have a center and a spread for both heads");
        return {Size(members), Size(k), low.data(), per_unit.data(), center.data(), per_spread.data()};
    }

    nb::object of_members(In<double, 3> outputs) const {
        auto out = fresh<double, 3>({outputs.shape(0), outputs.shape(1), 2});
        const Calibration by = view(outputs.shape(0), outputs.shape(2));
        {
            nb::gil_scoped_release released;
            kernels.of_members(by, Size(outputs.shape(1)), outputs.data(), out.data());
        }
        return nb::cast(out);
    }

    nb::object raw(In<double, 3> outputs) const {
        auto out = fresh<double, 2>({outputs.shape(1), 2});
        const Calibration by = view(outputs.shape(0), outputs.shape(2));
        {
            nb::gil_scoped_release released;
            kernels.raw(by, Size(outputs.shape(1)), outputs.data(), out.data());
        }
        return nb::cast(out);
    }

    nb::object raw_back(In<double, 3> outputs, In<double, 2> by_raw) const {
        require(by_raw.shape(0) == outputs.shape(1) && by_raw.shape(1) == 2, "each row must have two derivatives");
        auto out = fresh<double, 3>({outputs.shape(0), outputs.shape(1), outputs.shape(2)});
        const Calibration by = view(outputs.shape(0), outputs.shape(2));
        {
            nb::gil_scoped_release released;
            kernels.raw_back(by, Size(outputs.shape(1)), outputs.data(), by_raw.data(), out.data());
        }
        return nb::cast(out);
    }
};

// Low ends and widths of both heads, (2,) each.
struct UnitArrays {
    In<double, 1> low, width;
    Units view() const {
        require(low.shape(0) == 2 && width.shape(0) == 2, "both heads must have a low end and a width");
        return {low.data(), width.data()};
    }
};

using Layers = std::vector<std::pair<In<float, 2>, In<float, 1>>>;  // weight (out, in), bias (out,)
using TrunkArrays = std::pair<Layers, std::pair<In<double, 2>, In<double, 1>>>;

class Model {
  public:
    Model(const std::vector<std::vector<TrunkArrays>>& members, const std::optional<BackgroundArrays>& background) {
        require(!members.empty() && !members[0].empty() && !members[0][0].first.empty(), "a network must have a layer");
        width_ = Size(members[0][0].first[0].first.shape(1)), outputs_ = Size(members[0][0].second.first.shape(0)), members_ = Size(members.size());
        std::vector<std::vector<Trunk>> given;
        for (const auto& trunks : members) {
            given.emplace_back();
            for (const auto& [layers, head] : trunks) given.back().push_back(trunk(layers, head.first, head.second));
        }
        std::vector<Mixture> backgrounds;
        if (background) {
            require(background->members() == members_ && background->levels() == outputs_, "each potential of each member must have a background, and there be a sharp one");
            outputs_ = 1 + background->levels();
            for (Size member = 0; member < members_; ++member) backgrounds.push_back(background->of(member, width_));
        }
        scorer_ = kernels.scorer(width_, outputs_, given, backgrounds, outputs_ - 1);
    }

    nb::object outputs(const AnyRows& rows, const std::optional<ScalingArrays>& scaling) const {
        require(Size(rows.shape(1)) == width_, "rows must be as wide as the network");
        const Rows given = view(rows);
        std::optional<Scaling> by;
        if (scaling) by = scaling->view(width_);
        const auto n = std::size_t(given.count);
        auto out = fresh<double, 3>({std::size_t(members_), n, std::size_t(outputs_)});
        {
            nb::gil_scoped_release released;
            scorer_->outputs(given, by ? &*by : nullptr, out.data());
        }
        return nb::cast(out);
    }

    // Rows in the user's units to head scores (n, 2); without units, to raw scores.
    nb::object head_scores(const AnyRows& rows, const ScalingArrays& scaling, const CalibrationArrays& calibration, const std::optional<UnitArrays>& units) const {
        const Task task(*this, rows, scaling, calibration, units);
        auto out = fresh<double, 2>({rows.shape(0), 2});
        {
            nb::gil_scoped_release released;
            score(task, out.data());
        }
        return nb::cast(out);
    }

    // Rows in the user's units to mixtures of their head scores (n,), squeezed into [0, 1] or not.
    nb::object mixtures(const AnyRows& rows, const ScalingArrays& scaling, const CalibrationArrays& calibration, const UnitArrays& units, double share,
                        double allowance, bool squeezed) const {
        const Task task(*this, rows, scaling, calibration, units);
        auto out = fresh<double, 1>({rows.shape(0)});
        {
            nb::gil_scoped_release released;
            std::vector<double> pairs(2 * rows.shape(0));
            score(task, pairs.data());
            kernels.mix({share, allowance}, task.rows.count, pairs.data(), out.data());
            if (squeezed) kernels.squeeze(task.rows.count, out.data());
        }
        return nb::cast(out);
    }

    nb::object along(In<float, 2> start, In<float, 2> step, In<float, 2> at) const {
        check_line(start, step, at);
        auto out = fresh<double, 4>({std::size_t(members_), at.shape(0), at.shape(1), std::size_t(outputs_)});
        if (at.size() > 0) {
            nb::gil_scoped_release released;
            scorer_->along(Size(at.shape(0)), Size(at.shape(1)), start.data(), step.data(), at.data(), out.data());
        }
        return nb::cast(out);
    }

    nb::object back(In<float, 2> start, In<float, 2> step, In<float, 2> at, In<float, 4> by) const {
        check_line(start, step, at);
        require(Size(by.shape(0)) == members_ && by.shape(1) == at.shape(0) && by.shape(2) == at.shape(1) && Size(by.shape(3)) == outputs_,
                "derivatives must have the shape of the outputs");
        auto out = fresh<float, 2>({at.shape(0), std::size_t(width_)});
        if (at.size() == 0) {
            std::fill_n(out.data(), out.size(), 0.0f);  // a sum over no points
        } else {
            nb::gil_scoped_release released;
            scorer_->back(Size(at.shape(0)), Size(at.shape(1)), start.data(), step.data(), at.data(), by.data(), out.data());
        }
        return nb::cast(out);
    }

  private:
    struct Task {
        Rows rows;
        Scaling scaling;
        Calibration calibration;
        std::optional<Units> units;
        Task(const Model& model, const AnyRows& given, const ScalingArrays& by, const CalibrationArrays& calibrated, const std::optional<UnitArrays>& in)
            : rows(view(given)), scaling(by.view(model.width_)), calibration(calibrated.view(std::size_t(model.members_), std::size_t(model.outputs_))) {
            require(Size(given.shape(1)) == model.width_, "rows must be as wide as the network");
            if (in) units = in->view();
        }
    };

    void score(const Task& task, double* pairs) const {
        const Size n = task.rows.count;
        std::vector<double> outputs(std::size_t(members_ * n * outputs_));
        scorer_->outputs(task.rows, &task.scaling, outputs.data());
        kernels.raw(task.calibration, n, outputs.data(), pairs);
        if (task.units) kernels.rescale(*task.units, n, pairs);
        if (!kernels.all_finite(Size(outputs.size()), outputs.data()) || !kernels.all_finite(2 * n, pairs))
            throw std::overflow_error("engine: a score is no finite number");
    }

    Trunk trunk(const Layers& layers, const In<double, 2>& weight, const In<double, 1>& bias) const {
        Trunk found;
        Size in = width_;
        for (const auto& [w, b] : layers) {
            require(Size(w.shape(1)) == in && b.shape(0) == w.shape(0) && w.shape(0) > 0, "a layer does not fit the one below");
            found.layers.push_back({in, Size(w.shape(0)), w.data(), b.data()});
            in = Size(w.shape(0));
        }
        require(!found.layers.empty() && Size(weight.shape(1)) == in && Size(weight.shape(0)) == outputs_ && Size(bias.shape(0)) == outputs_,
                "a head does not fit the layers");
        found.head = {in, outputs_, weight.data(), bias.data()};
        return found;
    }

    void check_line(const In<float, 2>& start, const In<float, 2>& step, const In<float, 2>& at) const {
        require(Size(start.shape(1)) == width_ && Size(step.shape(1)) == width_, "points must be as wide as the network");
        require(start.shape(0) == at.shape(0) && step.shape(0) == at.shape(0), "each line must have a start, a step and positions");
    }

    Size width_ = 0, outputs_ = 0, members_ = 0;
    std::unique_ptr<Scorer> scorer_;
};

// Where batches are drawn: positions (steps, 2b + r + m), noise (steps, r, p), preferred (steps, opponents, b).
static void train(Array<float, 1> values, Array<float, 1> mean, Array<float, 1> square, const std::vector<Size>& hidden, int trunks,
                  In<float, 2> rows, In<float, 2> vectors, const std::string& metric, double tie, In<std::int64_t, 2> positions, In<float, 3> noise,
                  std::optional<In<float, 3>> preferred, Size candidates, Size opponents, Size potentials, In<float, 1> eta, In<float, 1> weight,
                  In<float, 1> learned, double balance, double weight_decay, double mean_decay, double square_decay, double smallest_root,
                  In<float, 1> rates, Array<float, 2> losses, const std::optional<BackgroundArrays>& background, Size member, const std::string& heads) {
    Training job{};
    job.width = Size(rows.shape(1)), job.potentials = potentials, job.hidden = hidden, job.trunks = trunks;
    // Generous bounds of the sizes, so that nothing below overflows.
    const Size most = Size(values.shape(0)), places = Size(positions.shape(1));
    require(potentials <= most && candidates <= places, "more heads than parameters, or more candidates than positions");
    require(job.width > 0 && potentials > 0 && !hidden.empty() && (trunks == 1 || trunks == 2), "a network must have columns, layers and heads");
    Size expected = 0, in = job.width;
    for (Size out : hidden) {
        require(out > 0 && in < most && out <= most / (in + 1), "a layer must have units, no more than there are parameters");
        expected += out * (in + 1), in = out;
    }
    require(in <= most / (in + 1) && 1 + potentials <= most / (in + 1), "parameters do not fit the network");
    expected = trunks * (expected + in * (in + 1)) + (1 + potentials) * (in + 1);
    require(Size(values.shape(0)) == expected && Size(mean.shape(0)) == expected && Size(square.shape(0)) == expected,
            "parameters do not fit the network");
    job.values = values.data(), job.mean = mean.data(), job.square = square.data();
    job.rows = rows.data(), job.vectors = vectors.data(), job.row_count = Size(rows.shape(0));
    require(vectors.shape(0) == rows.shape(0) && vectors.shape(1) == rows.shape(1), "rows must be compared by as many vectors, as wide");
    require(preferred || candidates == 0 || metric == "manhattan" || metric == "euclidean",
            "metric must be euclidean or manhattan, or preferences given");
    job.metric = preferred ? Metric::given : metric == "manhattan" ? Metric::manhattan : Metric::euclidean;
    job.tie = float(tie), job.steps = Size(positions.shape(0)), job.candidates = candidates, job.opponents = opponents;
    job.noised = Size(noise.shape(1)), job.anchors = Size(positions.shape(1)) - 2 * candidates - job.noised;
    require(candidates >= 0 && opponents >= 0 && opponents <= candidates && (opponents > 0 || candidates == 0),
            "each candidate needs opponents, no more than there are");
    require(job.anchors >= 0 && (job.anchors > 0 || candidates == 0 || preferred), "comparisons need anchors");
    require(Size(noise.shape(0)) == job.steps && (job.noised == 0 || Size(noise.shape(2)) == job.width), "noise must fit the rows");
    require(Size(eta.shape(0)) == job.noised && Size(weight.shape(0)) == job.noised, "each noised row must have a scale and a weight");
    require(
        !preferred || (Size(preferred->shape(0)) == job.steps && Size(preferred->shape(1)) == opponents && Size(preferred->shape(2)) == candidates),
        "each pair must have a preference");
    require(Size(rates.shape(0)) == job.steps && Size(losses.shape(0)) == job.steps && losses.shape(1) == 2,
            "each step must have a rate and two losses");
    for (std::size_t i = 0; i < positions.size(); ++i)
        require(positions.data()[i] >= 0 && positions.data()[i] < job.row_count, "a position is out of range");
    job.positions = positions.data(), job.position_stride = Size(positions.shape(1)), job.anchors_at = 2 * candidates + job.noised;
    job.noise = noise.data(), job.noise_stride = job.noised * job.width;
    job.preferred = preferred ? preferred->data() : nullptr, job.preferred_stride = opponents * candidates;
    require(Size(learned.shape(0)) == job.width, "each column must say whether its slope is learned");
    require(job.noised == 0 || std::any_of(learned.data(), learned.data() + job.width, [](float is) { return is != 0.0f; }),
            "noised rows must have a column whose slope is learned");
    job.learned = learned.data();
    job.eta = eta.data(), job.weight = weight.data(), job.balance = float(balance), job.weight_decay = float(weight_decay);
    job.mean_decay = mean_decay, job.square_decay = square_decay, job.smallest_root = smallest_root;
    job.rates = rates.data(), job.losses = losses.data(), job.loss_stride = 2;
    if (background) {
        require(background->levels() == potentials + 1, "each potential must have a background, and there be a sharp one");
        job.background = background->of(member, job.width);
    }
    require(heads == "both" || (trunks == 2 && (heads == "global" || heads == "local")), "heads must be both, or one that has a trunk of its own");
    if (heads == "global") {
        job.heads = Heads::global, job.noised = 0;
    } else if (heads == "local") {
        job.heads = Heads::local, job.positions += 2 * candidates, job.candidates = 0;
    }
    nb::gil_scoped_release released;
    kernels.train(job);
}

static nb::object squeeze(In<double, 1> values) {
    auto out = fresh<double, 1>({values.shape(0)});
    {
        nb::gil_scoped_release released;
        std::copy_n(values.data(), values.size(), out.data());
        kernels.squeeze(Size(values.size()), out.data());
    }
    return nb::cast(out);
}

static nb::object neighbour_distances(In<float, 2> rows, std::int64_t order) {
    require(order > 0 && order < std::int64_t(rows.shape(0)), "a row must have so many neighbours");
    auto out = fresh<double, 1>({rows.shape(0)});
    {
        nb::gil_scoped_release released;
        kernels.neighbour_distances(Size(rows.shape(1)), Size(rows.shape(0)), rows.data(), Size(order), out.data());
    }
    return nb::cast(out);
}

static nb::object far_apart(In<float, 2> rows, Size first, In<double, 2> drawn) {
    const Size n = Size(rows.shape(0));
    require(first >= 0 && first < n && drawn.shape(1) > 0, "the first row must be one of the rows, and each further one be drawn");
    auto out = fresh<std::int64_t, 1>({drawn.shape(0) + 1});
    {
        nb::gil_scoped_release released;
        kernels.far_apart(Size(rows.shape(1)), n, rows.data(), first, Size(out.shape(0)), Size(drawn.shape(1)), drawn.data(), out.data());
    }
    return nb::cast(out);
}

static nb::object k_means(In<float, 2> rows, Array<double, 2> centres, Size rounds) {
    require(rows.shape(1) == centres.shape(1) && centres.shape(0) > 0 && rounds >= 0, "there must be centres, as wide as the rows");
    auto owner = fresh<std::int64_t, 1>({rows.shape(0)});
    {
        nb::gil_scoped_release released;
        kernels.k_means(Size(rows.shape(1)), Size(rows.shape(0)), rows.data(), Size(centres.shape(0)), rounds, centres.data(), owner.data());
    }
    return nb::cast(owner);
}

static bool runs_here() {
#if defined(ENGINE_AVX512)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512bw");
#elif defined(ENGINE_AVX2)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return true;
#endif
}

}  // namespace TARGET

#define MODULE_(name, variable) NB_MODULE(name, variable)
MODULE_(TARGET, m) {
    using namespace TARGET;
    // A thread that never ends keeps its model until the program ends: this is no leak, so warnings are off.
    nb::set_leak_warnings(false);
    if (!TARGET::runs_here()) throw nb::import_error("this CPU lacks the instructions of this build of the engine");
    nb::class_<BackgroundArrays>(m, "Background")
        .def(nb::init<In<float, 3>, In<float, 4>, In<float, 4>, In<float, 3>, In<float, 3>, In<float, 1>, In<float, 3>, double>(), "mean"_a, "axes"_a,
             "precision"_a, "rest"_a, "level"_a, "degrees"_a, "bounds"_a, "lowest"_a);
    nb::class_<ScalingArrays>(m, "Scaling")
        .def(nb::init<In<double, 1>, In<double, 1>, std::optional<In<double, 1>>, std::optional<In<double, 2>>,
                      std::optional<In<double, 2>>, double, double>(),
             "center"_a, "weight"_a, "shrink"_a.none(), "seen"_a.none(), "beyond"_a.none(), "knee"_a, "limit"_a);
    // No conversions: arrays are read, and changed, in place.
    nb::class_<Model>(m, "Model")
        .def(nb::init<const std::vector<std::vector<TrunkArrays>>&, const std::optional<BackgroundArrays>&>(), "members"_a.noconvert(),
             "background"_a.none())
        .def("outputs", &Model::outputs, "rows"_a.noconvert(), "scaling"_a.none())
        .def("head_scores", &Model::head_scores, "rows"_a.noconvert(), "scaling"_a, "calibration"_a, "units"_a.none())
        .def("mixtures", &Model::mixtures, "rows"_a.noconvert(), "scaling"_a, "calibration"_a, "units"_a, "share"_a, "allowance"_a, "squeezed"_a)
        .def("along", &Model::along, "start"_a.noconvert(), "step"_a.noconvert(), "at"_a.noconvert())
        .def("back", &Model::back, "start"_a.noconvert(), "step"_a.noconvert(), "at"_a.noconvert(), "by"_a.noconvert());
    nb::class_<CalibrationArrays>(m, "Calibration")
        .def(nb::init<In<double, 2>, In<double, 2>, In<double, 2>, In<double, 2>>(), "low"_a, "per_unit"_a, "center"_a, "per_spread"_a)
        .def("of_members", &CalibrationArrays::of_members, "outputs"_a.noconvert())
        .def("raw", &CalibrationArrays::raw, "outputs"_a.noconvert())
        .def("raw_back", &CalibrationArrays::raw_back, "outputs"_a.noconvert(), "by_raw"_a.noconvert());
    nb::class_<UnitArrays>(m, "Units").def(nb::init<In<double, 1>, In<double, 1>>(), "low"_a, "width"_a);
    m.def("train", &TARGET::train, nb::kw_only(), "values"_a.noconvert(), "mean"_a.noconvert(), "square"_a.noconvert(), "hidden"_a, "trunks"_a,
          "rows"_a.noconvert(), "vectors"_a.noconvert(), "metric"_a, "tie"_a, "positions"_a.noconvert(), "noise"_a.noconvert(),
          "preferred"_a.noconvert().none(), "candidates"_a, "opponents"_a, "potentials"_a, "eta"_a.noconvert(), "weight"_a.noconvert(),
          "learned"_a.noconvert(), "balance"_a, "weight_decay"_a, "mean_decay"_a, "square_decay"_a, "smallest_root"_a, "rates"_a.noconvert(),
          "losses"_a.noconvert(), "background"_a.none(), "member"_a, "heads"_a);
    m.def("squeeze", &TARGET::squeeze, "values"_a.noconvert());
    m.def("scale", &TARGET::scale, "rows"_a.noconvert(), "scaling"_a);
    m.def("scale_to_floats", &TARGET::scale_to_floats, "rows"_a.noconvert(), "scaling"_a);
    m.def("ends", &TARGET::ends, "rows"_a.noconvert());
    m.def("neighbour_distances", &TARGET::neighbour_distances, "rows"_a.noconvert(), "order"_a);
    m.def("far_apart", &TARGET::far_apart, "rows"_a.noconvert(), "first"_a, "drawn"_a.noconvert());
    m.def("k_means", &TARGET::k_means, "rows"_a.noconvert(), "centres"_a.noconvert(), "rounds"_a);
}
