// The part of BlockReader that reads evaluate.interventions: [{zero: lowest 25%}, {freeze: [12,
// 16]}, {zero: {bands: 8}, each_layer: true}, {theta: 500000}, {position: {type: nope}}].

#include <algorithm>
#include <sstream>

#include "sweeps/spec/block_reader.h"
#include "sweeps/spec/nearest.h"
#include "sweeps/spec/scalar.h"
#include "sweeps/spec/task_reader.h"
#include "sweeps/spec/value_reader.h"
#include "trainer/config/intervention.h"

namespace gyre {
namespace {

constexpr char kExample[] = "for example {zero: lowest 25%} or {position: {type: nope}}";
constexpr char kPairs[] = "for example lowest 25%, highest 25%, [12, 16] or {bands: 8}";
constexpr const char* kChanges[] = {kZero, kFreeze, "theta", kPosition};

bool IsChange(const std::string& key) {
  return std::find(std::begin(kChanges), std::end(kChanges), key) != std::end(kChanges);
}

// "lowest 25%".
std::optional<Json> ReadShare(const std::string& text) {
  std::istringstream words(text);
  std::string side, share, more;
  words >> side >> share;
  if ((side != "lowest" && side != "highest") || words >> more) return std::nullopt;
  const Reading<Number> number = ReadNumber(share, "a share");
  if (!number.value || !(number.value->value > 0 && number.value->value <= 1)) return std::nullopt;
  return Json{{side, number.value->value}};
}

std::optional<Json> ReadNumbers(FieldKind kind, const std::string& path, double low,
                                const YamlRef& ref, Faults* faults) {
  const Field field{
      .path = "", .kind = kind, .default_text = "", .meaning = "", .low = low, .high = 2048};
  auto value = ReadValue(field, path, ref, {}, faults);
  if (value && value->is_null()) {
    faults->Add(ref.place, path + " is empty", kPairs);
    return std::nullopt;
  }
  return value;
}

// Which pairs: {"lowest": 0.25}, [a, b] or {"bands": n}.
std::optional<Json> ReadPairs(const std::string& path, const YamlRef& ref, Faults* faults) {
  const YamlNode& node = *ref.node;
  if (node.IsSequence()) return ReadNumbers(FieldKind::kBand, path, 0, ref, faults);
  if (node.IsScalar()) {
    if (auto share = ReadShare(node.text)) return share;
  }
  if (node.IsMapping() && node.entries.size() == 1) {
    const YamlEntry& entry = node.entries.front();
    if (entry.key == "pairs") return ReadPairs(path + ".pairs", entry.value, faults);
    if (entry.key == "bands") {
      auto bands = ReadNumbers(FieldKind::kCount, path + ".bands", 1, entry.value, faults);
      if (!bands) return std::nullopt;
      return Json{{"bands", *bands}};
    }
  }
  std::string help = kPairs;
  if (node.IsMapping() && (node.Find("layers") || node.Find("each_layer") || node.Find("name"))) {
    help = "layers, each_layer and name stand beside it: {zero: {bands: 8}, each_layer: true}";
  }
  faults->Add(ref.place, path + " must say which pairs, and is " + DescribeNode(node), help);
  return std::nullopt;
}

}  // namespace

void BlockReader::Interventions(const std::string& path, const TextPlace& place, const YamlRef& ref,
                                Target* target) {
  Setting setting{
      .field = FieldIndexOrDie("evaluate.interventions"), .place = place, .overrides = {}};
  if (!ref.node->IsNull() && !ref.node->IsSequence()) {
    faults_->Add(ref.place, path + " must be a list of mappings, and is " + DescribeNode(*ref.node),
                 kExample);
    setting.usable = false;
  }
  if (ref.node->IsSequence()) setting.value = Json::array();
  for (size_t i = 0; i < ref.node->items.size(); ++i) {
    LayerOverride change;
    Json value = Json::object();
    setting.usable &=
        InterventionItem(path + "[" + std::to_string(i) + "]", ref.node->items[i], &change, &value);
    setting.overrides.push_back(std::move(change));
    setting.value.push_back(std::move(value));
  }
  Put(&target->settings, setting.field, std::move(setting));
}

// `value` says what the item says but for the settings of a position block, which are the change's.
bool BlockReader::InterventionItem(const std::string& path, const YamlRef& ref,
                                   LayerOverride* change, Json* value) {
  change->place = ref.place;
  if (!ref.node->IsMapping()) {
    faults_->Add(ref.place, path + " must be a mapping, and is " + DescribeNode(*ref.node),
                 kExample);
    return false;
  }
  const int64_t before = faults_->count();
  Target own;
  int changes = 0;
  for (const YamlEntry& entry : ref.node->entries) {
    const std::string inner = path + "." + entry.key;
    changes += IsChange(entry.key) ? 1 : 0;
    if (entry.key == kZero || entry.key == kFreeze) {
      if (auto pairs = ReadPairs(inner, entry.value, faults_)) (*value)[entry.key] = *pairs;
    } else if (entry.key == "theta") {
      Field_(FieldIndexOrDie("position.theta"), inner, entry.place, entry.value, &own);
    } else if (entry.key == kPosition) {
      Mapping(kPosition, entry.value, &own);
    } else if (entry.key == "layers") {
      if (LayerNumbers(inner, entry.value, change)) (*value)["layers"] = change->ranges;
    } else if (entry.key == "each_layer") {
      const Field flag{.path = "", .kind = FieldKind::kBoolean, .default_text = "", .meaning = ""};
      if (auto read = ReadValue(flag, inner, entry.value, {}, faults_)) (*value)[entry.key] = *read;
    } else if (entry.key == "name") {
      if (auto name = ReadMetricName(inner, entry.value, faults_)) (*value)["name"] = *name;
    } else {
      faults_->Add(entry.place, "unknown key " + Quoted(entry.key) + " in " + label_ + "." + path,
                   DidYouMean(entry.key, {kZero, kFreeze, "theta", kPosition, "layers",
                                          "each_layer", "name"}));
    }
  }
  FinishRope(&own);
  for (const char* key : {"position.switch", "position.randomized_max"}) {
    const auto said = own.settings.find(FieldIndexOrDie(key));
    if (said != own.settings.end() && !said->second->value.is_null()) {
      faults_->Add(said->second->place, std::string(key) + " does not stand within " + path);
    }
  }
  const bool empty = own.settings.empty() && !value->contains(kZero) && !value->contains(kFreeze);
  if (faults_->count() == before && (changes != 1 || empty)) {
    faults_->Add(ref.place,
                 path + " must have one of zero, freeze, theta and position, and has " +
                     (changes == 1   ? "an empty one"
                      : changes == 0 ? "none"
                                     : "several"),
                 kExample);
  }
  for (const auto& [field, setting] : own.settings) {
    (*value)[kPosition][std::string(AllFields()[field].path)] = setting->value;
  }
  change->settings = std::move(own.settings);
  return faults_->count() == before;
}

}  // namespace gyre
