#include "sweeps/spec/block_reader.h"

#include <algorithm>

#include "sweeps/spec/nearest.h"
#include "sweeps/spec/value_reader.h"

namespace gyre {
namespace {

// Keys of Hugging Face's config.json that change nothing here.
constexpr std::string_view kIgnored[] = {"architectures", "torch_dtype", "dtype", "use_cache",
                                         "transformers_version"};
// Keys that change nothing as long as they have this value.
struct OnlyValue {
  std::string_view key, value;
};
constexpr OnlyValue kOnly[] = {{"attention_bias", "false"},
                               {"mlp_bias", "false"},
                               {"attention_dropout", "0"},
                               {"attention_dropout", "0.0"}};

// Blocks and sections where a key of this name does belong.
std::string Elsewhere(const std::string& key) {
  for (const Field& field : AllFields()) {
    if (field.scope == FieldScope::kSweep) {
      if (field.path == key) return "'" + key + "' stands at the top of the file, beside base";
      continue;
    }
    const size_t dot = field.path.rfind('.');
    if (field.path.substr(dot + 1) == key) {
      return "'" + key + "' belongs in " + std::string(field.path.substr(0, dot));
    }
    if (field.path.starts_with(key + ".")) return "'" + key + "' belongs in base";
  }
  return "";
}

// Where a block has one word: position: nope is likely to mean position: {type: nope}.
std::string BlockAdvice(const std::string& prefix, const YamlNode& node) {
  if (!node.IsScalar()) return "";
  for (const char* key : {"type", "name", "model_type"}) {
    if (FieldIndex(prefix + "." + key) < 0) continue;
    return "write " + prefix + ": {" + key + ": " + Shown(node.text) + "}";
  }
  return "";
}

}  // namespace

BlockReader::BlockReader(std::string label, Rank rank, const Settings* below,
                         const ReadContext& context)
    : label_(std::move(label)),
      rank_(rank),
      below_(below),
      store_(context.store),
      notes_(context.notes),
      faults_(context.faults),
      corpora_(context.corpora) {}

Settings BlockReader::ReadBlock(const YamlRef& ref) {
  Target target;
  Mapping("", ref, &target);
  FinishRope(&target);
  return std::move(target.settings);
}

Settings BlockReader::ReadField(int field, const YamlRef& ref) {
  Target target;
  Field_(field, std::string(AllFields()[field].path), ref.place, ref, &target);
  FinishRope(&target);
  return std::move(target.settings);
}

void BlockReader::Mapping(const std::string& prefix, const YamlRef& ref, Target* target) {
  if (ref.node->IsMapping()) {
    for (const YamlEntry& entry : ref.node->entries) Entry(prefix, entry, target);
    return;
  }
  const bool none = ref.node->IsNull() || (ref.node->IsScalar() && ref.node->text == "none");
  if (prefix == "position.scaling" && none) {
    Put(target, "position.scaling.type", "none", ref.place);
  } else if (!ref.node->IsNull()) {
    faults_->Add(ref.place,
                 (prefix.empty() ? label_ : prefix) + " must be a mapping, and is " +
                     DescribeNode(*ref.node),
                 BlockAdvice(prefix, *ref.node));
  }
}

void BlockReader::Entry(const std::string& prefix, const YamlEntry& entry, Target* target) {
  const std::string path = prefix.empty() ? entry.key : prefix + "." + entry.key;
  int field = FieldIndex(path);
  // A config.json has its rope keys beside the shapes: they are taken there and moved.
  if (field < 0 && prefix == "model") {
    field = FieldIndex("position." + entry.key);
    if (field >= 0 && AllFields()[field].scope != FieldScope::kHuggingFace) field = -1;
  }
  if (path == "position.scaling.rope_type") field = FieldIndexOrDie("position.rope_type");
  if (field >= 0 && AllFields()[field].scope != FieldScope::kSweep) {
    Field_(field, path, entry.place, entry.value, target);
  } else if (IsBlock(path)) {
    Mapping(path, entry.value, target);
  } else if (!Ignored(prefix, entry)) {
    UnknownKey(prefix, entry);
  }
}

void BlockReader::Field_(int field, const std::string& path, const TextPlace& place,
                         const YamlRef& ref, Target* target) {
  const Field& known = AllFields()[field];
  if (known.scope == FieldScope::kHuggingFace) return HuggingFace(field, path, place, ref, target);
  if (known.kind == FieldKind::kLayers) return Layers(path, place, ref, target);
  if (known.kind == FieldKind::kSwitch) return Switch(path, place, ref, target);
  if (known.kind == FieldKind::kInterventions) return Interventions(path, place, ref, target);
  std::optional<Json> value = ReadValue(known, path, ref, *corpora_, faults_);
  Setting setting{
      .field = field, .value = value.value_or(Json()), .place = ref.place, .overrides = {}};
  setting.usable = value.has_value();
  if (known.path == "position.scaling.factor") target->rope.factor = setting.usable;
  Put(&target->settings, field, std::move(setting));
}

bool BlockReader::Ignored(const std::string& prefix, const YamlEntry& entry) {
  if (prefix != "model") return false;
  const bool ignored =
      std::find(std::begin(kIgnored), std::end(kIgnored), entry.key) != std::end(kIgnored);
  if (ignored || entry.key.ends_with("_token_id")) {
    notes_->Add("model." + entry.key + " has no effect here and is ignored");
    return true;
  }
  bool known = false;
  for (const OnlyValue& only : kOnly) {
    known |= entry.key == only.key;
    const bool same = entry.value.node->IsNull() ||
                      (entry.value.node->IsScalar() && entry.value.node->text == only.value);
    if (entry.key == only.key && same) return true;
  }
  if (known) {
    faults_->Add(entry.value.place,
                 "model." + entry.key + " " + DescribeNode(*entry.value.node) + " is not supported",
                 "models here have neither biases nor dropout");
  }
  return known;
}

void BlockReader::UnknownKey(const std::string& prefix, const YamlEntry& entry) {
  const std::string where = prefix.empty() ? label_ : label_ + "." + prefix;
  std::string help = Elsewhere(entry.key);
  if (help.empty()) help = DidYouMean(entry.key, KeysUnder(prefix));
  faults_->Add(entry.place, "unknown key " + Quoted(entry.key) + " in " + where, help);
}

void BlockReader::Put(Target* target, const char* path, Json value, const TextPlace& place) {
  const int field = FieldIndexOrDie(path);
  Put(&target->settings, field,
      {.field = field, .value = std::move(value), .place = place, .overrides = {}});
}

void BlockReader::Put(Settings* settings, int field, Setting setting) {
  setting.rank = rank_;
  const auto found = settings->find(field);
  if (found != settings->end()) {
    const Setting& other = *found->second;
    // Two spellings of one thing may stand side by side, as in many a config.json, if they agree.
    if (!setting.usable || other.value == setting.value) return;
    if (other.usable) {
      const bool later = setting.place > other.place;
      const TextPlace& first = later ? other.place : setting.place;
      faults_->Add(later ? setting.place : other.place,
                   std::string(AllFields()[field].path) + " is said twice in " + label_ +
                       ", with different values; first on line " + std::to_string(first.line));
      return;
    }
  }
  store_->push_back(std::move(setting));
  (*settings)[field] = &store_->back();
}

}  // namespace gyre
