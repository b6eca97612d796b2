// evaluate.interventions of a merged point: which pairs and layers of the model they are, and the
// encodings that they put in place of the one that training ends with.

#include <algorithm>
#include <set>

#include "sweeps/spec/point_checks.h"
#include "sweeps/spec/scalar.h"
#include "trainer/config/intervention.h"

namespace gyre {
namespace {

const int kInterventions = FieldIndexOrDie("evaluate.interventions");
const int kSwitch = FieldIndexOrDie("position.switch");
const int kType = FieldIndexOrDie("position.type");

std::string ValueName(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number()) return FormatNumber(value.get<double>());
  if (value.is_null()) return "none";
  std::string name;
  for (const Json& item : value) name += (name.empty() ? "" : "-") + ValueName(item);
  return name;
}

// "nope", "theta-500000", "p-0.5-keep-low".
std::string PositionName(const Settings& settings) {
  std::string name;
  for (const auto& [field, setting] : settings) {
    std::string key(AllFields()[field].path.substr(std::string_view("position.").size()));
    std::replace(key.begin(), key.end(), '.', '-');
    const bool list = setting->value.is_array() && !setting->overrides.empty();
    const std::string value = list ? "" : ValueName(setting->value);
    if (!name.empty()) name += "-";
    name += field == kType ? value : value.empty() ? key : key + "-" + value;
  }
  return name;
}

// Ascending; empty where the item names none.
std::vector<int> LayersOf(const LayerOverride& item, int layers) {
  std::set<int> named;
  for (auto [first, last] : item.ranges) {
    if (first == LayerOverride::kLast) first = layers - 1;
    if (last == LayerOverride::kLast) last = layers - 1;
    named.insert(first);  // one that is beyond the last is found out later
    for (int layer = first; layer <= last; ++layer) named.insert(layer);
  }
  return {named.begin(), named.end()};
}

InterventionRequest RequestOf(const Json& written, const LayerOverride& item, int layers) {
  InterventionRequest request;
  request.layers = LayersOf(item, layers);
  request.each_layer =
      written.value("each_layer", Json()).is_boolean() && written["each_layer"].get<bool>();
  request.name = written.value("name", std::string());
  request.kind = written.contains(kZero) ? kZero : written.contains(kFreeze) ? kFreeze : kPosition;
  if (request.kind == kPosition) {
    request.position_name = PositionName(item.settings);
    return request;
  }
  const Json& pairs = written[request.kind];
  if (pairs.is_array()) {
    request.pairs = {pairs[0].get<int>(), pairs[1].get<int>()};
  } else if (pairs.contains("bands")) {
    request.bands = pairs["bands"].get<int>();
  } else {
    request.highest = pairs.contains("highest");
    request.share = pairs.front().get<double>();
  }
  return request;
}

// What training ends with.
GridPoint InForceAtTheEnd(const GridPoint& point) {
  GridPoint in_force = point;
  if (const Setting* setting = point.At(kSwitch)) {
    for (const LayerOverride& change : setting->overrides) in_force.Overlay(change.settings);
  }
  return in_force;
}

}  // namespace

void ResolveInterventions(PointChecks* checks, const PositionConfig& defaults, JobConfig* config,
                          Notes* notes) {
  const Setting* setting = checks->point().At(kInterventions);
  if (setting == nullptr || setting->overrides.empty()) return;
  const auto fault = [&](const LayerOverride& item, const std::string& message,
                         const std::string& help = "") {
    checks->faults()->push_back({item.place, "intervention", message, help});
  };
  const GridPoint in_force = InForceAtTheEnd(checks->point());
  std::set<std::string> names;
  for (size_t i = 0; i < setting->overrides.size(); ++i) {
    const LayerOverride& item = setting->overrides[i];
    InterventionRequest request =
        RequestOf(setting->value[i], item, config->model.num_hidden_layers);
    if (request.kind == kPosition) {
      GridPoint changed = in_force;
      changed.Overlay(item.settings);
      PointChecks own(changed, item.place, checks->faults());
      request.position = defaults;
      ResolvePosition(&own, config->model, &request.position, notes);
    }
    auto list = ExpandIntervention(request, config->model);
    if (!list.ok()) {
      fault(item, "evaluate.interventions: " + list.status().message());
      continue;
    }
    for (Intervention& one : *list) {
      if (!names.insert(one.name).second) {
        fault(item, "evaluate.interventions: two of them are called " + one.name,
              "give one a name: {..., name: another}");
        break;
      }
      config->evaluate.interventions.push_back(std::move(one));
    }
    if (config->evaluate.interventions.size() > kMaxInterventions) {
      fault(item,
            "evaluate.interventions: these are more than " + std::to_string(kMaxInterventions));
      return;
    }
  }
}

}  // namespace gyre
