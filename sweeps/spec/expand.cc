#include "sweeps/spec/expand.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "sweeps/spec/identity.h"
#include "sweeps/spec/nearest.h"
#include "sweeps/spec/resolve.h"
#include "sweeps/spec/stop_early_rule.h"
#include "trainer/data/dataset.h"

namespace gyre {
namespace {

constexpr size_t kMostTwinNotes = 20;
const int kSwitch = FieldIndexOrDie("position.switch");

// Where the sweep becomes large: the grid if there is one, else the seeds or the variants.
const TextPlace& PlaceOfCount(const SweepDraft& draft) {
  if (draft.sample.count > 0) return draft.sample.place;
  if (!draft.axes.empty()) return draft.grid_place;
  const bool seeds = draft.seeds.place.line > 0 && draft.seeds.count >= draft.variants.size();
  return seeds ? draft.seeds.place : draft.variants_place;
}

class Expander {
 public:
  Expander(SweepDraft draft, const SpecOptions& options, const ReadContext& context)
      : draft_(std::move(draft)),
        options_(options),
        context_(context),
        spec_(std::move(draft_.spec)),
        resolver_(options, draft_.base_place, context.notes) {}

  SweepSpec Expand() {
    const int64_t jobs = CountJobs(draft_);
    const bool too_many = jobs > options_.max_jobs;
    if (too_many) {
      context_.faults->Add(PlaceOfCount(draft_),
                           "the sweep expands to " + JobsInWords(jobs) + " jobs, more than the " +
                               WithSeparators(options_.max_jobs) + " that --max-jobs allows");
      // Variants without the grid are few and still worth checking.
      draft_.axes.clear();
      draft_.exclude.clear();
      draft_.sample.count = 0;
      if (static_cast<int64_t>(draft_.variants.size()) > options_.max_jobs) return std::move(spec_);
    }
    if (draft_.sample.count > 0) {
      for (Axis& axis : draft_.axes) CheckDrawable(&axis);
    }
    BuildAxes(&draft_.axes, &draft_.base, context_);
    Points();
    if (too_many) return std::move(spec_);
    Excluded();
    Baselines();
    if (context_.faults->count() > 0) return std::move(spec_);
    Seeds();
    Jobs();
    OverwritingNotes();
    TokenizerNote();
    if (spec_.stop_early) CompleteStopEarly(&spec_, draft_.stop_early_place, context_.faults);
    for (const auto& [note, names] : switching_) context_.notes->Add(List(names) + ": " + note);
    return std::move(spec_);
  }

 private:
  // The same places for every variant, so that they are compared at the same values.
  void Points() {
    std::vector<GridPlace> places;
    if (draft_.sample.count > 0) {
      places = DrawPlaces(
          &draft_.axes, draft_.sample, &draft_.base,
          [this](const GridPlace& at) { return IsExcludedForAll(at); }, context_);
    } else {
      GridPlace at(draft_.axes.size(), 0);
      do {
        places.push_back(at);
      } while (Advance(&at));
    }
    for (size_t v = 0; v < draft_.variants.size(); ++v) {
      for (size_t i = 0; i < places.size(); ++i) OnePoint(v, places[i], i);
    }
  }

  // The next place of the product, the last axis fastest; false after the last one.
  bool Advance(GridPlace* at) const {
    for (size_t i = at->size(); i-- > 0;) {
      if (++(*at)[i] < draft_.axes[i].count) return true;
      (*at)[i] = 0;
    }
    return false;
  }

  // A range with a count is built; one of more values than there may be jobs need not be.
  void CheckDrawable(Axis* axis) {
    if (axis->count <= static_cast<uint64_t>(options_.max_jobs)) return;
    const AxisPath& path = axis->paths.front();
    context_.faults->Add(path.written.place,
                         path.Name() + " has " + WithSeparators(axis->count) + " values",
                         "leave the count out to draw from all that lies between");
    axis->usable = false;
  }

  bool IsExcludedForAll(const GridPlace& at) {
    if (draft_.exclude.empty()) return false;
    std::vector<ExcludeItem*> items;
    for (const VariantSettings& variant : draft_.variants) {
      const GridPoint point = PointAt(variant, at);
      items.push_back(Excluding(point, resolver_.Resolve(point).config));
      if (items.back() == nullptr) return false;
    }
    for (ExcludeItem* item : items) ++item->dropped;
    return true;
  }

  GridPoint PointAt(const VariantSettings& variant, const GridPlace& at) const {
    GridPoint point;
    point.Overlay(draft_.base);
    point.Overlay(variant.settings);
    for (size_t i = 0; i < at.size(); ++i) {
      for (const AxisPath& path : draft_.axes[i].paths) point.Overlay(path.values[at[i]].settings);
    }
    return point;
  }

  void OnePoint(size_t v, const GridPlace& at, size_t grid_place) {
    const VariantSettings& variant = draft_.variants[v];
    const GridPoint point = PointAt(variant, at);
    std::string name = variant.name;
    for (size_t i = 0; i < at.size(); ++i) {
      name += (name.empty() ? "" : " ") + draft_.axes[i].TextAt(at[i]);
    }
    if (name.empty()) name = "base";
    ResolvedPoint resolved = resolver_.Resolve(point);
    if (ExcludeItem* item = Excluding(point, resolved.config)) {
      ++item->dropped;
      return;
    }
    for (const PointFault& fault : resolved.faults) {
      context_.faults->AddOnce(fault.place, fault.check, fault.message, fault.help);
    }
    const auto [found, is_new] = by_name_.emplace(name, static_cast<int>(origins_.size()));
    if (!is_new) {
      context_.faults->AddOnce(variant.place, "name", "two variants have the name " + Quoted(name));
    }
    origins_.emplace_back(v, grid_place);
    // Once something is wrong, points are only checked.
    if (context_.faults->count() > 0) return;
    NoteSwitches(point, name, resolved.config);
    Variant made;
    made.name = std::move(name);
    made.config = std::move(resolved.config);
    made.positions = std::move(resolved.positions);
    made.switched = std::move(resolved.switched);
    made.initial_weights = std::move(resolved.initial_weights);
    spec_.variants.push_back(std::move(made));
  }

  void NoteSwitches(const GridPoint& point, const std::string& name, const JobConfig& config) {
    const Setting* setting = point.At(kSwitch);
    if (setting == nullptr) return;
    for (size_t i = 0; i < config.position.switches.size(); ++i) {
      const int64_t at = config.position.switches[i].at, batch = config.train.batch_tokens;
      const int64_t step = at / batch + (at % batch != 0);
      std::string note =
          "from step " + WithSeparators(step) + " (" + WithSeparators(step * batch) + " tokens) on";
      for (const auto& [field, own] : setting->overrides[i].settings) {
        note += ", " + std::string(AllFields()[field].path) + " is " + own->value.dump();
      }
      switching_[note].push_back(name);
    }
  }

  // The item of exclude that drops the point, if one does.
  ExcludeItem* Excluding(const GridPoint& point, const JobConfig& config) {
    for (ExcludeItem& item : draft_.exclude) {
      const bool matches =
          !item.pairs.empty() &&
          std::all_of(item.pairs.begin(), item.pairs.end(), [&](const auto& pair) {
            const Setting* setting = point.At(pair.field);
            if (setting != nullptr) return setting->value == pair.value;
            return pair.value.is_null() || DefaultOf(config, pair.path) == pair.value;
          });
      if (matches) return &item;
    }
    return nullptr;
  }

  static Json DefaultOf(const JobConfig& config, const std::string& path) {
    Json json = ToJson(config);
    for (size_t begin = 0; begin <= path.size();) {
      const size_t end = std::min(path.find('.', begin), path.size());
      const auto key = path.substr(begin, end - begin);
      // scaling is null where there is none; its type is "none" then.
      if (json.is_null() && key == "type") return "none";
      if (!json.is_object() || !json.contains(key)) return Json();
      Json inner = std::move(json[key]);
      json = std::move(inner);
      begin = end + 1;
    }
    return json;
  }

  void Excluded() {
    for (const ExcludeItem& item : draft_.exclude) {
      if (item.dropped > 0) continue;
      const std::string file =
          item.place.file == 0 ? "" : " of " + context_.faults->FileName(item.place.file);
      context_.notes->Add("the item of exclude on line " + std::to_string(item.place.line) + file +
                          " matches no point");
    }
    if (origins_.empty() && !draft_.variants.empty() && !draft_.exclude.empty()) {
      context_.faults->Add(draft_.exclude_place,
                           "exclude drops every point, so there is nothing to run");
    }
  }

  void Baselines() {
    spec_.baselines.assign(origins_.size(), -1);
    if (spec_.baseline.empty() || draft_.variants.empty()) return;
    const auto named = std::find_if(
        draft_.variants.begin(), draft_.variants.end(),
        [this](const VariantSettings& variant) { return variant.name == spec_.baseline; });
    if (named == draft_.variants.end()) return FixedBaseline();
    const auto baseline = static_cast<size_t>(named - draft_.variants.begin());
    std::unordered_map<size_t, int> at_place;
    for (size_t i = 0; i < origins_.size(); ++i) {
      if (origins_[i].first == baseline) at_place[origins_[i].second] = static_cast<int>(i);
    }
    int64_t alone = 0;
    for (size_t i = 0; i < origins_.size(); ++i) {
      if (origins_[i].first == baseline) continue;
      const auto found = at_place.find(origins_[i].second);
      if (found != at_place.end()) {
        spec_.baselines[i] = found->second;
      } else {
        ++alone;
      }
    }
    if (alone > 0) {
      context_.notes->Add("the baseline " + spec_.baseline +
                          " is excluded at some grid values, so " + std::to_string(alone) +
                          " of the variants have nothing to be compared with");
    }
  }

  // A full name: everything is compared with that one point.
  void FixedBaseline() {
    const auto found = by_name_.find(spec_.baseline);
    if (found == by_name_.end()) {
      std::vector<std::string> names;
      for (const VariantSettings& variant : draft_.variants) {
        if (!variant.name.empty()) names.push_back(variant.name);
      }
      for (const auto& [name, index] : by_name_) {
        if (names.size() >= 1000) break;
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
      }
      std::string help = DidYouMean(spec_.baseline, names);
      if (help.empty()) help = "there are " + List(names);
      context_.faults->Add(draft_.baseline_place,
                           "baseline: there is no variant " + Quoted(spec_.baseline), help);
      return;
    }
    for (size_t i = 0; i < origins_.size(); ++i) {
      if (static_cast<int>(i) != found->second) spec_.baselines[i] = found->second;
    }
  }

  void Seeds() {
    spec_.seeds = draft_.seeds.seeds;
    for (uint64_t seed = 0; spec_.seeds.size() < draft_.seeds.count; ++seed)
      spec_.seeds.push_back(seed);
  }

  // Hashes of the variant's data where they are known; what its jobs are, in words that are equal
  // for equal work.
  std::string Identify(Variant* variant, bool* prepared) {
    const JobDatasetRequests requests = RequestsOf(variant->config.data);
    std::vector<TrainText> prepared_texts, requested_texts;
    std::map<std::string, std::string> validation;
    *prepared = true;
    const auto look_up = [&](const DatasetRequest& request) {
      const std::string key = request.Key();
      const auto [found, is_new] = hashes_.try_emplace(key);
      if (is_new && options_.dataset_hashes) {
        found->second = options_.dataset_hashes(key).value_or("");
        if (found->second.empty()) Unprepared(request);
      }
      *prepared &= !found->second.empty();
      return found->second;
    };
    for (const auto& [request, weight] : requests.train) {
      prepared_texts.push_back({look_up(request), weight});
      requested_texts.push_back({request.Key(), weight});
    }
    if (*prepared) variant->train_dataset = TextOf(prepared_texts);
    for (const auto& [name, request] : requests.validation) {
      variant->validation_datasets[name] = look_up(request);
      validation[name] = request.Key();
    }
    *prepared &= variant->config.train.init_from.empty() || !variant->initial_weights.empty();
    if (*prepared)
      return VariantIdentity(*variant, variant->train_dataset, variant->validation_datasets);
    return VariantIdentity(*variant, TextOf(requested_texts), validation);
  }

  void Unprepared(const DatasetRequest& request) {
    const std::string source =
        request.source.is_string() ? request.source.get<std::string>() : request.source.dump();
    context_.notes->Add(
        source + " is not prepared yet, so the jobs have no keys (run and submit prepare it)");
  }

  void Jobs() {
    const size_t count = spec_.variants.size();
    std::vector<std::string> identities(count);
    std::vector<bool> has_key(count);
    std::vector<size_t> first(count);  // the first variant that is the same work
    std::unordered_map<std::string, size_t> seen;
    for (size_t v = 0; v < count; ++v) {
      bool prepared = false;
      identities[v] = Identify(&spec_.variants[v], &prepared);
      has_key[v] = prepared;
      first[v] = seen.emplace(identities[v], v).first->second;
    }
    spec_.jobs.reserve(count * spec_.seeds.size());
    for (const uint64_t seed : spec_.seeds) {
      const size_t begin = spec_.jobs.size();
      for (size_t v = 0; v < count; ++v) {
        Job job{.variant = static_cast<int>(v), .seed = seed, .key = "", .twin_of = std::nullopt};
        if (has_key[v]) job.key = KeyOf(identities[v], seed);
        if (first[v] != v) job.twin_of = static_cast<int>(begin + first[v]);
        spec_.jobs.push_back(std::move(job));
      }
    }
    TwinNotes(first);
  }

  void TwinNotes(const std::vector<size_t>& first) {
    std::map<size_t, std::vector<std::string>> groups;
    for (size_t v = 0; v < first.size(); ++v) {
      if (first[v] == v) continue;
      std::vector<std::string>& names = groups[first[v]];
      if (names.empty()) names.push_back(spec_.variants[first[v]].name);
      names.push_back(spec_.variants[v].name);
    }
    size_t notes = 0;
    for (const auto& [index, names] : groups) {
      if (++notes > kMostTwinNotes) break;
      context_.notes->Add("the same job, trained once: " + List(names));
    }
    if (groups.size() > kMostTwinNotes) {
      context_.notes->Add("and " + std::to_string(groups.size() - kMostTwinNotes) +
                          " more groups of identical points");
    }
  }

  void TokenizerNote() {
    for (const Variant& variant : spec_.variants) {
      const DataConfig &data = variant.config.data, &first = spec_.variants.front().config.data;
      // One that is trained is another one on another text.
      const bool same_text = data.train == first.train && data.holdout == first.holdout;
      if (data.tokenizer == first.tokenizer && (same_text || data.tokenizer.is_string())) continue;
      context_.notes->Add(
          "variants have different tokenizers: losses a token and perplexities cannot be compared "
          "between them, bits_per_byte can");
      return;
    }
  }

  void OverwritingNotes() {
    for (const Axis& axis : draft_.axes) {
      for (const AxisPath& path : axis.paths) OverwritingNote(path);
    }
  }

  void OverwritingNote(const AxisPath& path) {
    std::vector<std::string> names;
    for (const VariantSettings& variant : draft_.variants) {
      const auto said = variant.settings.find(path.field);
      if (said != variant.settings.end() && !said->second->value.is_null())
        names.push_back(variant.name);
    }
    if (names.empty()) return;
    context_.notes->Add(path.section + " overwrites " + std::string(AllFields()[path.field].path) +
                        " of " + List(names));
  }

  SweepDraft draft_;
  const SpecOptions& options_;
  const ReadContext& context_;
  SweepSpec spec_;
  PointResolver resolver_;
  std::vector<std::pair<size_t, size_t>> origins_;  // of each point: variant and place in the grid
  std::unordered_map<std::string, int> by_name_;
  std::map<std::string, std::vector<std::string>> switching_;  // variants by what changes
  std::unordered_map<std::string, std::string> hashes_;  // by request key; empty = not prepared
};

}  // namespace

int64_t CountJobs(const SweepDraft& draft) {
  int64_t count = 1;
  const auto times = [&count](uint64_t factor) {
    if (factor > static_cast<uint64_t>(kUncountable) ||
        __builtin_mul_overflow(count, static_cast<int64_t>(factor), &count)) {
      count = kUncountable;
    }
  };
  // Zero first, lest an empty sweep look endless.
  if (draft.variants.empty()) return 0;
  times(draft.variants.size());
  const auto points = static_cast<uint64_t>(CountPoints(draft.axes));
  times(draft.sample.count > 0 ? std::min(points, draft.sample.count) : points);
  times(draft.seeds.count);
  return count;
}

std::string JobsInWords(int64_t jobs) {
  return jobs == kUncountable ? "more than 10^18" : WithSeparators(jobs);
}

SweepSpec Expand(SweepDraft draft, const SpecOptions& options, const ReadContext& context) {
  return Expander(std::move(draft), options, context).Expand();
}

}  // namespace gyre
