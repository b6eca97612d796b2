#include "results/plots/plotted_sweep.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "results/compare.h"
#include "results/comparison.h"
#include "results/plots/plotted_points.h"

namespace gyre {
namespace {

std::vector<std::string> Names(const std::vector<PlottedVariant>& variants) {
  std::vector<std::string> names;
  for (const PlottedVariant& variant : variants) names.push_back(variant.name);
  return names;
}

std::optional<double> OptionalReal(const QueryValue& value) {
  const double real = CellReal(value);
  return std::isnan(real) ? std::nullopt : std::optional<double>(real);
}

// Whether there are models with names: version 5 of the schema.
Result<bool> KnowsModels(const AskSql& ask) {
  GYRE_ASSIGN_OR_RETURN(const QueryTable version, ask("PRAGMA user_version"));
  return !version.rows.empty() && CellInt(version.rows[0][0]) >= 5;
}

Status NoSuchSweep(const std::string& name, const AskSql& ask) {
  GYRE_ASSIGN_OR_RETURN(const bool models, KnowsModels(ask));
  GYRE_ASSIGN_OR_RETURN(
      const QueryTable table,
      ask("SELECT name FROM (SELECT name FROM sweeps ORDER BY id DESC)" +
          std::string(models ? " UNION ALL SELECT DISTINCT name FROM models WHERE name <> ''"
                             : "") +
          " LIMIT 21"));
  std::vector<std::string> names;
  for (const auto& row : table.rows) names.push_back(CellText(row[0]));
  return NotFound("no sweep is called '" + name + "'" +
                  (names.empty() ? "; there are no sweeps" : "; there are: " + ListNames(names)));
}

PlottedVariant ReadVariant(const std::vector<QueryValue>& row) {
  PlottedVariant variant;
  variant.name = CellText(row[0]);
  variant.baseline = CellText(row[1]);
  variant.config =
      nlohmann::ordered_json::parse(CellText(row[2]), nullptr, /*allow_exceptions=*/false);
  if (!variant.config.is_object()) variant.config = nlohmann::ordered_json::object();
  variant.position_type = CellText(row[3]);
  variant.theta = OptionalReal(row[4]);
  variant.p = OptionalReal(row[5]);
  const nlohmann::ordered_json::json_pointer context("/data/context");
  if (variant.config.contains(context) && variant.config.at(context).is_number_integer()) {
    variant.context = variant.config.at(context).get<int>();
  }
  return variant;
}

Result<std::vector<PlottedVariant>> ReadVariants(const std::string& sweep, const AskSql& ask) {
  GYRE_ASSIGN_OR_RETURN(
      const QueryTable table,
      ask("SELECT v.name, b.name, v.config, v.position_type, v.theta, v.p FROM variants v"
          " JOIN sweeps s ON s.id = v.sweep_id LEFT JOIN variants b ON b.id = v.baseline_id"
          " WHERE s.name = " +
          SqlText(sweep) + " ORDER BY v.id"));
  std::vector<PlottedVariant> variants;
  std::map<std::string, size_t> places;
  for (const auto& row : table.rows) {
    variants.push_back(ReadVariant(row));
    places[variants.back().name] = variants.size() - 1;
  }
  GYRE_ASSIGN_OR_RETURN(
      const QueryTable jobs,
      ask("SELECT v.name, j.seed, source.id, j.state, source.diverged_at_step IS NOT NULL,"
          " j.tokens_budget"
          " FROM jobs j JOIN variants v ON v.id = j.variant_id JOIN sweeps s ON s.id = j.sweep_id"
          " JOIN jobs source ON source.id = coalesce(j.reused_from, j.id) WHERE s.name = " +
          SqlText(sweep) + " ORDER BY v.id, j.seed"));
  for (const auto& row : jobs.rows) {
    const auto place = places.find(CellText(row[0]));
    if (place == places.end()) continue;
    variants[place->second].jobs.push_back({static_cast<uint64_t>(CellInt(row[1])), CellInt(row[2]),
                                            CellText(row[3]), CellInt(row[4]) != 0,
                                            CellInt(row[5])});
  }
  return variants;
}

Result<std::vector<PlottedVariant>> ReadModels(const std::string& name, const AskSql& ask) {
  std::vector<PlottedVariant> variants;
  GYRE_ASSIGN_OR_RETURN(const bool models, KnowsModels(ask));
  if (!models) return variants;
  GYRE_ASSIGN_OR_RETURN(const QueryTable table,
                        ask("SELECT variant, '', config, '', NULL, NULL, id, tokens FROM models"
                            " WHERE name = " +
                            SqlText(name) + " ORDER BY id"));
  for (const auto& row : table.rows) {
    PlottedVariant& variant = variants.emplace_back(ReadVariant(row));
    variant.pretrained = true;
    variant.jobs.push_back({0, -CellInt(row[6]), "SUCCEEDED", false, CellInt(row[7])});
  }
  return variants;
}

/// The baseline that the user names in place of the sweep's own.
Status SetBaselines(const std::string& baseline, std::vector<PlottedVariant>* variants) {
  std::vector<VariantResults> named;
  for (const PlottedVariant& variant : *variants) named.emplace_back().name = variant.name;
  bool found = false;
  for (PlottedVariant& variant : *variants) {
    variant.baseline = MatchBaseline(named, variant.name, baseline);
    found = found || !variant.baseline.empty();
    if (variant.baseline == variant.name) variant.baseline.clear();
  }
  if (found) return OkStatus();
  return NotFound("no variant is called '" + baseline +
                  "'; there are: " + ListNames(Names(*variants)));
}

Status KeepSeed(uint64_t seed, std::vector<PlottedVariant>* variants) {
  bool found = false;
  for (PlottedVariant& variant : *variants) {
    std::erase_if(variant.jobs, [&](const PlottedJob& job) { return job.seed != seed; });
    found = found || !variant.jobs.empty();
  }
  return found ? OkStatus() : NotFound("no job of the sweep has the seed " + std::to_string(seed));
}

/// Keeps the variants asked for, and apart from them the baselines of those.
Status KeepVariants(const std::vector<std::string>& wanted, PlottedSweep* sweep) {
  std::vector<PlottedVariant> all = std::move(sweep->variants);
  const auto place = [&](const std::string& name) {
    return std::find_if(all.begin(), all.end(), [&](auto& v) { return v.name == name; });
  };
  sweep->variants.clear();
  for (const std::string& name : wanted) {
    if (place(name) == all.end()) {
      return NotFound("the sweep " + sweep->name + " has no variant '" + name +
                      "'; there are: " + ListNames(Names(all)));
    }
  }
  for (const PlottedVariant& variant : all) {
    if (std::find(wanted.begin(), wanted.end(), variant.name) != wanted.end()) {
      sweep->variants.push_back(variant);
    }
  }
  for (const PlottedVariant& variant : sweep->variants) {
    const auto baseline = place(variant.baseline);
    if (baseline != all.end() && sweep->Find(variant.baseline) == nullptr) {
      sweep->baselines.push_back(*baseline);
    }
  }
  return OkStatus();
}

std::string LossUnit(const std::vector<PlottedVariant>& variants) {
  const nlohmann::ordered_json::json_pointer tokenizer("/data/tokenizer");
  const bool bytes = std::all_of(variants.begin(), variants.end(), [&](auto& variant) {
    return variant.config.contains(tokenizer) && variant.config.at(tokenizer) == "bytes";
  });
  return bytes ? "nats per byte" : "nats per token";
}

}  // namespace

const PlottedVariant* PlottedSweep::Find(const std::string& variant) const {
  for (const auto* list : {&variants, &baselines}) {
    for (const PlottedVariant& candidate : *list) {
      if (candidate.name == variant) return &candidate;
    }
  }
  return nullptr;
}

std::string PlottedSweep::MetricLabel(const std::string& metric) const {
  const std::string quantity = MetricQuantity(metric);
  if (quantity == "loss" || quantity == "loss_sample") return "loss (" + loss_unit + ")";
  if (quantity == "loss_change") return "change of the loss (" + loss_unit + ")";
  if (quantity == "bits_per_byte") return "loss (bits per byte)";
  std::string words = quantity;
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

std::string PlottedSweep::DifferenceLabel(const std::string& metric) const {
  const std::string unit = DifferenceUnit(metric);
  return "difference (" + (unit == "nats" ? loss_unit : unit) + ")";
}

Result<PlottedSweep> ReadPlottedSweep(const PlotOptions& options, const AskSql& ask) {
  PlottedSweep sweep;
  sweep.name = options.sweep;
  GYRE_ASSIGN_OR_RETURN(sweep.variants, ReadVariants(options.sweep, ask));
  if (sweep.variants.empty()) {
    GYRE_ASSIGN_OR_RETURN(sweep.variants, ReadModels(options.sweep, ask));
    sweep.pretrained = true;
  }
  if (sweep.variants.empty()) return NoSuchSweep(options.sweep, ask);
  const auto& config = sweep.variants.front().config;
  const nlohmann::ordered_json::json_pointer validation("/data/validation");
  if (config.contains(validation)) {
    for (const auto& [name, source] : config.at(validation).items()) {
      sweep.validation_sets.push_back(name);
    }
  }
  sweep.loss_unit = LossUnit(sweep.variants);
  if (!options.baseline.empty()) {
    GYRE_RETURN_IF_ERROR(SetBaselines(options.baseline, &sweep.variants));
  }
  if (options.seed) GYRE_RETURN_IF_ERROR(KeepSeed(*options.seed, &sweep.variants));
  if (!options.variants.empty()) GYRE_RETURN_IF_ERROR(KeepVariants(options.variants, &sweep));
  return sweep;
}

Result<std::string> PlottedMetric(const PlotOptions& options, const PlottedSweep& sweep,
                                  const std::string& quantity) {
  if (!options.metric.empty()) return options.metric;
  if (sweep.validation_sets.empty()) {
    return NotFound("the sweep has no validation set: name a metric with --metric");
  }
  return sweep.validation_sets.front() + "/" + quantity;
}

std::vector<int64_t> SourceJobs(const PlottedSweep& sweep) {
  std::vector<int64_t> jobs;
  for (const auto* list : {&sweep.variants, &sweep.baselines}) {
    for (const PlottedVariant& variant : *list) {
      for (const PlottedJob& job : variant.jobs) jobs.push_back(job.source);
    }
  }
  std::sort(jobs.begin(), jobs.end());
  jobs.erase(std::unique(jobs.begin(), jobs.end()), jobs.end());
  return jobs;
}

std::string ListNames(const std::vector<std::string>& names) {
  std::string joined;
  for (size_t i = 0; i < names.size() && i < 20; ++i) joined += (i > 0 ? ", " : "") + names[i];
  if (names.size() > 20) joined += " and " + std::to_string(names.size() - 20) + " more";
  return joined;
}

}  // namespace gyre
