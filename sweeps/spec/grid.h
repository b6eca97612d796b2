#pragma once

// The axes of a grid: dotted paths with lists or ranges of values, counted before they are built;
// and the items of `exclude`, which name points by the same paths.

#include <cstdint>
#include <string>
#include <vector>

#include "sweeps/spec/block_reader.h"
#include "sweeps/spec/settings.h"
#include "sweeps/spec/yaml_tree.h"

namespace gyre {

struct AxisValue {
  Settings settings;
  std::string text;  // as names of variants show it
  TextPlace place;
};

struct Axis {
  int field = -1;
  std::string label;  // last element of the path
  TextPlace place;    // of the path
  uint64_t count = 0;
  bool usable = false;
  std::vector<AxisValue> values;  // empty until BuildAxis()
  YamlRef written;
};

/// Reads paths and counts; reports what is wrong with them.
std::vector<Axis> ReadAxes(const YamlRef& grid, Faults* faults);
/// Reads or computes the values of an axis whose count is acceptable.
void BuildAxis(Axis* axis, const Settings* base, const ReadContext& context);

struct ExcludePair {
  int field = -1;
  Json value;
  std::string path;
};
struct ExcludeItem {
  std::vector<ExcludePair> pairs;
  TextPlace place;
  int64_t dropped = 0;
};
std::vector<ExcludeItem> ReadExclude(const YamlRef& exclude, const Settings* base,
                                     const ReadContext& context);

/// The field of a dotted path in grid or exclude, or -1 after a report.
int ReadPath(const std::string& section, const std::string& path, const TextPlace& place,
             Faults* faults);

/// A value as it stands in the name of a variant: 0.001, nope, [0.9,0.95].
std::string NameOf(const Json& value);

}  // namespace gyre
