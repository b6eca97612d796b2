#include "coordinator/stop_early.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace gyre {
namespace {

constexpr size_t kFewestOthers = 2;  // of the median rule

/// A loss as something that can be ordered.
double Ordered(double value) { return std::isfinite(value) ? value : HUGE_VAL; }

std::string Words(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4f", value);
  return std::isfinite(value) ? text : "which is not finite";
}

std::string Place(size_t rank) { return "number " + std::to_string(rank); }

std::string WhyByAsha(const StopEarlyRule& rule, const Curve& own,
                      const std::vector<const Curve*>& others) {
  const int64_t reached = own.rbegin()->first;
  int64_t rung = rule.grace;
  while (rung <= reached / rule.reduction) rung *= rule.reduction;
  const double value = Ordered(own.lower_bound(rung)->second);
  size_t there = 1, better = 0;
  for (const Curve* other : others) {
    const auto at = other->lower_bound(rung);
    if (at == other->end()) continue;
    ++there;
    if (Ordered(at->second) < value) ++better;
  }
  const auto reduction = static_cast<size_t>(rule.reduction);
  if (there < reduction) return "";
  const size_t go_on = there / reduction;
  if (better < go_on) return "";
  return "asha: at " + std::to_string(rung) + " tokens its " + rule.metric + ", " + Words(value) +
         ", is " + Place(better + 1) + " of the " + std::to_string(there) +
         " jobs of its seed that have come so far, and the best " +
         (go_on == 1 ? "goes on" : std::to_string(go_on) + " go on");
}

std::string WhyByMedian(const StopEarlyRule& rule, const Curve& own,
                        const std::vector<const Curve*>& others) {
  const int64_t reached = own.rbegin()->first;
  double best = HUGE_VAL;
  for (auto at = own.lower_bound(rule.grace); at != own.end(); ++at) {
    best = std::min(best, Ordered(at->second));
  }
  std::vector<double> means;
  for (const Curve* other : others) {
    if (other->empty() || other->rbegin()->first < reached) continue;
    double sum = 0;
    int count = 0;
    for (auto at = other->lower_bound(rule.grace); at != other->end() && at->first <= reached;
         ++at, ++count) {
      sum += Ordered(at->second);
    }
    if (count > 0) means.push_back(sum / count);
  }
  if (means.size() < kFewestOthers) return "";
  std::sort(means.begin(), means.end());
  const size_t half = means.size() / 2;
  const double median = means.size() % 2 == 1 ? means[half] : (means[half - 1] + means[half]) / 2;
  if (!(best > median)) return "";
  return "median: after " + std::to_string(reached) + " tokens its best " + rule.metric + ", " +
         Words(best) + ", is above " + Words(median) + ", the median of what the " +
         std::to_string(means.size()) + " other jobs of its seed had on average";
}

}  // namespace

std::string WhyStopEarly(const StopEarlyRule& rule, const Curve& own,
                         const std::vector<const Curve*>& others) {
  if (own.empty() || own.rbegin()->first < rule.grace) return "";
  return rule.rule == "median" ? WhyByMedian(rule, own, others) : WhyByAsha(rule, own, others);
}

std::string StopEarlyToJson(const std::optional<StopEarlyRule>& rule) {
  if (!rule) return "";
  return nlohmann::ordered_json{{"rule", rule->rule},
                                {"metric", rule->metric},
                                {"grace", rule->grace},
                                {"reduction", rule->reduction}}
      .dump();
}

Result<std::optional<StopEarlyRule>> StopEarlyFromJson(const std::string& text) {
  if (text.empty()) return std::optional<StopEarlyRule>();
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto has = [&](const char* key, bool (nlohmann::json::*is)() const noexcept) {
    return json.is_object() && json.contains(key) && (json.at(key).*is)();
  };
  const bool good = has("rule", &nlohmann::json::is_string) &&
                    has("metric", &nlohmann::json::is_string) &&
                    has("grace", &nlohmann::json::is_number_integer) &&
                    has("reduction", &nlohmann::json::is_number_integer);
  StopEarlyRule rule;
  if (good) {
    rule.rule = json.at("rule").get<std::string>();
    rule.metric = json.at("metric").get<std::string>();
    rule.grace = json.at("grace").get<int64_t>();
    rule.reduction = json.at("reduction").get<int>();
  }
  if (!good || rule.grace < 1 || rule.reduction < 2) {
    return DataLoss("'" + text + "' is no rule of stop_early");
  }
  return std::optional(rule);
}

}  // namespace gyre
