#include "trainer/collect_statistics.h"

#include <algorithm>
#include <span>
#include <vector>

#include "trainer/position/rotation.h"
#include "trainer/statistics/first_tokens.h"
#include "trainer/statistics/means.h"

namespace gyre {
namespace {

Status AddUp(const Windows& windows, std::span<const int64_t> chosen, int rows, Model* model,
             std::vector<AttentionSums>* sums) {
  Batch batch;
  for (size_t first = 0; first < chosen.size(); first += static_cast<size_t>(rows)) {
    const auto now =
        chosen.subspan(first).first(std::min(static_cast<size_t>(rows), chosen.size() - first));
    GYRE_RETURN_IF_ERROR(windows.Fill(now, &batch));
    std::vector<int32_t> lengths;
    for (const int64_t window : now) lengths.push_back(windows.LengthOf(window));
    GYRE_RETURN_IF_ERROR(model->CollectAttention(batch, lengths, sums));
  }
  return OkStatus();
}

Status SumOverRanks(const Ranks& ranks, std::vector<AttentionSums>* sums) {
  if (ranks.alone()) return OkStatus();
  std::vector<double> values;
  for (AttentionSums& layer : *sums) {
    layer.ForEach([&values](double& value) { values.push_back(value); });
  }
  GYRE_RETURN_IF_ERROR(ranks.Sum(values));
  auto from = values.begin();
  for (AttentionSums& layer : *sums) layer.ForEach([&from](double& value) { value = *from++; });
  return OkStatus();
}

// Later tokens change nothing for earlier ones: the first alone are a forward pass of their own.
Status LookAtFirstTokens(const JobConfig& config, int64_t tokens, const Windows& windows,
                         int64_t window, Model* model, StatisticsRecord* record) {
  Batch batch;
  GYRE_RETURN_IF_ERROR(windows.Fill({&window, 1}, &batch));
  batch.length = std::min(batch.length, kFirstTokens);
  batch.tokens.resize(static_cast<size_t>(batch.length));
  batch.targets.resize(static_cast<size_t>(batch.length));
  GYRE_ASSIGN_OR_RETURN(const auto traces, model->TraceAttention(batch));
  GYRE_ASSIGN_OR_RETURN(const auto positions,
                        ResolvePositions(PositionInForce(config.position, tokens), config.model,
                                         config.data.context));
  AppendFirstTokens(traces, positions, config.model, record);
  return OkStatus();
}

}  // namespace

Result<StatisticsRecord> CollectStatistics(const JobConfig& config, int64_t step,
                                           const Windows& windows, int rows, const Ranks& ranks,
                                           Model* model) {
  StatisticsRecord record{.step = step, .tokens = step * config.train.batch_tokens};
  const StatisticsConfig& statistics = config.statistics;
  const std::vector<int64_t> chosen = windows.ForStatistics(statistics.sequences);
  const auto is_mean = [](const std::string& name) { return name != kTokenNorms; };
  if (std::any_of(statistics.collect.begin(), statistics.collect.end(), is_mean)) {
    const Ranks::Share share = ranks.ShareOf(static_cast<int64_t>(chosen.size()));
    std::vector<AttentionSums> sums = ZeroSums(config.model);
    GYRE_RETURN_IF_ERROR(AddUp(windows,
                               std::span(chosen).subspan(static_cast<size_t>(share.begin),
                                                         static_cast<size_t>(share.size())),
                               rows, model, &sums));
    GYRE_RETURN_IF_ERROR(SumOverRanks(ranks, &sums));
    AppendMeans(sums, config.model, statistics, &record);
  }
  if (statistics.Collects(kTokenNorms) && ranks.speaks()) {
    GYRE_RETURN_IF_ERROR(
        LookAtFirstTokens(config, record.tokens, windows, chosen[0], model, &record));
  }
  return record;
}

}  // namespace gyre
