// The part of BlockReader that reads position.switch: {at: 15M, to: {p: 0.75}}, or a list of them.

#include "sweeps/spec/block_reader.h"
#include "sweeps/spec/nearest.h"
#include "sweeps/spec/value_reader.h"

namespace gyre {
namespace {

constexpr char kExample[] = "for example {at: 15M, to: {p: 0.75}}";

}  // namespace

void BlockReader::Switch(const std::string& path, const TextPlace& place, const YamlRef& ref,
                         Target* target) {
  Setting setting{.field = FieldIndexOrDie("position.switch"), .place = place, .overrides = {}};
  std::vector<YamlRef> items;
  if (ref.node->IsSequence()) items = ref.node->items;
  if (ref.node->IsMapping()) items = {ref};
  if (items.empty() && !ref.node->IsNull()) {
    faults_->Add(ref.place,
                 path + " must be a mapping with at and to, and is " + DescribeNode(*ref.node),
                 kExample);
    setting.usable = false;
  }
  if (!items.empty()) setting.value = Json::array();
  for (const YamlRef& item : items) {
    LayerOverride change;
    Json value = Json::object();
    setting.usable &= SwitchItem(path, item, &change, &value);
    if (setting.usable && !setting.overrides.empty() && change.at <= setting.overrides.back().at) {
      faults_->Add(item.place, path + " must go on in time: " + value["at"].dump() +
                                   " comes after " + std::to_string(setting.overrides.back().at));
      setting.usable = false;
    }
    setting.overrides.push_back(std::move(change));
    setting.value.push_back(std::move(value));
  }
  Put(&target->settings, setting.field, std::move(setting));
}

// `value` is what two switches are compared by.
bool BlockReader::SwitchItem(const std::string& path, const YamlRef& ref, LayerOverride* change,
                             Json* value) {
  change->place = ref.place;
  if (!ref.node->IsMapping()) {
    faults_->Add(ref.place, path + " must be a mapping, and is " + DescribeNode(*ref.node),
                 kExample);
    return false;
  }
  const int64_t before = faults_->count();
  const YamlEntry *at = nullptr, *to = nullptr;
  for (const YamlEntry& entry : ref.node->entries) {
    if (entry.key == "at") {
      at = &entry;
    } else if (entry.key == "to") {
      to = &entry;
    } else {
      faults_->Add(entry.place, "unknown key " + Quoted(entry.key) + " in " + label_ + "." + path,
                   DidYouMean(entry.key, {"at", "to"}));
    }
  }
  if (at == nullptr)
    faults_->Add(ref.place, path + ".at is missing: after how many tokens", kExample);
  if (to == nullptr) faults_->Add(ref.place, path + ".to is missing: what changes", kExample);
  if (at != nullptr) {
    const Field tokens{.path = "position.switch.at",
                       .kind = FieldKind::kCount,
                       .default_text = "",
                       .meaning = "",
                       .low = 1,
                       .high = 1e15};
    const auto read = ReadValue(tokens, path + ".at", at->value, *corpora_, faults_);
    if (read && read->is_null()) {
      faults_->Add(at->value.place, path + ".at is missing: after how many tokens", kExample);
    } else if (read) {
      change->at = read->get<int64_t>();
      (*value)["at"] = *read;
    }
  }
  if (to == nullptr) return false;
  Target own;
  Mapping("position", to->value, &own);
  FinishRope(&own);
  for (const char* key : {"position.switch", "position.randomized_max"}) {
    const auto said = own.settings.find(FieldIndexOrDie(key));
    if (said != own.settings.end() && !said->second->value.is_null()) {
      faults_->Add(said->second->place, std::string(key) + " does not stand within " + path);
    }
  }
  for (const auto& [field, setting] : own.settings) {
    (*value)["to"][std::string(AllFields()[field].path)] = setting->value;
  }
  change->settings = std::move(own.settings);
  return faults_->count() == before;
}

}  // namespace gyre
