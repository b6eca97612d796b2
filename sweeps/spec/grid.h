#pragma once

// The axes of `grid` and `zip`: dotted paths with lists or ranges of values, counted before they
// are built; and the items of `exclude`, which name points by the same paths.

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sweeps/spec/block_reader.h"
#include "sweeps/spec/grid_range.h"
#include "sweeps/spec/settings.h"
#include "sweeps/spec/yaml_tree.h"

namespace gyre {

/// What a count of points or jobs saturates at.
inline constexpr int64_t kUncountable = std::numeric_limits<int64_t>::max();

struct AxisValue {
  Settings settings;
  std::string text;  // as names of variants show it
  TextPlace place;
};

struct AxisPath {
  std::string section;  // "grid" or "zip"
  int field = -1;
  std::string label;  // last element of the path
  TextPlace place;    // of the path
  uint64_t count = 0;
  std::optional<RangeValues> range;
  std::vector<AxisValue> values;  // empty until BuildAxis()
  YamlRef written;
  std::map<std::string, size_t> drawn;  // of an open axis: values by their text

  /// "grid.train.optimizer.lr".
  std::string Name() const { return section + "." + std::string(AllFields()[field].path); }
};

/// One factor of the product: a path of `grid`, or the paths of a `zip`, which vary together.
struct Axis {
  std::vector<AxisPath> paths;
  uint64_t count = 0;
  bool usable = false;
  bool open = false;  // one range without a count: `sample` draws from the whole of it

  /// "hidden_size=128 num_hidden_layers=2", as in the names of variants.
  std::string TextAt(size_t index) const;
};

/// Reads paths and counts; reports what is wrong with them. `sampled`: ranges need no count.
std::vector<Axis> ReadGridAxes(const YamlRef& grid, bool sampled, Faults* faults);
/// The same of a zip: a mapping, or a list of them, each an axis. `grid` has paths that are taken.
std::vector<Axis> ReadZipAxes(const YamlRef& zip, const std::vector<Axis>& grid, Faults* faults);
/// Points of their product; saturates, and is kUncountable with an open one.
int64_t CountPoints(const std::vector<Axis>& axes);
/// Reads or computes the values of axes whose count is acceptable, none of an open one. Drops those
/// that are not usable; reports the faulty ones, and two that set the same key.
void BuildAxes(std::vector<Axis>* axes, const Settings* base, const ReadContext& context);
/// Reads a computed value like a written one, so that it meets the same checks. False after a
/// fault.
bool AppendComputed(AxisPath* path, double value, const Settings* base, const ReadContext& context);

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
