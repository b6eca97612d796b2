#include "results/comparison.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "results/numbers.h"

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

Json RowToJson(const ComparisonRow& row) {
  Json difference = nullptr;
  if (row.difference) {
    difference = {{"mean", row.difference->mean},         {"low", OrNull(row.difference->low)},
                  {"high", OrNull(row.difference->high)}, {"p", OrNull(row.difference->p)},
                  {"unit", row.difference->unit},         {"pairs", row.difference->pairs}};
  }
  return {{"variant", row.variant},
          {"n", row.n},
          {"mean", OrNull(row.mean)},
          {"std", OrNull(row.std)},
          {"difference", difference},
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
  if (!difference.is_null()) {
    Difference& values = row.difference.emplace();
    values.mean = difference.at("mean").get<double>();
    values.low = NumberOrAbsent(difference, "low");
    values.high = NumberOrAbsent(difference, "high");
    values.p = NumberOrAbsent(difference, "p");
    values.unit = difference.at("unit").get<std::string>();
    values.pairs = difference.value("pairs", 0);
  }
  return row;
}

std::string Seeds(int count) { return std::to_string(count) + (count == 1 ? " seed" : " seeds"); }

/// "worse than" for a loss that went up, plain "above" where we do not know what is good.
std::string Direction(std::string_view metric, bool above) {
  if (!LowerIsBetter(metric)) return above ? "higher than" : "lower than";
  return above ? "worse than" : "better than";
}

std::string Sentence(const ComparisonRow& row, std::string_view metric) {
  const Difference& difference = *row.difference;
  if (!difference.low || !difference.high) {
    const int decimals = DecimalsFor(std::abs(difference.mean) / 10);
    if (difference.mean == 0) {
      return row.variant + " gives exactly the values of " + row.baseline + " (" +
             Seeds(difference.pairs) + ")";
    }
    return row.variant + " is " + Direction(metric, difference.mean > 0) + " " + row.baseline +
           " by " + FormatFixed(std::abs(difference.mean), decimals) + " " + difference.unit +
           (difference.pairs == 1 ? " on one seed, and one seed cannot say whether that is chance"
                                  : " on each of " + Seeds(difference.pairs) + " alike");
  }
  const int decimals = DecimalsFor((*difference.high - *difference.low) / 2);
  const bool apart = *difference.low > 0 || *difference.high < 0;
  if (!apart) {
    return "The data cannot tell " + row.variant + " from " + row.baseline + " (difference " +
           FormatSigned(difference.mean, decimals) + " " + difference.unit + ", 95% " +
           FormatSigned(*difference.low, decimals) + " to " +
           FormatSigned(*difference.high, decimals) + ", " + Seeds(difference.pairs) + ")";
  }
  const bool above = difference.mean > 0;
  const double near = above ? *difference.low : -*difference.high;
  const double far = above ? *difference.high : -*difference.low;
  return row.variant + " is " + Direction(metric, above) + " " + row.baseline + " by " +
         FormatFixed(std::abs(difference.mean), decimals) + " " + difference.unit + " (95% " +
         FormatFixed(near, decimals) + " to " + FormatFixed(far, decimals) + ", " +
         Seeds(difference.pairs) + ")";
}

}  // namespace

std::string MetricQuantity(std::string_view metric) {
  const size_t slash = metric.find('/');
  if (slash != std::string_view::npos) metric.remove_prefix(slash + 1);
  return std::string(metric.substr(0, metric.find_first_of("@/")));
}

std::string DifferenceUnit(std::string_view metric) {
  const std::string quantity = MetricQuantity(metric);
  if (quantity == "perplexity" || quantity == "loss" || quantity == "loss_sample") return "nats";
  if (quantity == "bits_per_byte") return "bits per byte";
  return quantity;
}

bool LowerIsBetter(std::string_view metric) {
  const std::string unit = DifferenceUnit(metric);
  return unit == "nats" || unit == "bits per byte";
}

std::vector<std::string> Verdict(const Comparison& comparison) {
  std::vector<std::string> sentences;
  for (const ComparisonRow& row : comparison.rows) {
    if (row.difference) sentences.push_back(Sentence(row, comparison.metric));
  }
  return sentences;
}

std::string ComparisonToJson(const Comparison& comparison) {
  Json json = {{"metric", comparison.metric}, {"baseline", nullptr}, {"rows", Json::array()}};
  if (!comparison.baseline.empty()) json["baseline"] = comparison.baseline;
  for (const ComparisonRow& row : comparison.rows) json["rows"].push_back(RowToJson(row));
  json["notes"] = comparison.notes;
  json["verdict"] = comparison.verdict;
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

Result<Comparison> ComparisonFromJson(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    Comparison comparison;
    comparison.metric = json.at("metric").get<std::string>();
    if (!json.at("baseline").is_null()) comparison.baseline = json["baseline"].get<std::string>();
    for (const Json& row : json.at("rows")) comparison.rows.push_back(RowFromJson(row));
    comparison.notes = json.value("notes", std::vector<std::string>());
    comparison.verdict = json.value("verdict", std::vector<std::string>());
    return comparison;
  } catch (const Json::exception& error) {
    return InvalidArgument(std::string("not a comparison: ") + error.what());
  }
}

}  // namespace gyre
