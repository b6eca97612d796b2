#pragma once

// The axes of a grid: dotted paths with lists or ranges of values, counted before they are built;
// the paths of `zip`, which vary together and are one axis more; and the items of `exclude`, which
// name points by the same paths.

#include <cstdint>
#include <string>
#include <vector>

#include "sweeps/spec/block_reader.h"
#include "sweeps/spec/settings.h"
#include "sweeps/spec/yaml_tree.h"

namespace gyre {

struct AxisValue {
  Settings settings;
  std::string text;  // as names of variants show it: "lr=0.001"
  TextPlace place;
};

struct Axis {
  std::string section;  // "grid" or "zip"
  int field = -1;       // -1: a zip of several
  std::string label;    // last element of the path
  TextPlace place;      // of the path
  uint64_t count = 0;
  bool usable = false;
  std::vector<AxisValue> values;  // empty until BuildAxis()
  YamlRef written;
};

/// Reads paths and counts; reports what is wrong with them. `section` is "grid" or "zip".
std::vector<Axis> ReadAxes(const std::string& section, const YamlRef& ref, Faults* faults);
/// Reports paths of other lengths than the first (they are not usable), and those that `grid` has.
void CheckZip(std::vector<Axis>* zip, const std::vector<Axis>& grid, Faults* faults);
/// Reads or computes the values of an axis whose count is acceptable.
void BuildAxis(Axis* axis, const Settings* base, const ReadContext& context);
/// The one axis that built axes of one length make together. Two rows with one name are reported.
Axis JoinZip(const std::vector<Axis>& zip, Faults* faults);

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
