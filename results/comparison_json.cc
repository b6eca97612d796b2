// A comparison as JSON, there and back.

#include <cmath>
#include <nlohmann/json.hpp>

#include "results/comparison.h"

namespace gyre {
namespace {

using Json = nlohmann::ordered_json;

Json OrNull(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

std::optional<double> NumberOrAbsent(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return std::nullopt;
  return found->get<double>();
}

Json DocumentsToJson(const std::optional<DocumentInterval>& documents) {
  if (!documents) return nullptr;
  return {{"low", documents->low},
          {"high", documents->high},
          {"documents", documents->documents},
          {"seeds", documents->seeds}};
}

Json DifferenceToJson(const Difference& difference) {
  return {
      {"mean", difference.mean},
      {"low", OrNull(difference.low)},
      {"high", OrNull(difference.high)},
      {"p", OrNull(difference.p)},
      {"unit", difference.unit},
      {"pairs", difference.pairs},
      {"p_adjusted", OrNull(difference.p_adjusted)},
      {"std", OrNull(difference.std)},
      {"resolvable", OrNull(difference.resolvable)},
      {"seeds_needed", difference.seeds_needed ? Json(*difference.seeds_needed) : Json(nullptr)},
      {"documents", DocumentsToJson(difference.documents)}};
}

Difference DifferenceFromJson(const Json& json) {
  Difference difference;
  difference.mean = json.at("mean").get<double>();
  difference.low = NumberOrAbsent(json, "low");
  difference.high = NumberOrAbsent(json, "high");
  difference.p = NumberOrAbsent(json, "p");
  difference.unit = json.at("unit").get<std::string>();
  difference.pairs = json.value("pairs", 0);
  difference.p_adjusted = NumberOrAbsent(json, "p_adjusted");
  difference.std = NumberOrAbsent(json, "std");
  difference.resolvable = NumberOrAbsent(json, "resolvable");
  if (NumberOrAbsent(json, "seeds_needed")) {
    difference.seeds_needed = json["seeds_needed"].get<int>();
  }
  if (json.contains("documents") && !json["documents"].is_null()) {
    const Json& documents = json["documents"];
    difference.documents = {documents.at("low").get<double>(), documents.at("high").get<double>(),
                            documents.at("documents").get<int>(), documents.at("seeds").get<int>()};
  }
  return difference;
}

Json RowToJson(const ComparisonRow& row) {
  return {{"variant", row.variant},
          {"n", row.n},
          {"mean", OrNull(row.mean)},
          {"std", OrNull(row.std)},
          {"difference", row.difference ? DifferenceToJson(*row.difference) : Json(nullptr)},
          {"tokens", row.tokens},
          {"tokens_per_second", OrNull(row.tokens_per_second)},
          {"failed", row.failed},
          {"diverged", row.diverged},
          {"unfinished", row.unfinished},
          {"canceled", row.canceled},
          {"stopped_early", row.stopped_early},
          {"seeds", row.seeds},
          {"sweep", row.sweep},
          {"baseline", row.baseline}};
}

ComparisonRow RowFromJson(const Json& json) {
  ComparisonRow row;
  row.variant = json.at("variant").get<std::string>();
  row.sweep = json.value("sweep", "");
  row.baseline = json.value("baseline", "");
  row.n = json.at("n").get<int>();
  row.seeds = json.value("seeds", row.n);
  row.mean = NumberOrAbsent(json, "mean");
  row.std = NumberOrAbsent(json, "std");
  row.tokens = json.at("tokens").get<int64_t>();
  row.tokens_per_second = NumberOrAbsent(json, "tokens_per_second");
  row.failed = json.at("failed").get<int>();
  row.diverged = json.value("diverged", 0);
  row.unfinished = json.value("unfinished", 0);
  row.canceled = json.value("canceled", 0);
  row.stopped_early = json.value("stopped_early", 0);
  const Json& difference = json.at("difference");
  if (!difference.is_null()) row.difference = DifferenceFromJson(difference);
  return row;
}

Json ByStepToJson(const ByStep& by_step) {
  Json rows = Json::array();
  for (const StepDifference& row : by_step.rows) {
    const Difference& difference = row.difference;
    rows.push_back({{"variant", row.variant},
                    {"tokens", row.tokens},
                    {"mean", OrNull(row.mean)},
                    {"baseline_mean", OrNull(row.baseline_mean)},
                    {"difference",
                     {{"mean", difference.mean},
                      {"low", OrNull(difference.low)},
                      {"high", OrNull(difference.high)},
                      {"p", OrNull(difference.p)},
                      {"unit", difference.unit},
                      {"pairs", difference.pairs}}},
                    {"sweep", row.sweep},
                    {"baseline", row.baseline}});
  }
  return {{"rows", rows}, {"verdict", by_step.verdict}};
}

ByStep ByStepFromJson(const Json& json) {
  ByStep by_step;
  for (const Json& row : json.at("rows")) {
    StepDifference& step = by_step.rows.emplace_back();
    step.variant = row.at("variant").get<std::string>();
    step.sweep = row.at("sweep").get<std::string>();
    step.baseline = row.at("baseline").get<std::string>();
    step.tokens = row.at("tokens").get<int64_t>();
    step.mean = row.at("mean").get<double>();
    step.baseline_mean = row.at("baseline_mean").get<double>();
    step.difference = DifferenceFromJson(row.at("difference"));
  }
  by_step.verdict = json.at("verdict").get<std::vector<std::string>>();
  return by_step;
}

Json ReachToJson(const Reach& reach) {
  Json rows = Json::array();
  for (const ReachedTokens& row : reach.rows) {
    rows.push_back({{"variant", row.variant},
                    {"seeds", row.seeds},
                    {"reached", row.reached},
                    {"mean", OrNull(row.mean)},
                    {"std", OrNull(row.std)},
                    {"share", OrNull(row.share)},
                    {"low", OrNull(row.low)},
                    {"high", OrNull(row.high)},
                    {"sweep", row.sweep},
                    {"baseline", row.baseline}});
  }
  return {{"level", reach.level}, {"rows", rows}, {"notes", reach.notes}};
}

Reach ReachFromJson(const Json& json) {
  Reach reach;
  reach.level = json.at("level").get<double>();
  for (const Json& row : json.at("rows")) {
    ReachedTokens& tokens = reach.rows.emplace_back();
    tokens.variant = row.at("variant").get<std::string>();
    tokens.sweep = row.at("sweep").get<std::string>();
    tokens.baseline = row.at("baseline").get<std::string>();
    tokens.seeds = row.at("seeds").get<int>();
    tokens.reached = row.at("reached").get<int>();
    tokens.mean = NumberOrAbsent(row, "mean");
    tokens.std = NumberOrAbsent(row, "std");
    tokens.share = NumberOrAbsent(row, "share");
    tokens.low = NumberOrAbsent(row, "low");
    tokens.high = NumberOrAbsent(row, "high");
  }
  reach.notes = json.at("notes").get<std::vector<std::string>>();
  return reach;
}

}  // namespace

std::string ComparisonToJson(const Comparison& comparison) {
  Json json = {{"metric", comparison.metric}, {"baseline", nullptr}, {"rows", Json::array()}};
  if (!comparison.baseline.empty()) json["baseline"] = comparison.baseline;
  for (const ComparisonRow& row : comparison.rows) json["rows"].push_back(RowToJson(row));
  json["family"] = comparison.family;
  json["notes"] = comparison.notes;
  json["verdict"] = comparison.verdict;
  if (comparison.by_step) json["by_step"] = ByStepToJson(*comparison.by_step);
  if (comparison.reach) json["reach"] = ReachToJson(*comparison.reach);
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

Result<Comparison> ComparisonFromJson(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    Comparison comparison;
    comparison.metric = json.at("metric").get<std::string>();
    if (!json.at("baseline").is_null()) comparison.baseline = json["baseline"].get<std::string>();
    for (const Json& row : json.at("rows")) comparison.rows.push_back(RowFromJson(row));
    comparison.family = json.value("family", 0);
    comparison.notes = json.value("notes", std::vector<std::string>());
    comparison.verdict = json.value("verdict", std::vector<std::string>());
    if (json.contains("by_step")) comparison.by_step = ByStepFromJson(json["by_step"]);
    if (json.contains("reach")) comparison.reach = ReachFromJson(json["reach"]);
    return comparison;
  } catch (const Json::exception& error) {
    return InvalidArgument(std::string("not a comparison: ") + error.what());
  }
}

}  // namespace gyre
