#include <algorithm>

#include "trainer/statistics/means.h"
#include "trainer/verification.h"

namespace gyre {
namespace {

using Rows = ExpectedStatistics::Rows;

// The list that a row is held against, or null: there is none, or it is of another shape.
const std::vector<double>* RowOf(const Rows& rows, size_t count, size_t row,
                                 const std::string& where, Deviation* deviation) {
  return SameLength(count, rows.size(), where, deviation) ? &rows[row] : nullptr;
}

void CompareRow(const std::vector<double>& got, const std::vector<double>& want,
                const std::string& where, Deviation* deviation) {
  if (!SameLength(got.size(), want.size(), where, deviation)) return;
  for (size_t k = 0; k < got.size(); ++k) {
    deviation->Compare(got[k], want[k], want[k], At(where, k));
  }
}

// `item`, the list of one head, where the format has `key`[layer][head].
void CompareInCube(const ExpectedStatistics& expected, const std::string& key,
                   const FrequencyNorms& item, size_t layers, size_t heads,
                   const std::vector<double>& got, Deviation* deviation) {
  const auto found = expected.frequency.find(key);
  if (found == expected.frequency.end()) return;
  if (!SameLength(layers, found->second.size(), "frequency." + key, deviation)) return;
  const auto layer = static_cast<size_t>(item.layer), head = static_cast<size_t>(item.head);
  const std::string where = At("frequency." + key, layer);
  const auto* want = RowOf(found->second[layer], heads, head, where, deviation);
  if (want != nullptr) CompareRow(got, *want, At(where, head), deviation);
}

}  // namespace

void Verification::CompareNorms(const StatisticsRecord& record) {
  const ModelConfig& model = folder_.config.model;
  Deviation norms("frequency", allowed_.statistics);
  Deviation without_first("frequency, without first", allowed_.statistics);
  for (const FrequencyNorms& item : record.frequency_norms) {
    const auto layers = static_cast<size_t>(model.num_hidden_layers);
    const auto heads = static_cast<size_t>(item.tensor == "q" ? model.num_attention_heads
                                                              : model.num_key_value_heads);
    CompareInCube(expected_.statistics, item.tensor, item, layers, heads, item.norms, &norms);
    CompareInCube(expected_.statistics, item.tensor + "_without_first", item, layers, heads,
                  item.norms_without_first, &without_first);
  }
  Add(norms);
  Add(without_first);
}

void Verification::CompareContributions(const StatisticsRecord& record) {
  Deviation mean("contribution.mean_abs", allowed_.statistics);
  Deviation share("contribution.share", allowed_.statistics);
  const auto& expected = expected_.statistics.contribution;
  const auto heads = static_cast<size_t>(folder_.config.model.num_attention_heads);
  const auto compare = [&](const char* key, const LogitShares& item, double divisor,
                           Deviation* deviation) {
    const auto found = expected.find(key);
    if (found == expected.end()) return;
    const auto head = static_cast<size_t>(item.head);
    const std::string where = std::string("contribution.") + key;
    const auto* want = RowOf(found->second, heads, head, where, deviation);
    std::vector<double> got = item.contributions;
    for (double& value : got) value /= divisor;
    if (want != nullptr) CompareRow(got, *want, At(where, head), deviation);
  };
  for (const LogitShares& item : record.logit_shares) {
    if (item.layer != expected_.statistics.contribution_layer) continue;
    double sum = 0;
    for (const double value : item.contributions) sum += value;
    compare("mean_abs", item, 1, &mean);
    compare("share", item, sum, &share);
  }
  Add(mean);
  Add(share);
}

void Verification::CompareHeads(const StatisticsRecord& record) {
  const std::pair<const char*, double HeadScores::*> quantities[] = {
      {"diag", &HeadScores::diagonal},
      {"prev", &HeadScores::previous},
      {"first", &HeadScores::first},
      {"entropy", &HeadScores::entropy},
      {"distance", &HeadScores::distance}};
  const ModelConfig& model = folder_.config.model;
  const auto heads = static_cast<size_t>(model.num_attention_heads);
  for (const auto& [key, score] : quantities) {
    const std::string name = std::string("heads.") + key;
    Deviation deviation(name, allowed_.statistics);
    const auto found = expected_.statistics.heads.find(key);
    for (const HeadScores& item : record.head_scores) {
      if (found == expected_.statistics.heads.end()) break;
      const auto layer = static_cast<size_t>(item.layer), head = static_cast<size_t>(item.head);
      const auto* want = RowOf(found->second, static_cast<size_t>(model.num_hidden_layers), layer,
                               name, &deviation);
      if (want == nullptr || !SameLength(heads, want->size(), At(name, layer), &deviation))
        continue;
      deviation.Compare(item.*score, (*want)[head], (*want)[head], At(At(name, layer), head));
    }
    Add(deviation);
  }
}

Status Verification::CheckStatistics() {
  const ExpectedStatistics& expected = expected_.statistics;
  const bool any =
      !expected.frequency.empty() || !expected.contribution.empty() || !expected.heads.empty();
  StatisticsRecord record;
  if (any && expected_.batch) {
    const ModelConfig& model_config = folder_.config.model;
    if (expected.contribution_layer < 0 ||
        expected.contribution_layer >= model_config.num_hidden_layers) {
      return InvalidArgument("expected.json: contribution.layer is " +
                             std::to_string(expected.contribution_layer) +
                             ", which the model does not have");
    }
    Batch batch = *expected_.batch;
    batch.targets.resize(batch.tokens.size(), -1);
    GYRE_ASSIGN_OR_RETURN(const auto model, CreateModel(/*training=*/false));
    std::vector<AttentionSums> sums = ZeroSums(model_config);
    const std::vector<int32_t> lengths(static_cast<size_t>(batch.rows), batch.length);
    GYRE_RETURN_IF_ERROR(model->CollectAttention(batch, lengths, &sums));
    AppendMeans(sums, model_config, {.collect = {kFrequencyNorms, kLogitShares, kHeadScores}},
                &record);
  }
  if (any && !expected_.batch) {
    for (const char* name : {"frequency", "contribution", "heads"}) Skip(name, "needs the batch");
    return OkStatus();
  }
  CompareNorms(record);
  CompareContributions(record);
  CompareHeads(record);
  return OkStatus();
}

}  // namespace gyre
