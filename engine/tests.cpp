// The kernels against the same formulas in long double, without Python: `make test-engine` runs it for every build.
#include "calibration.h"
#include "neighbours.h"
#include "scoring.h"
#include "testing.h"
#include "tests_of_rows.h"
#include "training.h"

namespace {

Real normal_below(Real h) { return std::erfc(-h / std::sqrt(Real(2))) / 2; }
Real gelu_of(Real h) { return h * normal_below(h); }
Real density(Real h) { return std::exp(-h * h / 2) / std::sqrt(2 * std::acos(Real(-1))); }

float lane(TARGET::Floats x) {
    float found[TARGET::WIDTH];
    TARGET::store(found, x);
    return found[0];
}

// What a function of a few vectors, in place, makes of x.
template <class Function>
float of(Function function, double x) {
    TARGET::Floats each[] = {TARGET::all(float(x)), TARGET::all(float(x))};
    function(each);
    check(lane(each[0]) == lane(each[1]), "vectors side by side", x, lane(each[0]), lane(each[1]));
    return lane(each[0]);
}

void test_functions() {
    using namespace TARGET;
    for (double x = -87; x <= 88; x += 0.0137) close_in_units("exponential", x, lane(exponential(all(float(x)))), std::exp(Real(float(x))), 2);
    for (double x = -30; x <= 30; x += 0.0071) {
        const float h = float(x);
        const Gelu g = gelu_and_slopes(all(h));
        const Real below = normal_below(h), tail = 1 + std::fabs(Real(h));
        const Floats given[] = {all(h)};
        Floats found[1];
        normal_below(given, found);
        close("normal", x, lane(normal(all(h)).below), below, 1.8e-7L);
        close("normal alone", x, lane(found[0]), below, 2e-7L);
        close("gelu", x, of([](auto& each) { gelu(each); }, x), gelu_of(h), 1.8e-7L * tail);
        close("value of gelu", x, lane(g.value), gelu_of(h), 1.8e-7L * tail);
        close("slope of gelu", x, lane(g.slope), below + h * density(h), 4e-7L);
        close("curve of gelu", x, lane(g.curve), (2 - Real(h) * h) * density(h), 4e-7L);
        close("sigmoid", x, lane(sigmoid(all(h))), 1 / (1 + std::exp(-Real(h))), 1.2e-7L);
    }
    for (float end : {5.3f, 1e3f, 1e15f}) {
        check(of([](auto& each) { gelu(each); }, end) == end, "gelu far up", end, of([](auto& each) { gelu(each); }, end), end);
        check(of([](auto& each) { gelu(each); }, -end) == 0, "gelu far down", -end, of([](auto& each) { gelu(each); }, -end), 0);
    }
    for (double x = 1e-12; x < 1e12; x *= 1.01) {
        close_in_units("log(1 + x)", x, log_1_plus(x), std::log1p(Real(x)), 4);
        double eight[HALF];
        store(eight, log_1_plus(all(x)));
        check(eight[0] == log_1_plus(x) && eight[HALF - 1] == eight[0], "log(1 + x) of eight", x, eight[0], log_1_plus(x));
    }
    const double infinite = std::numeric_limits<double>::infinity();
    check(log_1_plus(infinite) == infinite, "logarithm of an infinity", 0, log_1_plus(infinite), infinite);
}

void test_products() {
    using namespace TARGET;
    const Size rows = 13, columns = 5 * WIDTH, depth = 37;  // tiles of all sizes
    const auto a = numbers(rows * depth, 3.0f), b = numbers(depth * columns), start = numbers(columns);
    std::vector<float> c(rows * columns), squares(rows * columns), sums(rows * columns);
    product(rows, columns, depth, {a.data(), depth, 1}, b.data(), columns, c.data(), columns, start.data(), 0);
    gaps<true>(rows, 4 * WIDTH, depth, {a.data(), depth, 1}, b.data(), columns, squares.data(), columns);
    gaps<false>(rows, 4 * WIDTH, depth, {a.data(), depth, 1}, b.data(), columns, sums.data(), columns);
    for (Size i = 0; i < rows; ++i)
        for (Size j = 0; j < columns; ++j) {
            Real sum = start[j], size = std::fabs(start[j]), square = 0, gap = 0;
            for (Size k = 0; k < depth; ++k) {
                const Real left = a[i * depth + k], right = b[k * columns + j];
                sum += left * right, size += std::fabs(left * right);
                square += (left - right) * (left - right), gap += std::fabs(left - right);
            }
            const Real each = (depth + 2) * Real(0x1p-24);  // one rounding for each term
            close("product", double(i * columns + j), c[i * columns + j], sum, each * size);
            if (j >= 4 * WIDTH) continue;
            close("squared distance", double(i * columns + j), squares[i * columns + j], square, 3 * each * square);
            close("sum of gaps", double(i * columns + j), sums[i * columns + j], gap, 2 * each * gap);
        }
}

void test_transpose() {
    using namespace TARGET;
    const Size rows = 2 * WIDTH + 5, columns = WIDTH + 3;  // tiles, and what is left beside and below them
    const auto a = numbers(rows * columns);
    std::vector<float> b(columns * rows);
    transpose(
        rows, columns, [&](Size i) { return a.data() + i * columns; }, b.data(), rows);
    for (Size i = 0; i < rows; ++i)
        for (Size k = 0; k < columns; ++k) check(b[k * rows + i] == a[i * columns + k], "transposed", double(i), b[k * rows + i], a[i * columns + k]);
    float lanes[WIDTH], wanted[WIDTH];
    for (int i = 0; i < WIDTH; ++i) lanes[i] = wanted[i] = a[i];
    for (int width = WIDTH / 2; width; width /= 2)
        for (int i = 0; i < width; ++i) wanted[i] += wanted[i + width];
    check(sum(load(lanes)) == wanted[0], "sum of lanes", 0, sum(load(lanes)), wanted[0]);
}

void test_neighbours() {
    using namespace TARGET;
    const Size p = 5;
    for (const Size n : {2, 6, 7, 45}) {
        auto rows = numbers(n * p, 2.0f);
        std::copy_n(rows.begin(), p, rows.end() - p);  // the last row is a copy of the first
        for (const Size order : {Size(1), std::min(Size(4), n - 1)}) {
            std::vector<double> found(n);
            neighbour_distances(p, n, rows.data(), order, found.data());
            for (Size i = 0; i < n; ++i) {
                std::vector<Real> squares;
                for (Size j = 0; j < n; ++j) {
                    Real square = 0;
                    for (Size k = 0; k < p; ++k) square += std::pow(Real(rows[i * p + k]) - rows[j * p + k], 2);
                    if (j != i) squares.push_back(square);
                }
                std::sort(squares.begin(), squares.end());
                const Real wanted = std::sqrt(squares[std::size_t(order - 1)]);
                close("distance to a neighbour", double(i), found[i], wanted, 1e-6L * wanted);
            }
        }
    }
}

// A background in long double, and random numbers of one. Its axes are orthonormal where there is a rest.
struct PlainBackground {
    Size p, count, directions, levels;
    float degrees;
    std::vector<float> mean, axes, precision, rest, level;

    PlainBackground(Size width, Size components, Size axes_of_each, Size blurs, float freedom)
        : p(width),
          count(components),
          directions(axes_of_each),
          levels(blurs),
          degrees(freedom),
          mean(numbers(count * p)),
          axes(count * directions * p),
          precision(numbers(levels * count * directions)),
          rest(levels * count),
          level(numbers(levels * count)) {
        for (Size c = 0; c < count; ++c)  // each axis is a rotation of its neighbour's plane
            for (Size j = 0; j < directions; ++j) {
                const double angle = 0.3 * double(c + 1);
                float* axis = axes.data() + (c * directions + j) * p;
                axis[j] = p == 1 ? 1.0f : float(j + 1 < p || directions < p ? std::cos(angle) : 1.0);
                if (directions < p) axis[directions + j % (p - directions)] = j < p - directions ? float(std::sin(angle)) : 0.0f;
                if (directions < p && j >= p - directions) axis[j] = 1.0f;
            }
        for (float& each : precision) each = 1.5f + each;
        if (directions < p)
            for (float& each : rest) each = 1.5f + next_number();
    }

    Mixture view() const {
        return {count, directions, mean.data(), axes.data(), precision.data(), rest.data(), level.data(), nullptr, degrees, -1e30f};
    }

    Real operator()(const std::vector<Real>& z, Size s) const {
        Real total = 0;
        for (Size c = 0; c < count; ++c) {
            Real length = 0, square = 0;
            for (Size k = 0; k < p; ++k) length += (z[k] - mean[c * p + k]) * (z[k] - mean[c * p + k]);
            for (Size j = 0; j < directions; ++j) {
                Real along = 0;
                for (Size k = 0; k < p; ++k) along += axes[(c * directions + j) * p + k] * (z[k] - mean[c * p + k]);
                square += precision[(s * count + c) * directions + j] * along * along, length -= along * along;
            }
            square += rest[s * count + c] * length;
            const Real depth = degrees > 0 ? (Real(degrees) + p) / 2 * std::log1p(square / degrees) : square / 2;
            total += std::exp(level[s * count + c] - depth);
        }
        return std::log(total);
    }

    Real slope(std::vector<Real> z, Size s, Size column) const {
        const Real step = 1e-4L, here = z[column];
        const auto at = [&](Real moved) {
            z[column] = here + moved;
            return (*this)(z, s);
        };
        return (8 * (at(step) - at(-step)) - at(2 * step) + at(-2 * step)) / (12 * step);
    }
};

// The values at rows and on a line, and the derivatives of both, for one and several components, with a rest and without.
void test_background() {
    using namespace TARGET;
    for (const Size p : {1, 7, 40})
        for (const Size directions : {std::min(p, Size(5)), p})
            for (const Size components : {1, 3})
                for (const float degrees : {4.0f, 0.0f}) {
                    const Size levels = 3, n = 19, row = padded(p);  // more rows than a vector has lanes
                    const PlainBackground plain(p, components, directions, levels, degrees);
                    const Background background(plain.view(), p, levels);
                    const auto z = numbers(n * p, 2.0f);
                    Panel panel = background.panel(n);
                    for (Size i = 0; i < n; ++i)
                        for (Size k = 0; k < p; ++k) panel.z.data()[k * panel.stride + i] = z[i * p + k];
                    const auto place = [&](Size i) { return std::vector<Real>(z.begin() + i * p, z.begin() + (i + 1) * p); };
                    std::vector<double> found(n * levels, 0.0);
                    std::vector<float> by(levels * panel.stride), gradient(p * panel.stride);
                    for (Size s = 0; s < levels; ++s)
                        for (Size i = 0; i < n; ++i) by[s * panel.stride + i] = next_number();
                    background.look(panel);
                    background.add(panel, n, found.data(), levels);
                    background.weigh(panel, by.data());
                    background.pull(panel, gradient.data());
                    for (Size i = 0; i < n; ++i) {
                        for (Size s = 0; s < levels; ++s) {
                            const Real wanted = plain(place(i), s);
                            close("background", double(i), found[i * levels + s], wanted, 1e-5L * (1 + std::fabs(wanted)));
                        }
                        for (Size k = 0; k < p; ++k) {
                            Real wanted = 0;
                            for (Size s = 0; s < levels; ++s) wanted += by[s * panel.stride + i] * plain.slope(place(i), s, k);
                            close("gradient of the background", double(i), gradient[k * panel.stride + i], wanted, 2e-5L * (1 + std::fabs(wanted)));
                        }
                    }
                    std::vector<float> positions(panel.stride), on_line(row);
                    std::vector<double> along(n * levels, 0.0);
                    for (Size i = 0; i < n; ++i) positions[i] = float(i) / float(n);
                    background.look(panel, z.data(), z.data() + p, positions.data());
                    background.add(panel, n, along.data(), levels);
                    background.weigh(panel, by.data());
                    background.pull(panel, z.data(), z.data() + p, positions.data(), on_line.data());
                    std::vector<Real> wanted(p);
                    for (Size i = 0; i < n; ++i) {
                        std::vector<Real> point(p);
                        for (Size k = 0; k < p; ++k) point[k] = z[k] + Real(positions[i]) * z[p + k];
                        for (Size s = 0; s < levels; ++s) {
                            const Real here = plain(point, s);
                            close("background on a line", double(i), along[i * levels + s], here, 1e-5L * (1 + std::fabs(here)));
                            for (Size k = 0; k < p; ++k) wanted[k] += by[s * panel.stride + i] * plain.slope(point, s, k);
                        }
                    }
                    for (Size k = 0; k < p; ++k)
                        close("derivative of the background on a line", double(k), on_line[k], wanted[k], 1e-4L * (1 + std::fabs(wanted[k])));
                }
    // Far away it is finite and falls; a component that a member lacks counts for nothing.
    PlainBackground plain(40, 2, 40, 1, 4.0f);
    std::vector<double> far;
    for (const float distance : {1e3f, 1e9f, 1e15f}) {
        const Background background(plain.view(), 40, 1);
        Panel panel = background.panel(1);
        for (Size k = 0; k < 40; ++k) panel.z.data()[k * panel.stride] = distance;
        far.push_back(0.0);
        background.look(panel);
        background.add(panel, 1, &far.back(), 1);
    }
    check(far[0] > far[1] && far[1] > far[2] && std::isfinite(far[2]), "background far away", 1e15, far[2], far[1]);
    const PlainBackground one = [&] {
        PlainBackground first = plain;
        first.count = 1;
        return first;
    }();
    plain.level[1] = -1e30f;
    const Background lacking(plain.view(), 40, 1), alone(one.view(), 40, 1);
    double values[2] = {0, 0};
    for (const auto& [background, value] : {std::pair<const Background*, double*>{&lacking, values}, {&alone, values + 1}}) {
        Panel panel = background->panel(1);
        background->look(panel);
        background->add(panel, 1, value, 1);
    }
    check(values[0] == values[1], "background without a component", 0, values[0], values[1]);
}

// A network of one trunk in the layout of a model file, and both losses of one step.
struct Reference {
    Size p, k;
    std::vector<Size> hidden;

    Size count() const {
        Size found = 0, in = p;
        for (Size out : hidden) found += out * (in + 1), in = out;
        return found + in * (in + 1) + (1 + k) * (in + 1);
    }

    // The logit, then the potentials.
    std::vector<Real> outputs(const std::vector<Real>& values, const std::vector<Real>& row) const {
        std::vector<Real> at = row;
        Size place = 0;
        auto linear = [&](Size out) {
            const Size in = Size(at.size());
            std::vector<Real> next(out);
            for (Size o = 0; o < out; ++o) {
                next[o] = values[place + out * in + o];
                for (Size i = 0; i < in; ++i) next[o] += values[place + o * in + i] * at[i];
            }
            place += out * (in + 1);
            return next;
        };
        for (Size out : hidden) {
            at = linear(out);
            for (Real& each : at) each = gelu_of(each);
        }
        at = linear(Size(at.size()));
        const std::vector<Real> logit = linear(1), potentials = linear(k);
        std::vector<Real> found{logit[0]};
        found.insert(found.end(), potentials.begin(), potentials.end());
        return found;
    }

    Real slope(const std::vector<Real>& values, std::vector<Real> row, Size scale, Size column) const {
        const Real step = 1e-4L, here = row[column];
        auto potential = [&](Real moved) {
            row[column] = here + moved;
            return outputs(values, row)[1 + scale];
        };
        return (8 * (potential(step) - potential(-step)) - potential(2 * step) + potential(-2 * step)) / (12 * step);
    }
};

void test_learner() {
    const Reference net{3, 2, {5, 4}};
    const Size b = 4, opponents = 2, noised = 6, n = 12, count = net.count();
    const auto rows = numbers(n * net.p), noise = numbers(noised * net.p), eta = [&] {
        std::vector<float> each(noised, 0.5f);
        for (Size i = 1; i < noised; i += 2) each[i] = 1.25f;
        return each;
    }();
    auto preferred = numbers(opponents * b);
    for (float& each : preferred) each = 0.5f + each / 2;
    std::vector<std::int64_t> positions(2 * b + noised);
    for (Size i = 0; i < Size(positions.size()); ++i) positions[i] = i % n;
    auto values = numbers(count, 0.8f);
    const std::vector<Real> before(values.begin(), values.end());
    std::vector<float> mean(count), square(count), weight(noised), losses(2), rates{0.01f}, learned(net.p, 1.0f);
    for (Size i = 0; i < noised; ++i) weight[i] = eta[i] * eta[i];
    Training job{};
    job.width = net.p, job.potentials = net.k, job.hidden = net.hidden, job.trunks = 1;
    job.values = values.data(), job.mean = mean.data(), job.square = square.data();
    job.rows = job.vectors = rows.data(), job.row_count = n, job.metric = Metric::given;
    job.steps = 1, job.candidates = b, job.opponents = opponents, job.noised = noised;
    job.positions = positions.data(), job.position_stride = Size(positions.size()), job.anchors_at = 2 * b + noised, job.noise = noise.data(),
    job.noise_stride = noised * net.p;
    job.preferred = preferred.data(), job.preferred_stride = opponents * b;
    learned[1] = 0.0f;  // a column that is given: neither noised nor taught
    job.learned = learned.data(), job.eta = eta.data(), job.weight = weight.data(), job.balance = 0.7f, job.smallest_root = 1e-8;
    job.mean_decay = 0, job.square_decay = 0.999;  // the mean is then the gradient itself
    job.rates = rates.data(), job.losses = losses.data(), job.loss_stride = 2;
    const PlainBackground background(net.p, 2, 2, net.k, 4.0f);
    job.background = background.view();
    TARGET::Learner(job).run();

    auto row = [&](Size i) {
        const float* at = rows.data() + positions[i] * net.p;
        return std::vector<Real>(at, at + net.p);
    };
    auto both = [&](const std::vector<Real>& by) {
        Real global = 0, local = 0;
        for (Size s = 0; s < opponents; ++s)
            for (Size i = 0; i < b; ++i) {
                const Real d = net.outputs(by, row(i))[0] - net.outputs(by, row(b + (i + s) % b))[0];
                global += (std::log1p(std::exp(d)) - preferred[s * b + i] * d) / (opponents * b);
            }
        for (Size i = 0; i < noised; ++i) {
            std::vector<Real> noisy = row(2 * b + i);
            for (Size j = 0; j < net.p; ++j) noisy[j] += Real(eta[i]) * learned[j] * noise[i * net.p + j];
            for (Size j = 0; j < net.p; ++j) {
                if (learned[j] == 0) continue;
                const Real below = background.slope(noisy, i % net.k, j);
                const Real residual = net.slope(by, noisy, i % net.k, j) + below + noise[i * net.p + j] / Real(eta[i]);
                local += weight[i] * residual * residual / (2 * noised * (net.p - 1));
            }
        }
        return std::pair<Real, Real>{global, local};
    };
    const auto [global, local] = both(before);
    close("global loss", 0, losses[0], global, 1e-6L * (1 + global));
    close("local loss", 0, losses[1], local, 1e-6L * (1 + local));
    for (Size i = 0; i < count; ++i) {
        const Real step = 1e-4L;
        auto loss = [&](Real moved) {
            std::vector<Real> by = before;
            by[i] += moved;
            const auto [g, l] = both(by);
            return job.balance * g + l;
        };
        const Real wanted = (8 * (loss(step) - loss(-step)) - loss(2 * step) + loss(-2 * step)) / (12 * step);
        close("gradient", double(i), mean[i], wanted, 2e-6L * (1 + std::fabs(wanted)));
        if (std::fabs(wanted) < 1e-4L) continue;
        const Real moved = -Real(rates[0]) * mean[i] / (std::sqrt(Real(square[i])) + 1e-8L);
        close("Adam's step", double(i), Real(values[i]) - before[i], moved, 1e-6L * (1 + std::fabs(moved)));
    }
}

void test_scorer() {
    using namespace TARGET;
    const Reference net{5, 3, {17, 9}};
    const auto rough = numbers(net.count(), 0.4f);
    std::vector<Real> values(rough.begin(), rough.end());
    const Size top = net.hidden.back(), first = net.hidden[0] * (net.p + 1), below = first + top * (net.hidden[0] + 1);
    // The projection folded into both heads, in double, as scoring has it.
    std::vector<double> head((1 + net.k) * top), bias(1 + net.k);
    for (Size o = 0; o <= net.k; ++o) {
        const Size at = below + top * (top + 1) + (o ? top + 1 + (o - 1) * top : 0);
        bias[o] = o ? rough[below + top * (top + 1) + top + 1 + net.k * top + o - 1] : rough[at + top];
        for (Size j = 0; j < top; ++j) {
            bias[o] += double(rough[at + j]) * rough[below + top * top + j];
            for (Size i = 0; i < top; ++i) head[o * top + i] += double(rough[at + j]) * rough[below + j * top + i];
        }
    }
    const Trunk trunk{{{net.p, net.hidden[0], rough.data(), rough.data() + net.hidden[0] * net.p},
                       {net.hidden[0], top, rough.data() + first, rough.data() + first + top * net.hidden[0]}},
                      {top, 1 + net.k, head.data(), bias.data()}};
    const PackedNetwork network(net.p, 1 + net.k, {{trunk}}, {}, 0);
    const Size n = 61;  // more rows than climb together
    const auto rows = numbers(n * net.p, 2.0f);
    std::vector<double> found(n * (1 + net.k));
    Rows given;
    given.floats = rows.data(), given.count = n;
    network.outputs(given, nullptr, found.data());
    for (Size i = 0; i < n; ++i) {
        const auto wanted = net.outputs(values, std::vector<Real>(rows.begin() + i * net.p, rows.begin() + (i + 1) * net.p));
        for (Size o = 0; o <= net.k; ++o) close("output", double(i), found[i * (1 + net.k) + o], wanted[o], 3e-6L * (1 + std::fabs(wanted[o])));
    }
    // On a line the outputs are those of its points, and derivatives go back to the points.
    const Size points = 3;
    const float at[points] = {0.0f, 0.25f, 1.0f}, weight[points] = {1.0f, -2.0f, 0.5f};
    std::vector<double> on_line(points * (1 + net.k));
    std::vector<float> by(points * (1 + net.k)), by_points(net.p);
    for (Size i = 0; i < points; ++i) by[i * (1 + net.k) + 2] = weight[i];  // of the second potential alone
    network.along(1, points, rows.data(), rows.data() + net.p, at, on_line.data());
    network.back(1, points, rows.data(), rows.data() + net.p, at, by.data(), by_points.data());
    std::vector<Real> pulled(net.p);
    for (Size i = 0; i < points; ++i) {
        std::vector<Real> point(net.p);
        for (Size j = 0; j < net.p; ++j) point[j] = Real(rows[j]) + Real(at[i]) * rows[net.p + j];
        const auto wanted = net.outputs(values, point);
        for (Size o = 0; o <= net.k; ++o)
            close("output on a line", double(i), on_line[i * (1 + net.k) + o], wanted[o], 3e-6L * (1 + std::fabs(wanted[o])));
        for (Size j = 0; j < net.p; ++j) pulled[j] += weight[i] * net.slope(values, point, 1, j);
    }
    for (Size j = 0; j < net.p; ++j) close("derivative on a line", double(j), by_points[j], pulled[j], 3e-6L * (1 + std::fabs(pulled[j])));
    // With a background: a potential of the network counts up to its bounds, and has no slope beyond. One is never within
    // them, one always, and one here and there.
    const PlainBackground plain(net.p, 2, net.p, net.k + 1, 4.0f);
    std::vector<float> third;
    for (Size i = 0; i < n; ++i) third.push_back(float(found[i * (1 + net.k) + 3]));
    std::sort(third.begin(), third.end());
    const float bounds[6] = {50.0f, 60.0f, -100.0f, 100.0f, third[15], third[45]};
    Mixture mixture = plain.view();
    mixture.bounds = bounds;
    const Size width = 2 + net.k;
    const PackedNetwork bounded(net.p, width, {{trunk}}, {mixture}, net.k + 1);
    const auto within = [&](Size s, Real value) { return value >= Real(bounds[2 * s]) && value <= Real(bounds[2 * s + 1]); };
    const auto bound = [&](Size s, Real value) { return std::min(std::max(value, Real(bounds[2 * s])), Real(bounds[2 * s + 1])); };
    found.assign(std::size_t(n * width), 0.0);
    bounded.outputs(given, nullptr, found.data());
    Size beyond = 0;
    for (Size i = 0; i < n; ++i) {
        const std::vector<Real> row(rows.begin() + i * net.p, rows.begin() + (i + 1) * net.p);
        const auto raw = net.outputs(values, row);
        beyond += !within(2, raw[3]);
        for (Size s = 0; s <= net.k; ++s) {
            const Real wanted = plain(row, s) + (s < net.k ? bound(s, raw[s + 1]) : 0);
            close("bounded output", double(i), found[i * width + 1 + s], wanted, 1e-5L * (1 + std::fabs(wanted)));
        }
    }
    check(beyond > 5 && beyond < n - 5, "rows beyond the bounds", double(n), double(beyond), double(n) / 2);
    for (Size s = 0; s < net.k; ++s) {
        by.assign(std::size_t(points * width), 0.0f), on_line.assign(std::size_t(points * width), 0.0);
        for (Size i = 0; i < points; ++i) by[i * width + 1 + s] = weight[i];
        bounded.along(1, points, rows.data(), rows.data() + net.p, at, on_line.data());
        bounded.back(1, points, rows.data(), rows.data() + net.p, at, by.data(), by_points.data());
        std::fill(pulled.begin(), pulled.end(), Real(0));
        for (Size i = 0; i < points; ++i) {
            std::vector<Real> point(net.p);
            for (Size j = 0; j < net.p; ++j) point[j] = Real(rows[j]) + Real(at[i]) * rows[net.p + j];
            const Real raw = net.outputs(values, point)[s + 1], wanted = plain(point, s) + bound(s, raw);
            close("bounded output on a line", double(i), on_line[i * width + 1 + s], wanted, 1e-5L * (1 + std::fabs(wanted)));
            for (Size j = 0; j < net.p; ++j)
                pulled[j] += weight[i] * (plain.slope(point, s, j) + (within(s, raw) ? net.slope(values, point, s, j) : 0));
        }
        for (Size j = 0; j < net.p; ++j) close("derivative within bounds", double(j), by_points[j], pulled[j], 1e-4L * (1 + std::fabs(pulled[j])));
    }
}

void test_calibration() {
    using namespace TARGET;
    const Size members = 3, n = 9, k = 4, all_outputs = members * n * (1 + k);
    const auto rough = numbers(all_outputs, 2.0f), by = numbers(2 * n);
    std::vector<double> outputs(rough.begin(), rough.end()), by_raw(by.begin(), by.end()), back(all_outputs), pair(2 * n);
    const std::vector<double> low(members * k, -1.0), per_unit(members * k, 0.3), center(2 * members, 0.2), per_spread(2 * members, 1.5);
    const Calibration calibration{members, k, low.data(), per_unit.data(), center.data(), per_spread.data()};
    raw_back(calibration, n, outputs.data(), by_raw.data(), back.data());
    for (Size i = 0; i < all_outputs; ++i) {
        const double step = 1e-6, here = outputs[i];
        auto weighed = [&](double moved) {
            outputs[i] = here + moved;
            raw(calibration, n, outputs.data(), pair.data());
            Real total = 0;
            for (Size j = 0; j < 2 * n; ++j) total += Real(by_raw[j]) * pair[j];
            return total;
        };
        const Real wanted = (weighed(step) - weighed(-step)) / (2 * Real(step));
        outputs[i] = here;
        close("derivative of the raw scores", double(i), back[i], wanted, 1e-7L * (1 + std::fabs(wanted)));
    }
    std::vector<double> apart(2 * members * n);
    of_members(calibration, n, outputs.data(), apart.data());
    raw(calibration, n, outputs.data(), pair.data());
    for (Size i = 0; i < n; ++i) {
        Real lowest[2] = {0, 0};
        for (Size m = 0; m < members; ++m) {
            const double* own = &outputs[(m * n + i) * (1 + k)];
            Real local = 0;
            for (Size s = 0; s < k; ++s) local += (Real(own[1 + s]) + 1) * Real(0.3) / k;
            const Real scores[2] = {(Real(own[0]) - Real(0.2)) * Real(1.5), (local - Real(0.2)) * Real(1.5)};
            for (int head = 0; head < 2; ++head) {
                close("a member's score", double(i), apart[2 * (m * n + i) + head], scores[head], 1e-14L * (1 + std::fabs(scores[head])));
                lowest[head] = m ? std::min(lowest[head], scores[head]) : scores[head];
            }
        }
        for (int head = 0; head < 2; ++head)
            close("a raw score", double(i), pair[2 * i + head], lowest[head], 1e-13L * (1 + std::fabs(lowest[head])));
    }
}

}  // namespace

int main() {
    test_functions();
    test_scaling();
    test_ends();
    test_products();
    test_transpose();
    test_neighbours();
    test_background();
    test_scorer();
    test_learner();
    test_calibration();
    if (failures) std::printf("%d checks failed\n", failures);
    return failures != 0;
}
