// The part of BlockReader that knows Hugging Face's spellings (config.json, old and new).

#include <algorithm>

#include "sweeps/spec/block_reader.h"
#include "sweeps/spec/nearest.h"
#include "sweeps/spec/value_reader.h"

namespace gyre {

void BlockReader::HuggingFace(int field, const std::string& path, const TextPlace& place,
                              const YamlRef& ref, Target* target) {
  const Field& known = AllFields()[field];
  if (known.kind == FieldKind::kRope) return Rope(field, path, place, ref, target);
  std::optional<Json> value = ReadValue(known, path, ref, *corpora_, faults_);
  if (!value) return;
  if (known.path == "position.rope_type") {
    if (!value->is_null()) target->rope.type = value->get<std::string>();
    target->rope.type_place = ref.place;
  } else if (known.path == "position.partial_rotary_factor") {
    if (!value->is_null()) target->rope.partial = value->get<double>();
    target->rope.partial_place = ref.place;
  } else if (known.path == "position.rope_theta") {
    notes_->Add(path + " is read as position.theta");
    Put(target, "position.theta", std::move(*value), ref.place);
  } else if (known.path == "position.alibi") {
    if (*value == Json(true)) Put(target, "position.type", "alibi", ref.place);
  } else if (known.path == "model.use_qk_norm") {
    Put(target, "model.qk_norm", std::move(*value), ref.place);
  } else if (known.path == "model.hidden_activation") {
    Put(target, "model.hidden_act", std::move(*value), ref.place);
  } else {
    Put(target, std::string(known.path).c_str(), std::move(*value), ref.place);
  }
}

void BlockReader::Rope(int field, const std::string& path, const TextPlace& place,
                       const YamlRef& ref, Target* target) {
  if (ref.node->IsNull()) return Put(target, "position.scaling.type", "none", place);
  if (!ref.node->IsMapping()) {
    faults_->Add(ref.place, path + " must be a mapping, and is " + DescribeNode(*ref.node));
    return;
  }
  const auto& entries = ref.node->entries;
  const bool by_layer_type =
      !entries.empty() && std::all_of(entries.begin(), entries.end(), [](const YamlEntry& entry) {
        return entry.value.node->IsMapping();
      });
  if (!by_layer_type) {
    for (const YamlEntry& entry : entries) RopeKey(path, entry, target);
    return;
  }
  Setting setting{.field = field, .value = true, .place = place, .overrides = {}};
  for (const YamlEntry& entry : entries) {
    if (entry.key != "full_attention" && entry.key != "sliding_attention") {
      faults_->Add(entry.place, path + " has the layer type " + Quoted(entry.key),
                   "known are full_attention and sliding_attention");
      continue;
    }
    Target own;
    for (const YamlEntry& inner : entry.value.node->entries)
      RopeKey(path + "." + entry.key, inner, &own);
    FinishRope(&own);
    setting.overrides.push_back({.ranges = {},
                                 .layer_type = entry.key,
                                 .place = entry.place,
                                 .settings = std::move(own.settings)});
  }
  Put(&target->settings, FieldIndexOrDie("position.rope_parameters"), std::move(setting));
}

void BlockReader::RopeKey(const std::string& path, const YamlEntry& entry, Target* target) {
  const std::string own = path + "." + entry.key;
  int field = -1;
  if (entry.key == "type" || entry.key == "rope_type")
    field = FieldIndexOrDie("position.rope_type");
  if (entry.key == "rope_theta" || entry.key == "partial_rotary_factor")
    field = FieldIndex("position." + entry.key);
  if (field < 0) field = FieldIndex("position.scaling." + entry.key);
  if (field >= 0) return Field_(field, own, entry.place, entry.value, target);
  std::vector<std::string> keys = KeysUnder("position.scaling");
  keys.insert(keys.end(), {"rope_type", "rope_theta", "partial_rotary_factor"});
  faults_->Add(entry.place, "unknown key " + Quoted(entry.key) + " in " + label_ + "." + path,
               DidYouMean(entry.key, keys));
}

// rope_type decides what partial_rotary_factor means: p-RoPE under proportional, a re-spaced ladder
// under all others.
void BlockReader::FinishRope(Target* target) {
  const RopeKeys& rope = target->rope;
  const int type_field = FieldIndexOrDie("position.rope_type");
  std::string type = rope.type;
  if (!type.empty()) {
    Put(target, "position.rope_type", type, rope.type_place);
    const bool plain = type == "default" || (type == "proportional" && !rope.factor);
    const std::string scaling = plain ? "none" : type == "proportional" ? "linear" : type;
    Put(target, "position.scaling.type", scaling, rope.type_place);
  } else if (below_ != nullptr && below_->contains(type_field)) {
    type = below_->at(type_field)->value.get<std::string>();
  }
  if (type == "proportional" && !rope.type.empty())
    Put(target, "position.spacing", "full", rope.type_place);
  if (!rope.partial) return;
  const bool proportional = type == "proportional";
  Put(target, "position.p", *rope.partial, rope.partial_place);
  Put(target, "position.spacing", proportional ? "full" : "respaced", rope.partial_place);
  notes_->Add("partial_rotary_factor under rope_type " + (type.empty() ? "default" : type) +
              " is read as position.p with spacing " + (proportional ? "full" : "respaced"));
}

}  // namespace gyre
