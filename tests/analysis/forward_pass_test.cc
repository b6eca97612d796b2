// The pass against numbers that somebody else computed in float64, and against the trainer's own
// model.

#include "analysis/forward_pass.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "trainer/backend/create_backend.h"
#include "trainer/expected.h"
#include "trainer/model_folder.h"
#include "trainer/statistics/first_tokens.h"
#include "trainer/statistics/means.h"
#include "trainer/tolerances.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;
using Rows = std::vector<std::vector<double>>;

const fs::path kCases = "tests/trainer/reference";

std::vector<std::string> Cases() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kCases)) {
    if (entry.is_directory()) names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<TokenWindow> WindowsOf(const Batch& batch) {
  std::vector<TokenWindow> windows;
  for (int row = 0; row < batch.rows; ++row) {
    const auto at = [&](const std::vector<int32_t>& ids) {
      const auto begin = ids.begin() + int64_t{row} * batch.length;
      return std::vector<int32_t>(begin, begin + batch.length);
    };
    windows.push_back({at(batch.tokens), at(batch.targets)});
  }
  return windows;
}

// What a pass says, as records have it.
struct Analysis {
  ForwardLosses losses;
  StatisticsRecord record;
};

const StatisticsConfig kAll{.collect = {kFrequencyNorms, kLogitShares, kHeadScores}};

Result<Analysis> Analyse(const PretrainedFolder& folder, const std::vector<TokenWindow>& windows,
                         int threads, int traced_tokens = 0) {
  const ModelConfig& model = folder.config.model;
  int length = 0;
  for (const TokenWindow& window : windows) {
    length = std::max(length, static_cast<int>(window.tokens.size()));
  }
  GYRE_ASSIGN_OR_RETURN(const auto positions,
                        ResolvePositions(folder.config.position, model, length));
  std::vector<AttentionSums> sums;
  std::vector<AttentionTrace> traces;
  Analysis analysis;
  GYRE_ASSIGN_OR_RETURN(
      analysis.losses,
      RunForward(folder, positions, windows, {.threads = threads, .traced_tokens = traced_tokens},
                 [&](int layer, const AttentionSums& of, const AttentionTrace& trace) {
                   EXPECT_EQ(layer, static_cast<int>(sums.size()));
                   sums.push_back(of);
                   traces.push_back(trace);
                 }));
  AppendMeans(sums, model, kAll, &analysis.record);
  AppendFirstTokens(traces, positions, model, &analysis.record);
  return analysis;
}

void ExpectRow(const std::vector<double>& got, const std::vector<double>& want,
               const std::string& where) {
  const double allowed = Tolerances().statistics;
  ASSERT_EQ(got.size(), want.size()) << where;
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_NEAR(got[i], want[i], allowed * std::abs(want[i]) + 1e-12) << where << " " << i;
  }
}

void ExpectStatistics(const StatisticsRecord& record, const ExpectedStatistics& expected) {
  for (const FrequencyNorms& item : record.frequency_norms) {
    const auto layer = static_cast<size_t>(item.layer), head = static_cast<size_t>(item.head);
    ExpectRow(item.norms, expected.frequency.at(item.tensor).at(layer).at(head), item.tensor);
    ExpectRow(item.norms_without_first,
              expected.frequency.at(item.tensor + "_without_first").at(layer).at(head),
              item.tensor + " without first");
  }
  int compared = 0;
  for (const LogitShares& item : record.logit_shares) {
    if (item.layer != expected.contribution_layer) continue;
    ExpectRow(item.contributions,
              expected.contribution.at("mean_abs").at(static_cast<size_t>(item.head)),
              "contributions");
    ++compared;
  }
  EXPECT_GT(compared, 0);
  for (const HeadScores& item : record.head_scores) {
    const auto layer = static_cast<size_t>(item.layer), head = static_cast<size_t>(item.head);
    const auto want = [&](const char* name) { return expected.heads.at(name).at(layer).at(head); };
    ExpectRow({item.diagonal, item.previous, item.first, item.entropy, item.distance},
              {want("diag"), want("prev"), want("first"), want("entropy"), want("distance")},
              "scores");
  }
}

class ReferenceCase : public testing::TestWithParam<std::string> {};

TEST_P(ReferenceCase, HoldsWithinTolerances) {
  const auto folder = PretrainedFolder::Open(kCases / GetParam());
  ASSERT_TRUE(folder.ok()) << folder.status();
  const auto expected = ReadExpected(kCases / GetParam() / "expected.json");
  ASSERT_TRUE(expected.ok()) << expected.status();
  for (const int threads : {1, 3}) {
    const auto analysis = Analyse(*folder, WindowsOf(*expected->batch), threads);
    ASSERT_TRUE(analysis.ok()) << analysis.status();
    const ForwardLosses& losses = analysis->losses;
    EXPECT_EQ(losses.targets, *expected->target_count);
    EXPECT_NEAR(losses.nats / static_cast<double>(losses.targets), *expected->loss,
                Tolerances().loss);
    size_t place = 0;
    for (const auto& row : *expected->nll) {
      for (const double nll : row) EXPECT_NEAR(losses.nll[place++], nll, Tolerances().nll);
    }
    ExpectRow(losses.residual_norms, *expected->residual_norm, "residual norms");
    ExpectStatistics(analysis->record, expected->statistics);
  }
}

INSTANTIATE_TEST_SUITE_P(All, ReferenceCase, testing::ValuesIn(Cases()), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// Windows of several lengths, longer than a block of queries, more than go through a layer at once.
TEST(ForwardPass, AgreesWithTheTrainersModel) {
  for (const char* name : {"llama-qknorm-noperope-layers-window", "gemma-prope75-mqa",
                           "llama-alibi-6heads", "llama-yarn", "llama-partial75"}) {
    SCOPED_TRACE(name);
    const auto folder = PretrainedFolder::Open(kCases / name);
    ASSERT_TRUE(folder.ok()) << folder.status();
    const ModelConfig& config = folder->config.model;
    Batch batch{3, 150, {}, {}, {}};
    const std::vector<int32_t> lengths = {150, 77, 1};
    for (int i = 0; i < batch.rows * batch.length; ++i) {
      batch.tokens.push_back((i * i + 7 * i) % config.vocab_size);
      batch.targets.push_back(i % 150 < lengths[static_cast<size_t>(i / 150)] && i % 5 > 0
                                  ? (3 * i) % config.vocab_size
                                  : -1);
    }
    std::vector<TokenWindow> windows = WindowsOf(batch);
    for (size_t w = 0; w < windows.size(); ++w) {
      windows[w].tokens.resize(static_cast<size_t>(lengths[w]));
      windows[w].targets.resize(static_cast<size_t>(lengths[w]));
    }
    const auto analysis = Analyse(*folder, windows, 2, kFirstTokens);
    ASSERT_TRUE(analysis.ok()) << analysis.status();

    const auto backend = CreateBackend("cpu", 1);
    ASSERT_TRUE(backend.ok());
    const auto model = ModelOf(*folder, backend->get(), batch.rows, batch.length, false);
    ASSERT_TRUE(model.ok()) << model.status();
    std::vector<AttentionSums> sums;
    ASSERT_TRUE((*model)->CollectAttention(batch, lengths, &sums).ok());
    StatisticsRecord record;
    AppendMeans(sums, config, kAll, &record);
    Batch first{1, kFirstTokens, {}, {}, {}};
    first.tokens.assign(batch.tokens.begin(), batch.tokens.begin() + kFirstTokens);
    first.targets.assign(kFirstTokens, -1);
    const auto traces = (*model)->TraceAttention(first);
    ASSERT_TRUE(traces.ok()) << traces.status();
    const auto positions = ResolvePositions(folder->config.position, config, batch.length);
    AppendFirstTokens(*traces, *positions, config, &record);
    const auto want = ToJson(record).flatten(), got = ToJson(analysis->record).flatten();
    ASSERT_EQ(want.size(), got.size());
    for (const auto& [key, value] : want.items()) {
      if (!value.is_number_float()) {
        EXPECT_EQ(value, got[key]) << key;
        continue;
      }
      EXPECT_NEAR(value.get<double>(), got[key].get<double>(),
                  Tolerances().statistics * std::max(0.01, std::abs(value.get<double>())))
          << key;
    }
    std::vector<float> nll(batch.tokens.size());
    ASSERT_TRUE((*model)->Evaluate(batch, nll).ok());
    for (int i = 0; i < 227; ++i) {
      EXPECT_NEAR(analysis->losses.nll[static_cast<size_t>(i)], nll[static_cast<size_t>(i)],
                  Tolerances().nll)
          << i;
    }
  }
}

}  // namespace
}  // namespace gyre
