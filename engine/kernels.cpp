// The kernels: all computations, compiled once for each instruction set.
#include "calibration.h"
#include "columns.h"
#include "groups.h"
#include "neighbours.h"
#include "scoring.h"
#include "training.h"

namespace TARGET {

static std::unique_ptr<Scorer> scorer(Size width, Size outputs, const std::vector<std::vector<Trunk>>& members, const std::vector<Mixture>& backgrounds,
                                      Size levels) {
    return std::make_unique<PackedNetwork>(width, outputs, members, backgrounds, levels);
}

static void train(const Training& asked) { Learner(asked).run(); }

#define NAMED_(name) #name
#define NAMED(name) NAMED_(name)
extern const Kernels kernels;
const Kernels kernels{NAMED(TARGET), scorer, train, scale<double>, scale<float>, ends, neighbour_distances, far_apart, k_means, of_members, raw, rescale, mix, squeeze, all_finite, raw_back};

}  // namespace TARGET
