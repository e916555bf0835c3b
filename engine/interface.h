// The interface between the bindings (module.cpp) and the kernels (kernels.cpp), compiled for each instruction set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

using Size = std::ptrdiff_t;

// A linear layer in the layout of a model file: weight (out, in), bias (out).
struct Linear {
    Size in, out;
    const float *weight, *bias;
};

// The background of one member: a mixture of t-distributions, or of Gaussians, at some levels of blur. With v = z - mean
// and y = axes v the squared distance is rest (|v|² - |y|²) + Σ precision y², and a component's logarithm
// level - ½ (degrees + p) log(1 + distance² / degrees).
struct Mixture {
    Size count = 0, directions = 0;                                          // of components, and of the axes of each
    const float *mean = nullptr, *axes = nullptr;                            // (count, p), (count, directions, p)
    const float *precision = nullptr, *rest = nullptr, *level = nullptr;     // (levels, count, directions), (levels, count)
    const float* bounds = nullptr;                                           // (levels - 1, 2): least and most that a network adds
    float degrees = 0;                                                       // of freedom; 0: Gaussians
    float lowest = 0;                                                        // a component at this level is none
};

struct Scaling {
    const double *center, *weight;  // (p,)
    const double* shrink;         // (p,) or null
    const double *seen, *beyond;  // (2, p) or null: ends of the columns, how much steeper the scale is outside
    double knee, limit;
};

// A head with the projection below it folded in, in double: weight (1 + k, q), bias (1 + k).
struct Head {
    Size in, out;
    const double *weight, *bias;
};

struct Trunk {
    std::vector<Linear> layers;  // a GELU follows each
    Head head;                   // of all outputs; zero where another trunk gives them
};

struct Rows {  // (n, p), one row after another
    const float* floats = nullptr;
    const double* doubles = nullptr;
    Size count = 0;
    // Copy one row as doubles.
    void read(Size number, Size width, double* to) const {
        if (doubles)
            for (Size k = 0; k < width; ++k) to[k] = doubles[number * width + k];
        else
            for (Size k = 0; k < width; ++k) to[k] = double(floats[number * width + k]);
    }
};

// A trained network, packed for scoring.
class Scorer {
  public:
    virtual ~Scorer() = default;
    // Scale the rows (unless `scaling` is null: they are scaled) and give (members, n, 1 + k) outputs.
    virtual void outputs(Rows rows, const Scaling* scaling, double* out) const = 0;
    // Outputs at the points start + at * step: (lines, p), (lines, p), (lines, points) -> (members, lines, points, 1 + k)
    virtual void along(Size lines, Size points, const float* start, const float* step, const float* at, double* out) const = 0;
    // From derivatives by these outputs to derivatives by the points, summed over each line: -> (lines, p)
    virtual void back(Size lines, Size points, const float* start, const float* step, const float* at, const float* by, float* out) const = 0;
};

enum class Metric { given, euclidean, manhattan };
enum class Heads { both, global, local };

// Some steps of training of one network.
struct Training {
    Size width, potentials;
    std::vector<Size> hidden;
    int trunks;
    float *values, *mean, *square;  // all parameters one after another, and Adam's moments; changed in place
    const float* rows;              // (n, p) scaled
    const float* vectors;           // (n, p) that are compared
    Size row_count;
    Metric metric;
    float tie;
    Size steps, candidates, opponents, noised, anchors;  // of each step; 2 * candidates rows are compared
    const std::int64_t* positions;                       // (steps, stride): candidates, rows to be noised, ...
    Size position_stride, anchors_at;                    // ... and from there on, anchors
    const float* noise;                                  // (steps, stride)
    Size noise_stride;
    const float* preferred;  // (steps, stride) of (opponents, candidates), for Metric::given
    Size preferred_stride;
    const float *eta, *weight;  // (noised,): row i is noised at eta[i], for potential i mod k
    const float* learned;       // (width,) 1 for a learned column, 0 for one of the context, which is not noised
    float balance, weight_decay;
    double mean_decay, square_decay, smallest_root;  // Adam's β₁, β₂ and ε
    const float* rates;                              // (steps,) Adam's, corrected
    float* losses;                                   // (steps, stride) of two
    Size loss_stride;
    Mixture background;  // of which each potential learns what its level leaves; without components: there is none
    // Which heads are trained, with their trunks. Heads with a trunk each share nothing: they can be trained
    // one after the other, or at the same time by different threads.
    Heads heads = Heads::both;
    bool teaches(int head) const { return heads == Heads::both || heads == (head ? Heads::local : Heads::global); }
};

// The constants that turn outputs into a pair of raw scores; network/calibration.py explains them.
struct Calibration {
    Size members, potentials;
    const double *low, *per_unit;       // (members, k) of each potential
    const double *center, *per_spread;  // (members, 2) of each member's logit and local score
};

// Where the head scores of raw ones are 0, and what is 1 above that: of the global head, and of the local one.
struct Units {
    const double *low, *width;  // (2,)
};

struct Mixing {
    double share, allowance;  // the weight of the local head score; by how much it may exceed the global one
};

struct Kernels {
    const char* name;
    std::unique_ptr<Scorer> (*scorer)(Size width, Size outputs, const std::vector<std::vector<Trunk>>& members,
                                      const std::vector<Mixture>& backgrounds, Size levels);
    void (*train)(const Training&);
    // Rows in scaled units: (n, p) -> (n, p); rounded where they are wanted as floats.
    void (*scale)(Size width, Rows rows, const Scaling&, double* out);
    void (*scale_to_floats)(Size width, Rows rows, const Scaling&, float* out);
    // The least and the greatest value of each column, (2, p); both NaN for a column that holds a NaN or an infinity.
    void (*ends)(Size width, Rows rows, double* out);
    // The distance of each row to its `order`-th nearest among the others: (n, p) -> (n,).
    void (*neighbour_distances)(Size width, Size n, const float* rows, Size order, double* out);
    // Numbers of `count` rows that lie far apart, chosen from draws of (count - 1, trials).
    void (*far_apart)(Size width, Size n, const float* rows, Size first, Size count, Size trials, const double* drawn, std::int64_t* picked);
    // Groups of rows by k-means: centres, (count, p), are changed in place, and the owner of each row is written.
    void (*k_means)(Size width, Size n, const float* rows, Size count, Size rounds, double* centres, std::int64_t* owner);
    // (members, n, 1 + k) outputs -> (members, n, 2): each member's logit and the mean of its potentials, rescaled.
    void (*of_members)(const Calibration&, Size n, const double* outputs, double* out);
    // (members, n, 1 + k) outputs -> (n, 2): the raw scores: of each head, the lowest member's.
    void (*raw)(const Calibration&, Size n, const double* outputs, double* out);
    // In place: raw scores (n, 2) -> head scores.
    void (*rescale)(const Units&, Size n, double* pairs);
    // Head scores (n, 2) -> their mixtures (n,).
    void (*mix)(const Mixing&, Size n, const double* pairs, double* out);
    // In place: mixtures, or head scores -> numbers in [0, 1].
    void (*squeeze)(Size n, double* values);
    bool (*all_finite)(Size count, const double* values);
    // From derivatives by the raw scores, (n, 2), to derivatives by the outputs, (members, n, 1 + k).
    void (*raw_back)(const Calibration&, Size n, const double* outputs, const double* by, double* out);
};
