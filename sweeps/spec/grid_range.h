#pragma once

// {range: [a, b], count: n} and {log_range: [a, b], count: n} as the values of a path of a grid;
// without a count all that lies between, for `sample` to draw from.

#include <cstdint>
#include <optional>
#include <string>

#include "sweeps/spec/faults.h"
#include "sweeps/spec/yaml_tree.h"

namespace gyre {

struct RangeValues {
  double first = 0, last = 0;
  bool logarithmic = false;
  int64_t count = 0;  // 0 = not given

  /// The i-th of `count`; first and last are exact.
  double At(int64_t i) const;
  /// The value at a share in [0, 1) of the way, to six digits, so that it is the one that names
  /// show; `whole`: a whole number, each as likely as its part of the range says.
  double Drawn(double share, bool whole) const;
};

/// Nothing after a report under `name`. `sampled`: the count may be left out.
std::optional<RangeValues> ReadRange(const std::string& name, const YamlRef& ref, bool sampled,
                                     Faults* faults);

}  // namespace gyre
