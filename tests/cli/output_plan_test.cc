#include "cli/output_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/scratch_folder.h"
#include "tests/cli/golden.h"
#include "trainer/job_file.h"

namespace gyre {
namespace {

using ::testing::HasSubstr;

constexpr char kSweep[] =
    "sweep: tiny\n"
    "question: does p matter?\n"
    "base: {data: {train: corpus:austen, context: 64}, model: {num_hidden_layers: 1, hidden_size: "
    "8, "
    "num_attention_heads: 2}, train: {tokens: 1M, batch_tokens: 640}}\n"
    "variants: {NoPE: {position: {type: nope}}, p=0: {position: {p: 0}}, RoPE: {}, 'a,\"b|': "
    "{position: {p: 0.5}}}\n"
    "seeds: 2\n"
    "baseline: RoPE\n";

std::vector<SweepSpec> Sweeps(const std::string& text, bool prepared) {
  SpecOptions options;
  options.folder = "/sweeps";
  options.dataset_hashes = [prepared](const std::string&) {
    return prepared ? std::optional<std::string>("abc") : std::nullopt;
  };
  ParsedSweeps parsed = ParseSweeps(text, options);
  EXPECT_TRUE(parsed.diagnostics.empty());
  return std::move(parsed.sweeps);
}

std::string Plan(const std::string& text, OutputFormat format, bool jobs, int width = 0,
                 bool prepared = false) {
  std::string plan;
  WritePlan(Sweeps(text, prepared), format, jobs, width,
            [&plan](std::string_view piece) { plan += piece; });
  return plan;
}

TEST(OutputPlan, ForPeople) {
  ExpectGolden("plan.txt", Plan(kSweep, OutputFormat::kTable, true));
  ExpectGolden("plan-narrow.txt", Plan(kSweep, OutputFormat::kTable, false, 60));
  ExpectGolden("plan.md", Plan(kSweep, OutputFormat::kMarkdown, true));
  ExpectGolden("plan.csv", Plan(kSweep, OutputFormat::kCsv, true));
  ExpectGolden("plan-sweeps.csv", Plan(kSweep, OutputFormat::kCsv, false));
}

TEST(OutputPlan, JsonAsScriptsRelyOnIt) {
  const Json json = Json::parse(Plan(kSweep, OutputFormat::kJson, false, 0, true));
  ASSERT_EQ(json["sweeps"].size(), 1u);
  const Json& sweep = json["sweeps"][0];
  EXPECT_EQ(sweep["sweep"], "tiny");
  // The two variants without positions are the same work and appear once.
  ASSERT_EQ(sweep["jobs"].size(), 6u);
  EXPECT_EQ(sweep["tokens"], 6000000);
  EXPECT_THAT(sweep["notes"].dump(), HasSubstr("NoPE, p=0"));
  const Json& job = sweep["jobs"][1];
  EXPECT_EQ(job["variant"], "RoPE");
  EXPECT_EQ(job["seed"], 0);
  EXPECT_EQ(job["key"].get<std::string>().size(), 64u);
  EXPECT_EQ(job["frequencies"], (Json::array({Json::array({1.0, 0.01})})));
  EXPECT_TRUE(JobConfigFromJson(job["config"]).ok());
}

TEST(OutputPlan, KeysAreNullWhereDataAreNotPrepared) {
  const Json json = Json::parse(Plan(kSweep, OutputFormat::kJson, false));
  EXPECT_TRUE(json["sweeps"][0]["jobs"][0]["key"].is_null());
  EXPECT_THAT(json["sweeps"][0]["notes"].dump(), HasSubstr("corpus:austen is not prepared"));
}

TEST(OutputPlan, SeveralSweeps) {
  const std::string two =
      std::string(kSweep) + "---\nsweep: other\nbase: {data: {train: corpus:austen}}\n";
  EXPECT_EQ(Json::parse(Plan(two, OutputFormat::kJson, false))["sweeps"].size(), 2u);
  EXPECT_THAT(Plan(two, OutputFormat::kTable, false), HasSubstr("\n\nother\n"));
}

TEST(OutputPlan, TheTrainerTakesAJobOfAPlanAsItStands) {
  const auto scratch = ScratchFolder::Create(testing::TempDir(), "plan");
  ASSERT_TRUE(scratch.ok()) << scratch.status();
  Json job = Json::parse(Plan(kSweep, OutputFormat::kJson, false))["sweeps"][0]["jobs"][0];
  // So that nothing is prepared.
  job["datasets"] = {{"train", std::string(64, '0')}, {"validation", Json::object()}};
  const auto file = scratch->path() / "job.json";
  ASSERT_TRUE(WriteFileAtomically(file, job.dump()).ok());
  const auto read = ReadJobFile(file, scratch->path(), {});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(ToJson(read->config), job["config"]);
}

// trainer.md's convention: S = 4 layers of 256, MLP of 4 x 256 in two matrices, context 256,
// vocabulary 512.
TEST(OutputPlan, OperationsOfAToken) {
  JobConfig config;
  config.model = {.vocab_size = 512,
                  .num_hidden_layers = 4,
                  .hidden_size = 256,
                  .intermediate_size = 1024,
                  .num_attention_heads = 4,
                  .num_key_value_heads = 4,
                  .head_dim = 64};
  config.data.context = 256;
  const double gated =
      6 * (4 * (4.0 * 256 * 256 + 3.0 * 256 * 1024) + 256.0 * 512) + 12.0 * 4 * 256 * 256;
  EXPECT_EQ(TrainingFlopsPerToken(config), gated);
  // With a plain MLP of two matrices the page counts 22.8 million.
  EXPECT_NEAR(TrainingFlopsPerToken(config) - 6 * 4.0 * 256 * 1024, 22.8e6, 0.05e6);
}

}  // namespace
}  // namespace gyre
