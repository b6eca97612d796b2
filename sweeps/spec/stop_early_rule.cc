#include "sweeps/spec/stop_early_rule.h"

#include <algorithm>

#include "sweeps/spec/nearest.h"

namespace gyre {
namespace {

constexpr char kTrainLoss[] = "train/loss";
constexpr char kLossSample[] = "/loss_sample";
constexpr int64_t kDefaultShare = 10;  // of the budget, before anything is stopped

/// What a job says of itself on the way and can be judged by.
std::vector<std::string> CurvesOf(const JobConfig& config) {
  std::vector<std::string> curves;
  for (const auto& [set, source] : config.data.validation.items()) {
    curves.push_back(set + kLossSample);
  }
  curves.push_back(kTrainLoss);
  return curves;
}

}  // namespace

void CompleteStopEarly(SweepSpec* spec, const TextPlace& place, Faults* faults) {
  StopEarlyRule& rule = *spec->stop_early;
  if (spec->variants.empty()) return;
  const JobConfig& first = spec->variants.front().config;
  if (rule.metric.empty()) rule.metric = CurvesOf(first).front();
  int64_t smallest = first.train.tokens;
  for (const Variant& variant : spec->variants) {
    const std::vector<std::string> curves = CurvesOf(variant.config);
    smallest = std::min(smallest, variant.config.train.tokens);
    if (std::find(curves.begin(), curves.end(), rule.metric) == curves.end()) {
      faults->Add(place,
                  "stop_early.metric " + Quoted(rule.metric) + " is no curve of variant " +
                      Quoted(variant.name),
                  "on the way there are: " + List(curves));
      return;
    }
    if (variant.config.data.tokenizer != first.data.tokenizer) {
      faults->Add(place,
                  "stop_early compares losses a token, and variants have different tokenizers",
                  "leave it out, or put them into sweeps of their own");
      return;
    }
  }
  if (rule.grace == 0) rule.grace = std::max<int64_t>(smallest / kDefaultShare, 1);
  if (rule.grace >= smallest) {
    faults->Add(place, "stop_early.grace is " + WithSeparators(rule.grace) +
                           " tokens, and a job has no more than " + WithSeparators(smallest) +
                           ": nothing would be stopped");
  }
}

}  // namespace gyre
