#pragma once

// One document of a file, read but not yet expanded: what the sweep says of itself, its base,
// variants, axes, seeds.

#include <optional>
#include <string>
#include <vector>

#include "sweeps/spec/grid.h"
#include "sweeps/spec/sample.h"
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
  std::vector<Axis> axes;
  TextPlace grid_place;  // of grid, or of zip where there is no grid
  SampleDraft sample;
  std::vector<ExcludeItem> exclude;
  TextPlace exclude_place, baseline_place, stop_early_place;
  SeedList seeds;
};

/// Reads what stands in the first document, merged over the others (its `extends`, the nearest
/// first), and reports what is wrong with each part of them.
SweepDraft ReadSweep(const std::vector<YamlRef>& chain, const ReadContext& context);

}  // namespace gyre
