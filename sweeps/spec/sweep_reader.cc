#include "sweeps/spec/sweep_reader.h"

#include <algorithm>
#include <set>

#include "sweeps/spec/nearest.h"
#include "sweeps/spec/scalar.h"
#include "sweeps/spec/value_reader.h"

namespace gyre {
namespace {

constexpr size_t kLongestSweepName = 64;
constexpr double kMostSeeds = 1e15;

class SweepReader {
 public:
  explicit SweepReader(const ReadContext& context) : context_(context), faults_(context.faults) {}

  SweepDraft Read(const YamlRef& document) {
    draft_.place = draft_.base_place = document.place;
    if (!document.node->IsMapping()) {
      faults_->Add(
          document.place, "a sweep must be a mapping, and is " + DescribeNode(*document.node),
          document.node->IsSequence() ? "several sweeps in one file are separated by lines with ---"
                                      : "");
      return std::move(draft_);
    }
    root_ = document.node;
    for (const YamlEntry& entry : root_->entries) CheckKey(entry);
    ReadName();
    SweepSpec& spec = draft_.spec;
    spec.description = Text("description");
    spec.question = Text("question");
    spec.priority = static_cast<int>(Count("priority", 0));
    spec.resources.gpus = static_cast<int>(Count("resources.gpus", 0));
    spec.resources.cpus = static_cast<int>(Count("resources.cpus", 1));
    spec.resources.memory_bytes = Count("resources.memory", 0);
    spec.retry_attempts = static_cast<int>(Count("retry.attempts", 3));
    spec.retry_backoff_ms = Count("retry.backoff", 10000);
    spec.timeout_ms = Count("timeout", 0);
    for (const char* later : {"extends", "sample"}) Value(later);
    ReadStopEarly();
    ReadBase();
    ReadVariants();
    ReadGrid();
    ReadSeeds();
    ReadBaseline();
    return std::move(draft_);
  }

 private:
  void CheckKey(const YamlEntry& entry) {
    const std::vector<std::string> known = SweepKeys();
    if (std::find(known.begin(), known.end(), entry.key) == known.end()) {
      std::string help =
          IsBlock(entry.key) ? "'" + entry.key + "' belongs in base" : DidYouMean(entry.key, known);
      for (const Field& field : AllFields()) {
        const bool last = field.scope == FieldScope::kJob && field.path.ends_with("." + entry.key);
        if (help.empty() && last)
          help = "'" + entry.key + "' belongs in base: base." + std::string(field.path);
      }
      faults_->Add(entry.place, "unknown key " + Quoted(entry.key) + " in a sweep", help);
      return;
    }
    if (entry.key != "resources" && entry.key != "retry" && entry.key != "stop_early") return;
    if (!entry.value.node->IsMapping()) {
      if (entry.value.node->IsNull()) return;
      faults_->Add(entry.value.place,
                   entry.key + " must be a mapping, and is " + DescribeNode(*entry.value.node));
      return;
    }
    std::vector<std::string> keys;
    for (const Field& field : AllFields()) {
      if (field.path.starts_with(entry.key + "."))
        keys.emplace_back(field.path.substr(entry.key.size() + 1));
    }
    for (const YamlEntry& inner : entry.value.node->entries) {
      if (std::find(keys.begin(), keys.end(), inner.key) != keys.end()) continue;
      faults_->Add(inner.place, "unknown key " + Quoted(inner.key) + " in " + entry.key,
                   DidYouMean(inner.key, keys));
    }
  }

  // The entry of a dotted path at the top of the file, if there is one.
  const YamlEntry* Entry(const std::string& path) {
    const size_t dot = path.find('.');
    const YamlEntry* entry = root_->Find(path.substr(0, dot));
    if (entry == nullptr || dot == std::string::npos) return entry;
    return entry->value.node->Find(path.substr(dot + 1));
  }

  std::optional<Json> Value(const std::string& path) {
    const YamlEntry* entry = Entry(path);
    if (entry == nullptr) return std::nullopt;
    return ReadValue(AllFields()[FieldIndexOrDie(path)], path, entry->value, {}, faults_);
  }

  int64_t Count(const std::string& path, int64_t otherwise) {
    const std::optional<Json> value = Value(path);
    if (!value || value->is_null()) return otherwise;
    if (path == "timeout" && *value == Json(0)) {
      faults_->Add(Entry(path)->value.place, "timeout must be above 0",
                   "leave it out for no limit");
    }
    return value->get<int64_t>();
  }

  std::string Text(const std::string& path) {
    const std::optional<Json> value = Value(path);
    return value && value->is_string() ? value->get<std::string>() : "";
  }

  void ReadName() {
    const YamlEntry* entry = root_->Find("sweep");
    if (entry == nullptr) {
      faults_->Add(draft_.place, "the sweep has no name", "begin with sweep: NAME");
      return;
    }
    const auto name = ReadText("sweep", entry->value, faults_);
    if (!name) return;
    const auto good = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
    };
    const bool fits = !name->empty() && name->size() <= kLongestSweepName && name->front() != '-' &&
                      std::all_of(name->begin(), name->end(), good);
    if (!fits) {
      faults_->Add(entry->value.place, "sweep: the name " + Quoted(*name) +
                                           " must be made of a-z, 0-9 and '-', begin "
                                           "with a letter or digit and have at most 64 characters");
      return;
    }
    draft_.spec.name = *name;
  }

  // What is not said, expand.cc fills in.
  void ReadStopEarly() {
    const YamlEntry* entry = root_->Find("stop_early");
    if (entry == nullptr || !entry->value.node->IsMapping()) return;
    draft_.stop_early_place = entry->place;
    StopEarlyRule& rule = draft_.spec.stop_early.emplace();
    if (const std::string name = Text("stop_early.rule"); !name.empty()) rule.rule = name;
    rule.metric = Text("stop_early.metric");
    rule.grace = Count("stop_early.grace", 0);
    rule.reduction = static_cast<int>(Count("stop_early.reduction", 3));
  }

  void ReadBase() {
    const YamlEntry* entry = root_->Find("base");
    if (entry == nullptr) return;
    draft_.base_place = entry->place;
    if (entry->value.node->IsMapping()) {
      if (const YamlEntry* data = entry->value.node->Find("data")) draft_.base_place = data->place;
    }
    draft_.base = BlockReader("base", Rank::kBase, nullptr, context_).ReadBlock(entry->value);
  }

  void ReadVariants() {
    const YamlEntry* entry = root_->Find("variants");
    if (entry == nullptr) {
      draft_.variants.push_back({.name = "", .place = draft_.place, .settings = {}});
      return;
    }
    draft_.variants_place = entry->place;
    const YamlNode& node = *entry->value.node;
    if (!node.IsMapping() && !node.IsNull()) {
      faults_->Add(
          entry->value.place,
          "variants must be a mapping from names to what differs, and is " + DescribeNode(node),
          "for example {NoPE: {position: {type: nope}}, RoPE: {}}");
      return;
    }
    if (node.entries.empty()) {
      faults_->Add(entry->place, "variants is empty, so there is nothing to run",
                   "name a variant, or leave the key out");
    }
    for (const YamlEntry& variant : node.entries) {
      if (!CheckName("the variant", variant.key, variant.quoted, variant.place, faults_)) continue;
      BlockReader reader("variants." + Shown(variant.key), Rank::kVariant, &draft_.base, context_);
      Settings settings = reader.ReadBlock(variant.value);
      MergeValidation(&settings);
      draft_.variants.push_back(
          {.name = variant.key, .place = variant.place, .settings = std::move(settings)});
    }
  }

  // data.validation is a mapping of names: a variant adds to it, replaces and (by null) takes away.
  void MergeValidation(Settings* settings) {
    const int field = FieldIndexOrDie("data.validation");
    const auto own = settings->find(field), below = draft_.base.find(field);
    if (own == settings->end() || below == draft_.base.end()) return;
    if (!own->second->value.is_object() || !below->second->value.is_object()) return;
    Setting merged = *own->second;
    merged.value = below->second->value;
    merged.value.update(own->second->value);
    context_.store->push_back(std::move(merged));
    own->second = &context_.store->back();
  }

  void ReadGrid() {
    if (const YamlEntry* entry = root_->Find("grid")) {
      draft_.grid_place = entry->place;
      draft_.axes = ReadAxes("grid", entry->value, faults_);
    }
    if (const YamlEntry* entry = root_->Find("zip")) {
      draft_.zip = ReadAxes("zip", entry->value, faults_);
      const YamlEntry* grid = root_->Find("grid");
      draft_.zip_first = grid != nullptr && entry < grid;
      if (draft_.axes.empty()) draft_.grid_place = entry->place;
      CheckZip(&draft_.zip, draft_.axes, faults_);
    }
    if (const YamlEntry* entry = root_->Find("exclude")) {
      draft_.exclude_place = entry->place;
      draft_.exclude = ReadExclude(entry->value, &draft_.base, context_);
    }
  }

  std::optional<uint64_t> Seed(const YamlRef& ref, const char* what, double low) {
    const std::string wanted =
        std::string(what) + " must be a whole number of at least " + FormatNumber(low);
    if (!ref.node->IsScalar()) {
      faults_->Add(ref.place, wanted + ", and is " + DescribeNode(*ref.node));
      return std::nullopt;
    }
    const Reading<Number> reading = ReadNumber(ref.node->text, "a whole number");
    const bool good = reading.value && !reading.value->percent && reading.value->whole &&
                      *reading.value->whole >= low;
    if (!good) {
      const bool surprise = !reading.value && !reading.complaint.help.empty();
      faults_->Add(ref.place,
                   surprise ? std::string(what) + " " + reading.complaint.message
                            : wanted + ", and is " + Quoted(ref.node->text),
                   reading.complaint.help);
      return std::nullopt;
    }
    return static_cast<uint64_t>(*reading.value->whole);
  }

  void ReadSeeds() {
    const YamlEntry* entry = root_->Find("seeds");
    if (entry == nullptr || entry->value.node->IsNull()) return;
    SeedList& seeds = draft_.seeds;
    seeds.place = entry->place;
    const YamlRef& ref = entry->value;
    if (!ref.node->IsSequence()) {
      const auto count = Seed(ref, "seeds: a count of seeds", 1);
      if (count && static_cast<double>(*count) > kMostSeeds) {
        faults_->Add(ref.place, "seeds: " + Quoted(ref.node->text) + " is too many seeds");
      }
      seeds.count = count.value_or(1);
      return;
    }
    if (ref.node->items.empty())
      faults_->Add(ref.place, "seeds is an empty list, so there is nothing to run");
    std::set<uint64_t> seen;
    for (const YamlRef& item : ref.node->items) {
      const auto seed = Seed(item, "seeds: a seed", 0);
      if (!seed) continue;
      if (!seen.insert(*seed).second) {
        faults_->Add(item.place, "seeds: the seed " + std::to_string(*seed) + " is given twice");
        continue;
      }
      seeds.seeds.push_back(*seed);
    }
    seeds.count = std::max<uint64_t>(seeds.seeds.size(), 1);
  }

  void ReadBaseline() {
    const YamlEntry* entry = root_->Find("baseline");
    if (entry == nullptr || entry->value.node->IsNull()) return;
    draft_.baseline_place = entry->value.place;
    if (const auto name = ReadText("baseline", entry->value, faults_)) draft_.spec.baseline = *name;
  }

  const ReadContext& context_;
  Faults* faults_;
  const YamlNode* root_ = nullptr;
  SweepDraft draft_;
};

}  // namespace

SweepDraft ReadSweep(const YamlRef& document, const ReadContext& context) {
  return SweepReader(context).Read(document);
}

}  // namespace gyre
