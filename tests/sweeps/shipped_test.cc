// Every shipped sweep plans without a fault and opens with a comment that says its question, what
// to expect and its cost.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sweeps/sweep_text.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;

std::string TextOf(const fs::path& path) {
  const auto text = ReadFile(path);
  EXPECT_TRUE(text.ok()) << text.status();
  return text.ok() ? *text : "";
}

// Files that it extends are read, too.
SweepSpec Planned(const fs::path& path) {
  SpecOptions options = TestOptions(path);
  options.folder = (fs::current_path() / path).parent_path();
  options.read_file = [](const std::string& other) { return ReadFile(other); };
  ParsedSweeps parsed = ParseSweeps(TextOf(path), options);
  EXPECT_EQ(Diagnostics(parsed), "") << path;
  return parsed.sweeps.size() == 1 ? std::move(parsed.sweeps.front()) : SweepSpec();
}

TEST(ShippedSweepsTest, AllPlan) {
  int files = 0;
  for (const auto& entry : fs::directory_iterator("sweeps")) {
    if (entry.path().extension() != ".yaml") continue;
    ++files;
    const std::string text = TextOf(entry.path());
    const SweepSpec sweep = Planned(entry.path());
    EXPECT_EQ(sweep.name, entry.path().stem().string());
    EXPECT_FALSE(sweep.question.empty()) << entry.path();
    const std::string comment = text.substr(0, text.find("\nsweep:"));
    EXPECT_THAT(comment, testing::StartsWith("# "));
    EXPECT_THAT(comment, testing::HasSubstr("To expect:"));
    EXPECT_THAT(comment, testing::HasSubstr("Costs:"));
  }
  EXPECT_GE(files, 3);
}

TEST(ShippedSweepsTest, QuickStart) {
  const SweepSpec sweep = ParseOne(TextOf("sweeps/quickstart.yaml"));
  EXPECT_EQ(UniqueJobs(sweep), 12);
  EXPECT_THAT(sweep.baselines, testing::ElementsAre(1, -1, 1, 1));
}

// At each of its points two of the quick start's encodings.
TEST(ShippedSweepsTest, TheSearchAroundTheQuickStart) {
  const SweepSpec start = ParseOne(TextOf("sweeps/quickstart.yaml"));
  const SweepSpec search = Planned("sweeps/quickstart-search.yaml");
  ASSERT_EQ(search.variants.size(), 16u);
  EXPECT_EQ(UniqueJobs(search), 16);
  for (size_t i = 0; i < 16; ++i) {
    const JobConfig& config = search.variants[i].config;
    EXPECT_EQ(config.position.common.type, start.variants[i / 8].config.position.common.type);
    EXPECT_EQ(config.train.tokens, start.variants[0].config.train.tokens);
    EXPECT_EQ(search.baselines[i], i < 8 ? static_cast<int>(i + 8) : -1);
  }
}

// The seven rows of the paper's table, and its scale.
TEST(ShippedSweepsTest, TableTwoAndItsTwin) {
  const SweepSpec small = ParseOne(TextOf("sweeps/table-2.yaml"));
  const SweepSpec large = ParseOne(TextOf("sweeps/table-2-2b.yaml"));
  ASSERT_EQ(small.variants.size(), 7u);
  ASSERT_EQ(large.variants.size(), 7u);
  for (size_t i = 0; i < 7; ++i) {
    EXPECT_EQ(small.variants[i].name, large.variants[i].name);
    EXPECT_EQ(ToJson(small.variants[i].config)["position"],
              ToJson(large.variants[i].config)["position"]);
    EXPECT_EQ(ParameterCount(large.variants[i].config.model), 524550144 + int64_t{1981884416});
    EXPECT_EQ(TotalSteps(large.variants[i].config.train), 10000);
  }
  EXPECT_EQ(UniqueJobs(small), 35);
}

// So that p-grid takes the jobs of its ends from table-2, where both share a database.
TEST(ShippedSweepsTest, TheEndsOfThePGridAreRowsOfTableTwo) {
  const SweepSpec table = ParseOne(TextOf("sweeps/table-2.yaml"));
  const SweepSpec grid = ParseOne(TextOf("sweeps/p-grid.yaml"));
  ASSERT_EQ(grid.variants.size(), 11u);
  EXPECT_EQ(UniqueJobs(grid), 33);
  EXPECT_EQ(table.variants[1].name, "RoPE-10k");
  EXPECT_EQ(ToJson(grid.variants.back().config), ToJson(table.variants[1].config));
}

TEST(ShippedSweepsTest, BothColumnsOfTableTwoHaveTheSameRows) {
  const SweepSpec novels = ParseOne(TextOf("sweeps/table-2.yaml"));
  const SweepSpec instructions = ParseOne(TextOf("sweeps/table-2-instructions.yaml"));
  ASSERT_EQ(instructions.variants.size(), novels.variants.size());
  for (size_t i = 0; i < novels.variants.size(); ++i) {
    EXPECT_EQ(instructions.variants[i].name, novels.variants[i].name);
    EXPECT_EQ(ToJson(instructions.variants[i].config)["position"],
              ToJson(novels.variants[i].config)["position"]);
    EXPECT_EQ(ToJson(instructions.variants[i].config)["model"],
              ToJson(novels.variants[i].config)["model"]);
  }
}

}  // namespace
}  // namespace gyre
