#include "coordinator/submission.h"

#include <set>
#include <utility>

#include "coordinator/initial_weights.h"
#include "coordinator/stop_early.h"
#include "trainer/model/memory_estimate.h"
#include "trainer/position/rotation_json.h"

namespace gyre {
namespace {

/// Per layer what training begins with, and under "switches" what it changes to and when.
std::string RotationJson(const Variant& variant) {
  Json layers = Json::array();
  for (size_t l = 0; l < variant.positions.size(); ++l) {
    Json layer = ToJson(variant.positions[l]);
    for (size_t i = 0; i < variant.switched.size(); ++i) {
      Json after = {{"at", variant.config.position.switches[i].at}};
      after.update(ToJson(variant.switched[i][l]));
      layer["switches"].push_back(std::move(after));
    }
    layers.push_back(std::move(layer));
  }
  return layers.dump();
}

PreparedVariant PrepareVariant(const Variant& variant) {
  PreparedVariant prepared;
  prepared.record.name = variant.name;
  prepared.record.config = ToJson(variant.config).dump();
  prepared.record.train_dataset = variant.train_dataset;
  prepared.record.validation_datasets = Json(variant.validation_datasets).dump();
  prepared.record.initial_weights = variant.initial_weights;
  const EncodingConfig& encoding = variant.config.position.common;
  prepared.record.position_type = encoding.type;
  if (encoding.type == "rope") {
    prepared.record.theta = encoding.theta;
    prepared.record.p = encoding.p;
    prepared.record.keep = encoding.keep;
    prepared.record.spacing = encoding.spacing;
  }
  prepared.parameters = ParameterCount(variant.config.model);
  prepared.tokens_budget = variant.config.train.tokens;
  prepared.rotation = RotationJson(variant);
  return prepared;
}

Status CheckDatasets(const SweepSpec& spec) {
  for (const Variant& variant : spec.variants) {
    std::string missing;
    if (variant.train_dataset.empty())
      missing = "its training text " + variant.config.data.train.dump();
    for (const auto& [name, hash] : variant.validation_datasets) {
      if (hash.empty() && missing.empty()) missing = "its validation set '" + name + "'";
    }
    const std::string& init_from = variant.config.train.init_from;
    if (!init_from.empty() && variant.initial_weights.empty() && missing.empty()) {
      return FailedPrecondition("sweep " + spec.name + ", variant '" + variant.name +
                                "': the weights of train.init_from " + init_from +
                                " are not known");
    }
    if (!missing.empty()) {
      return FailedPrecondition(
          "sweep " + spec.name + ", variant '" + variant.name + "': " + missing +
          " is not among the data sets that came with the submission; prepare it first");
    }
  }
  return OkStatus();
}

/// What submitting the same name again compares: everything that the file decides, data by content.
std::string ResolvedJson(const SweepSpec& spec) {
  Json variants = Json::array();
  for (const Variant& variant : spec.variants) {
    variants.push_back({{"name", variant.name},
                        {"config", ToJson(variant.config)},
                        {"train_dataset", variant.train_dataset},
                        {"validation_datasets", variant.validation_datasets}});
    if (!variant.initial_weights.empty()) {
      variants.back()["initial_weights"] = variant.initial_weights;
    }
  }
  Json resolved = {
      {"sweep", spec.name},
      {"description", spec.description},
      {"question", spec.question},
      {"variants", std::move(variants)},
      {"seeds", spec.seeds},
      {"baseline", spec.baseline},
      {"priority", spec.priority},
      {"resources",
       {{"gpus", spec.resources.gpus},
        {"cpus", spec.resources.cpus},
        {"memory_bytes", spec.resources.memory_bytes}}},
      {"retry", {{"attempts", spec.retry_attempts}, {"backoff_ms", spec.retry_backoff_ms}}},
      {"timeout_ms", spec.timeout_ms}};
  // What was submitted before there was such a rule stays what it was.
  if (spec.stop_early) resolved["stop_early"] = Json::parse(StopEarlyToJson(spec.stop_early));
  return resolved.dump();
}

/// What one job needs: what the file says, or more if its shapes do.
Resources NeedsOf(const SweepSpec& spec) {
  Resources needs = spec.resources;
  for (const Variant& variant : spec.variants) {
    const MemoryEstimate estimate = EstimateMemory(variant.config, needs.cpus);
    if (estimate.total() <= needs.memory_bytes) continue;
    needs.memory_bytes = estimate.total();
    needs.memory_parts = DescribeParts(estimate);
  }
  return needs;
}

PreparedSweep PrepareSweep(const SweepSpec& spec, const SubmitCall& call) {
  PreparedSweep prepared;
  SweepRecord& record = prepared.record;
  record.name = spec.name;
  record.description = spec.description;
  record.question = spec.question;
  record.yaml = call.yaml;
  record.file = call.file;
  record.folder = call.folder;
  if (!call.extended.empty()) record.extended = Json(call.extended).dump();
  record.resolved = ResolvedJson(spec);
  record.priority = spec.priority;
  record.baseline = spec.baseline;
  record.resources = NeedsOf(spec);
  record.retry_attempts = spec.retry_attempts;
  record.retry_backoff_ms = spec.retry_backoff_ms;
  record.timeout_ms = spec.timeout_ms;
  record.stop_early = spec.stop_early;
  record.submitted_by = call.submitted_by;
  for (size_t i = 0; i < spec.variants.size(); ++i) {
    prepared.variants.push_back(PrepareVariant(spec.variants[i]));
    if (i < spec.baselines.size()) prepared.variants.back().baseline = spec.baselines[i];
  }
  prepared.jobs = spec.jobs;
  prepared.notes = spec.notes;
  return prepared;
}

}  // namespace

Result<PreparedSubmission> PrepareSubmission(const SubmitCall& call, const SweepParser& parser,
                                             const AskSql& ask) {
  SpecOptions options;
  if (!call.file.empty()) options.file = call.file;
  if (!call.folder.empty()) options.folder = call.folder;
  if (call.max_jobs > 0) options.max_jobs = call.max_jobs;
  options.dataset_hashes = [&call](const std::string& request_key) -> std::optional<std::string> {
    const auto found = call.datasets.find(request_key);
    if (found == call.datasets.end()) return std::nullopt;
    return found->second.hash;
  };
  options.model_vocabulary = [&call](const std::string& path) -> Result<int> {
    for (const auto& [request_key, dataset] : call.datasets) {
      if (ModelPathIn(request_key) == path) return dataset.vocab_size;
    }
    return NotFound("no data set with the tokenizer " + path + " came with the submission");
  };
  options.initial_weights = InitialWeightsFor(call, ask);
  options.read_file = [&call](const std::string& path) -> Result<std::string> {
    const auto found = call.extended.find(path);
    if (found != call.extended.end()) return found->second;
    return NotFound(path + " did not come with the submission");
  };
  for (const auto& [request_key, dataset] : call.datasets) {
    for (const std::string& name : CorporaIn(request_key)) options.corpora.push_back(name);
  }
  GYRE_ASSIGN_OR_RETURN(const std::vector<SweepSpec> specs, parser(call.yaml, options));

  PreparedSubmission submission;
  submission.replace = call.replace;
  submission.fresh = call.fresh;
  std::set<std::string> names;
  for (const SweepSpec& spec : specs) {
    if (!names.insert(spec.name).second) {
      return InvalidArgument(options.file + ": two sweeps are called '" + spec.name + "'");
    }
    GYRE_RETURN_IF_ERROR(CheckDatasets(spec));
    GYRE_RETURN_IF_ERROR(CheckTokenizers(spec, call, ask));
    submission.sweeps.push_back(PrepareSweep(spec, call));
  }
  for (const auto& [key, dataset] : call.datasets) submission.datasets.push_back(dataset);
  return submission;
}

}  // namespace gyre
