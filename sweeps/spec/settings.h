#pragma once

// What a file says about fields of the table, before it is merged: one Setting a field and layer
// (base, a variant, a grid value), each with its place. Settings live in a store as long as the
// file is read; everything else points to them, so that a hundred thousand points of a grid share
// the few that differ.

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sweeps/spec/faults.h"
#include "trainer/config/fields.h"
#include "trainer/config/job_config.h"

namespace gyre {

/// Where in defaults < base < variant < grid.
enum class Rank { kBase, kVariant, kGrid };

struct LayerOverride;

struct Setting {
  int field = 0;  // index into AllFields()
  Json value;     // null = as if not given
  TextPlace place;
  Rank rank = Rank::kBase;
  bool usable = true;  // false: faulty and reported; checks that look at it are skipped
  std::vector<LayerOverride>
      overrides;  // of position.layers, position.switch, evaluate.interventions,
                  // position.rope_parameters by layer type
};

/// The settings of one layer of the merge, each field once.
using Settings = std::map<int, const Setting*>;

/// One item of position.layers, position.switch or evaluate.interventions, or of rope_parameters by
/// layer type.
struct LayerOverride {
  static constexpr int kLast = -1;
  std::vector<std::pair<int, int>> ranges;  // first and last layer, kLast = the model's last
  std::string layer_type;                   // in place of ranges: "sliding_attention"
  int64_t at = 0;                           // of a switch: tokens
  TextPlace place;
  Settings settings;
};

using SettingStore = std::deque<Setting>;

/// The merged settings of one point, by field; null where nobody says anything.
class GridPoint {
 public:
  GridPoint() : slots_(AllFields().size(), nullptr) {}
  void Overlay(const Settings& settings) {
    for (const auto& [field, setting] : settings) slots_[field] = setting;
  }
  /// The setting that decides the field, if it says something.
  const Setting* At(int field) const {
    const Setting* setting = slots_[field];
    return setting != nullptr && setting->usable && !setting->value.is_null() ? setting : nullptr;
  }
  /// The setting that decides the field, whatever it says: explicit nulls and faulty ones too.
  const Setting* Written(int field) const { return slots_[field]; }

 private:
  std::vector<const Setting*> slots_;
};

}  // namespace gyre
