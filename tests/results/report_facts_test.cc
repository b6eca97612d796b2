#include "results/report_facts.h"

#include <gmock/gmock.h>

#include "tests/results/results_database.h"

namespace gyre {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

class ReportFactsTest : public testing::Test {
 protected:
  Result<ReportFacts> Read(const std::string& sweep) {
    return ReadReportFacts(
        sweep, [this](const std::string& sql) { return RunQuery(results_.path(), sql, 0); });
  }
  void Execute(const std::string& sql) {
    const Status status = results_.database().Execute(sql);
    ASSERT_TRUE(status.ok()) << status;
  }

  ResultsDatabase results_;
  const int64_t sweep_ = results_.AddSweep("it's");
};

TEST_F(ReportFactsTest, VariantsShowWhatTheyDoNotShare) {
  const int64_t rope = results_.AddVariant(sweep_, "RoPE");
  results_.AddVariant(sweep_, "NoPE");
  Execute(R"(UPDATE variants SET config = '{"position": {"type": "rope", "theta": 10000}, )"
          R"("data": {"context": 256}}')");
  Execute(R"(UPDATE variants SET config = '{"position": {"type": "nope"}, "data": )"
          R"({"context": 256}}' WHERE name = 'NoPE')");
  results_.AddFinished(sweep_, rope, 0, 5.0);
  const Result<ReportFacts> facts = Read("it's");
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_THAT(facts->variants.columns,
              ElementsAre("variant", "position.type", "position.theta", "parameters", "tokens"));
  ASSERT_EQ(facts->variants.rows.size(), 2u);
  EXPECT_EQ(facts->variants.rows[0][2], QueryValue("10000"));
  EXPECT_EQ(facts->variants.rows[1][1], QueryValue("nope"));
  EXPECT_EQ(facts->variants.rows[1][2], QueryValue());  // has none
  EXPECT_THAT(facts->common, HasSubstr("\"context\": 256"));
  EXPECT_THAT(facts->common, Not(HasSubstr("theta")));
}

TEST_F(ReportFactsTest, JobsByState) {
  const int64_t variant = results_.AddVariant(sweep_, "RoPE");
  const int64_t done = results_.AddFinished(sweep_, variant, 0, 5.0);
  results_.AddJob(sweep_, variant, {.seed = 1, .state = "SUCCEEDED", .reused_from = done});
  results_.AddJob(sweep_, variant, {.seed = 2, .state = "FAILED", .error = "no"});
  results_.AddJob(sweep_, variant, {.seed = 3, .state = "RUNNING"});
  const Result<ReportFacts> facts = Read("it's");
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_EQ(facts->jobs, 4);
  EXPECT_EQ(facts->reused, 1);
  EXPECT_THAT(facts->states,
              ElementsAre(Pair("SUCCEEDED", 2), Pair("FAILED", 1), Pair("RUNNING", 1)));
  EXPECT_EQ(facts->ended_at, "");  // one still runs
}

TEST_F(ReportFactsTest, TextsAreThoseOfTheSweep) {
  results_.AddVariant(sweep_, "RoPE");
  Execute("UPDATE variants SET train_dataset = 'aaa', validation_datasets = '{\"v\": \"bbb\"}'");
  for (const char* hash : {"aaa", "bbb", "ccc"}) {
    Execute(
        "INSERT INTO datasets (hash, name, tokens, documents, bytes, vocab_size, tokenizer) "
        "VALUES ('" +
        std::string(hash) + "', 'text " + hash + "', 9, 1, 8, 257, 'bytes')");
  }
  const Result<ReportFacts> facts = Read("it's");
  ASSERT_TRUE(facts.ok()) << facts.status();
  ASSERT_EQ(facts->texts.rows.size(), 2u);
  EXPECT_EQ(facts->texts.rows[0][0], QueryValue("text aaa"));
  EXPECT_EQ(facts->texts.rows[0][1], QueryValue("training"));
  EXPECT_EQ(facts->texts.rows[1][1], QueryValue("validation"));
}

TEST_F(ReportFactsTest, MachinesThatTrainedItAndAttemptsThatEndedBadly) {
  const int64_t variant = results_.AddVariant(sweep_, "RoPE");
  const int64_t worker = results_.AddWorker("host/0");
  const int64_t first = results_.AddFinished(sweep_, variant, 0, 5.0);
  results_.AddAttempt(first, 1, worker, "LOST", 0);
  results_.AddAttempt(first, 2, worker, "SUCCEEDED", 1000, "{\"backend\":\"cpu\"}");
  const int64_t second = results_.AddFinished(sweep_, variant, 1, 5.0);
  results_.AddAttempt(second, 1, worker, "SUCCEEDED", 3000, "{\"backend\":\"cpu\"}");
  const Result<ReportFacts> facts = Read("it's");
  ASSERT_TRUE(facts.ok()) << facts.status();
  ASSERT_EQ(facts->machines.rows.size(), 1u);
  EXPECT_EQ(facts->machines.rows[0][0], QueryValue("host/0"));
  EXPECT_EQ(facts->machines.rows[0][3], QueryValue(int64_t{2}));
  EXPECT_EQ(facts->machines.rows[0][4], QueryValue(2000.0));
  ASSERT_EQ(facts->failures.rows.size(), 1u);
  EXPECT_EQ(facts->failures.rows[0][3], QueryValue("LOST"));
}

TEST_F(ReportFactsTest, AnUnknownSweepListsTheOthers) {
  EXPECT_THAT(Read("its").status().message(),
              HasSubstr("there is no sweep 'its'; there are: it's"));
}

}  // namespace
}  // namespace gyre
