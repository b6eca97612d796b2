#pragma once

// `sample`: random points of the axes in place of their whole product. A draw is a function of the
// sweep's own sample seed, the number of the draw and the path alone: more points keep the first
// ones, another axis or another seed of the jobs changes no value of the others.

#include <cstdint>
#include <functional>
#include <vector>

#include "sweeps/spec/grid.h"

namespace gyre {

struct SampleDraft {
  uint64_t count = 0;  // 0 = no sample
  uint64_t seed = 0;
  TextPlace place;
};

/// Which value of each axis a point of their product has.
using GridPlace = std::vector<size_t>;

/// Different places, as many as wanted or found, in the order of the draw; one that is excluded is
/// drawn anew. Values of open axes are made as they are drawn. Notes what was drawn.
std::vector<GridPlace> DrawPlaces(std::vector<Axis>* axes, const SampleDraft& sample,
                                  const Settings* base,
                                  const std::function<bool(const GridPlace&)>& is_excluded,
                                  const ReadContext& context);

}  // namespace gyre
