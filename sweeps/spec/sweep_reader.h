#pragma once

// One document of a file, read but not yet expanded: what the sweep says of itself, its base,
// variants, axes, seeds.

#include <optional>
#include <string>
#include <vector>

#include "sweeps/spec/grid.h"
#include "sweeps/spec/settings.h"
#include "sweeps/spec/sweep_spec.h"
#include "sweeps/spec/yaml_tree.h"

namespace gyre {

struct VariantSettings {
  std::string name;  // empty: the one variant of a sweep without `variants`
  TextPlace place;
  Settings settings;
};

struct SeedList {
  uint64_t count = 1;
  std::vector<uint64_t> seeds;  // empty: 0..count-1
  TextPlace place;
};

struct SweepDraft {
  SweepSpec spec;   // the parts that need no expansion
  TextPlace place;  // of the document
  Settings base;
  TextPlace base_place;
  std::vector<VariantSettings> variants;
  TextPlace variants_place;
  std::vector<Axis> axes;  // of the grid
  std::vector<Axis> zip;   // vary together: one axis more
  bool zip_first = false;  // zip stands above grid, and in names too
  TextPlace grid_place;    // of zip where there is no grid
  std::vector<ExcludeItem> exclude;
  TextPlace exclude_place, baseline_place, stop_early_place;
  SeedList seeds;
};

/// Reads what stands in the document and reports what is wrong with each part of it.
SweepDraft ReadSweep(const YamlRef& document, const ReadContext& context);

}  // namespace gyre
