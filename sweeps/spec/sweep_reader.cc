#include "sweeps/spec/sweep_reader.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "sweeps/spec/nearest.h"
#include "sweeps/spec/scalar.h"
#include "sweeps/spec/source_paths.h"
#include "sweeps/spec/value_reader.h"

namespace gyre {
namespace {

constexpr size_t kLongestSweepName = 64;
constexpr double kMostSeeds = 1e15;

class SweepReader {
 public:
  explicit SweepReader(const ReadContext& context) : context_(context), faults_(context.faults) {}

  SweepDraft Read(const std::vector<YamlRef>& chain) {
    draft_.place = draft_.base_place = chain.front().place;
    for (const YamlRef& document : chain) {
      if (document.node->IsMapping()) {
        roots_.push_back(document.node);
        continue;
      }
      faults_->Add(
          document.place, "a sweep must be a mapping, and is " + DescribeNode(*document.node),
          document.node->IsSequence() ? "several sweeps in one file are separated by lines with ---"
                                      : "");
      return std::move(draft_);
    }
    for (const YamlNode* root : roots_) {
      for (const YamlEntry& entry : root->entries) CheckKey(entry);
    }
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
    ReadStopEarly();
    ReadBase();
    ReadVariants();
    ReadSample();
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
    const std::set<std::string> blocks = {"resources", "retry", "sample", "stop_early"};
    if (!blocks.contains(entry.key)) return;
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

  // The entry of a dotted path at the top of the nearest file that says something of it. An empty
  // value says that it is as if not given.
  const YamlEntry* Entry(const std::string& path) {
    const size_t dot = path.find('.');
    for (const YamlNode* root : roots_) {
      const YamlEntry* entry = root->Find(path.substr(0, dot));
      if (entry == nullptr) continue;
      if (dot == std::string::npos || entry->value.node->IsNull()) return entry;
      if (const YamlEntry* inner = entry->value.node->Find(path.substr(dot + 1))) return inner;
    }
    return nullptr;
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
    const YamlEntry* entry = roots_.front()->Find("sweep");
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
    const YamlEntry* entry = Entry("stop_early");
    if (entry == nullptr || !entry->value.node->IsMapping()) return;
    draft_.stop_early_place = entry->place;
    StopEarlyRule& rule = draft_.spec.stop_early.emplace();
    if (const std::string name = Text("stop_early.rule"); !name.empty()) rule.rule = name;
    rule.metric = Text("stop_early.metric");
    rule.grace = Count("stop_early.grace", 0);
    rule.reduction = static_cast<int>(Count("stop_early.reduction", 3));
  }

  void ReadBase() {
    for (auto root = roots_.rbegin(); root != roots_.rend(); ++root) {
      const YamlEntry* entry = (*root)->Find("base");
      if (entry == nullptr) continue;
      draft_.base_place = entry->place;
      if (const YamlEntry* data = entry->value.node->Find("data")) draft_.base_place = data->place;
      const Settings below = draft_.base;
      BlockReader reader("base", Rank::kBase, below.empty() ? nullptr : &below, context_);
      Overlay(WithAbsolutePaths(reader.ReadBlock(entry->value), context_), below, &draft_.base);
    }
  }

  // Lays the settings over `target`; `below` is what they are merged over.
  void Overlay(Settings settings, const Settings& below, Settings* target) {
    MergeValidation(below, &settings);
    for (const auto& [field, setting] : settings) (*target)[field] = setting;
  }

  void ReadVariants() {
    bool written = false;
    for (auto root = roots_.rbegin(); root != roots_.rend(); ++root) {
      const YamlEntry* entry = (*root)->Find("variants");
      if (entry == nullptr) continue;
      const YamlNode& node = *entry->value.node;
      const bool unset = node.IsNull() && written;
      written = !unset;
      draft_.variants_place = entry->place;
      if (unset) draft_.variants.clear();
      if (!node.IsMapping() && !node.IsNull()) {
        faults_->Add(
            entry->value.place,
            "variants must be a mapping from names to what differs, and is " + DescribeNode(node),
            "for example {NoPE: {position: {type: nope}}, RoPE: {}}");
        return;
      }
      for (const YamlEntry& variant : node.entries) ReadVariant(variant);
    }
    if (!written) {
      draft_.variants.push_back({.name = "", .place = draft_.place, .settings = {}});
    } else if (draft_.variants.empty() && !bad_name_) {
      faults_->Add(draft_.variants_place, "variants is empty, so there is nothing to run",
                   "name a variant, or leave the key out");
    }
  }

  void ReadVariant(const YamlEntry& variant) {
    if (!CheckName("the variant", variant.key, variant.quoted, variant.place, faults_)) {
      bad_name_ = true;
      return;
    }
    const auto known = std::find_if(
        draft_.variants.begin(), draft_.variants.end(),
        [&variant](const VariantSettings& other) { return other.name == variant.key; });
    const bool extended = known != draft_.variants.end();
    if (extended && variant.value.node->IsNull()) {
      context_.notes->Add("the variant " + variant.key + " of " +
                          faults_->FileName(known->place.file) + " is left out");
      draft_.variants.erase(known);
      return;
    }
    Settings below = draft_.base;
    if (extended) {
      for (const auto& [field, setting] : known->settings) below[field] = setting;
    }
    BlockReader reader("variants." + Shown(variant.key), Rank::kVariant, &below, context_);
    Settings settings = WithAbsolutePaths(reader.ReadBlock(variant.value), context_);
    if (!extended) draft_.variants.push_back({variant.key, variant.place, {}});
    VariantSettings& target = extended ? *known : draft_.variants.back();
    target.place = variant.place;
    Overlay(std::move(settings), below, &target.settings);
  }

  // data.validation is a mapping of names: a variant adds to it, replaces and (by null) takes away.
  void MergeValidation(const Settings& below, Settings* settings) {
    const int field = FieldIndexOrDie("data.validation");
    const auto own = settings->find(field);
    const auto lower = below.find(field);
    if (own == settings->end() || lower == below.end()) return;
    if (!own->second->value.is_object() || !lower->second->value.is_object()) return;
    Setting merged = *own->second;
    merged.value = lower->second->value;
    merged.value.update(own->second->value);
    context_.store->push_back(std::move(merged));
    own->second = &context_.store->back();
  }

  void ReadSample() {
    const YamlEntry* entry = Entry("sample");
    if (entry == nullptr || entry->value.node->IsNull()) return;
    draft_.sample.place = entry->place;
    draft_.sample.count = static_cast<uint64_t>(Count("sample.count", 0));
    draft_.sample.seed = static_cast<uint64_t>(Count("sample.seed", 0));
    // One that is wrong is a sample still: the rest is read as of one.
    draft_.sample.count = std::max<uint64_t>(draft_.sample.count, 1);
    if (Entry("sample.count") == nullptr && entry->value.node->IsMapping()) {
      faults_->Add(entry->place, "sample needs a count: how many points are drawn",
                   "for example {count: 20, seed: 0}");
    }
  }

  // Of the grids of all files one: paths of the nearer replace those of the others, an empty value
  // takes one away.
  YamlNode MergedGrid() {
    YamlNode merged{.kind = YamlKind::kMapping, .text = "", .items = {}, .entries = {}};
    for (auto root = roots_.rbegin(); root != roots_.rend(); ++root) {
      const YamlEntry* grid = (*root)->Find("grid");
      if (grid == nullptr) continue;
      draft_.grid_place = grid->place;
      if (grid->value.node->IsNull()) merged.entries.clear();
      if (!grid->value.node->IsMapping() && !grid->value.node->IsNull()) return *grid->value.node;
      for (const YamlEntry& entry : grid->value.node->entries) {
        const auto known =
            std::find_if(merged.entries.begin(), merged.entries.end(),
                         [&entry](const YamlEntry& other) { return other.key == entry.key; });
        if (known == merged.entries.end()) {
          merged.entries.push_back(entry);
        } else if (entry.value.node->IsNull()) {
          merged.entries.erase(known);
        } else {
          *known = entry;
        }
      }
    }
    return merged;
  }

  // Whether names have the values of zip before those of grid: as the two stand in the farthest
  // file that has one of them.
  bool ZipFirst() const {
    for (auto root = roots_.rbegin(); root != roots_.rend(); ++root) {
      const YamlEntry *zip = (*root)->Find("zip"), *grid = (*root)->Find("grid");
      if (zip != nullptr || grid != nullptr)
        return zip != nullptr && (grid == nullptr || zip < grid);
    }
    return false;
  }

  void ReadGrid() {
    const YamlNode grid = MergedGrid();
    const YamlEntry* written = Entry("grid");
    const bool sampled = draft_.sample.count > 0;
    const TextPlace grid_place = written == nullptr ? draft_.place : written->value.place;
    draft_.axes = ReadGridAxes({&grid, grid_place}, sampled, faults_);
    if (const YamlEntry* entry = Entry("zip")) {
      if (written == nullptr) draft_.grid_place = entry->place;
      std::vector<Axis> zips = ReadZipAxes(entry->value, draft_.axes, faults_);
      draft_.axes.insert(ZipFirst() ? draft_.axes.begin() : draft_.axes.end(),
                         std::make_move_iterator(zips.begin()),
                         std::make_move_iterator(zips.end()));
    }
    if (sampled && draft_.axes.empty() && faults_->count() == 0) {
      faults_->Add(draft_.sample.place, "sample draws points of grid and zip, and there is none",
                   "for example grid: {train.optimizer.lr: {log_range: [1e-4, 1e-2]}}");
    }
    if (const YamlEntry* entry = Entry("exclude")) {
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
    const YamlEntry* entry = Entry("seeds");
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
    const YamlEntry* entry = Entry("baseline");
    if (entry == nullptr || entry->value.node->IsNull()) return;
    draft_.baseline_place = entry->value.place;
    if (const auto name = ReadText("baseline", entry->value, faults_)) draft_.spec.baseline = *name;
  }

  const ReadContext& context_;
  Faults* faults_;
  std::vector<const YamlNode*> roots_;  // the nearest first
  bool bad_name_ = false;               // of a variant
  SweepDraft draft_;
};

}  // namespace

SweepDraft ReadSweep(const std::vector<YamlRef>& chain, const ReadContext& context) {
  return SweepReader(context).Read(chain);
}

}  // namespace gyre
