// Size: large sweeps are planned, too large ones refused before they are built, and no text hangs
// the parser.

#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/sweeps/sweep_text.h"

namespace gyre {
namespace {

std::string Repeat(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

std::string FirstFault(const std::string& text) {
  const ParsedSweeps parsed = Parse(text);
  return parsed.diagnostics.empty() ? "none" : parsed.diagnostics.front().message;
}

// optuna/optuna#4726: a grid of 2^30 points is built, and takes all memory.
TEST(LimitsTest, TooManyJobsAreCountedBeforeTheyAreBuilt) {
  const std::string head = "sweep: t\nbase: {data: {train: corpus:austen}}\n";
  EXPECT_EQ(FirstFault(head + "seeds: 100001\n"),
            "the sweep expands to 100,001 jobs, more than the 100,000 that --max-jobs allows");
  EXPECT_EQ(
      FirstFault(head +
                 "grid: {train.optimizer.lr: {range: [1e-4, 1e-3], count: 1e12}}\nseeds: 1e12\n"),
      "the sweep expands to more than 10^18 jobs, more than the 100,000 that --max-jobs allows");
  SpecOptions options = TestOptions();
  options.max_jobs = 10;
  EXPECT_TRUE(ParseSweeps(head + "seeds: 10\n", options).diagnostics.empty());
  EXPECT_EQ(ParseSweeps(head + "seeds: 11\n", options).diagnostics.size(), 1u);
  // All documents of a file together.
  EXPECT_EQ(ParseSweeps(
                head + "seeds: 6\n---\nsweep: u\nbase: {data: {train: corpus:austen}}\nseeds: 6\n",
                options)
                .diagnostics.size(),
            1u);
}

TEST(LimitsTest, FaultsOfVariantsAreFoundBesideATooLargeGrid) {
  const ParsedSweeps parsed = Parse(
      "sweep: t\nbase: {data: {train: corpus:austen}}\nvariants: {A: {train: {batch_tokens: "
      "1000}}}\n"
      "grid: {train.optimizer.lr: {range: [1e-4, 1e-3], count: 1e9}}\n");
  EXPECT_EQ(parsed.diagnostics.size(), 2u) << Diagnostics(parsed);
}

TEST(LimitsTest, HundredThousandSeedsShareAConfiguration) {
  const SweepSpec sweep =
      ParseOne("sweep: t\nbase: {data: {train: corpus:austen}}\nseeds: 100000\n");
  EXPECT_EQ(sweep.jobs.size(), 100000u);
  EXPECT_EQ(sweep.variants.size(), 1u);
}

TEST(LimitsTest, NamesOfManyPointsAreDistinct) {
  const SweepSpec sweep = ParseOne(
      "sweep: t\nbase: {data: {train: corpus:austen}}\n"
      "grid: {train.optimizer.lr: {range: [1e-3, 1.0001e-3], count: 1000}}\n");
  EXPECT_EQ(sweep.variants.size(), 1000u);
}

TEST(LimitsTest, Sizes) {
  EXPECT_NE(FirstFault(std::string(kMaxSweepFileBytes + 1, 'a')).find("8,388,609 bytes"),
            std::string::npos);
  EXPECT_EQ(FirstFault("a: " + Repeat("[", 100000)), "nested deeper than 64 levels");
  EXPECT_EQ(FirstFault("a: " + Repeat("{a: ", 100000)), "nested deeper than 64 levels");
  EXPECT_EQ(FirstFault(Repeat("- ", 100000)), "nested deeper than 64 levels");
  EXPECT_NE(FirstFault("a: [" + Repeat("1,", 1100000) + "]").find("more than 1,000,000 values"),
            std::string::npos);
  EXPECT_NE(FirstFault(""), "none");
  EXPECT_NE(FirstFault("\n\n# only\n"), "none");
  EXPECT_NE(FirstFault("---\n---\n...\n"), "none");
}

// Whatever the text: an answer, with faults or without, and places that exist.
TEST(LimitsTest, MutilatedFilesGetAnAnswer) {
  std::vector<std::string> texts;
  for (const auto& entry : std::filesystem::directory_iterator("tests/sweeps/cases")) {
    if (std::filesystem::file_size(entry.path()) > 4000) continue;
    texts.push_back(*ReadFile(entry.path()));
  }
  constexpr std::string_view kSpice = "{}[]:,-&*!|>'\"%@`#?\n\t <~0x.e\xFF\xC3";
  const Random random(7, "mutilation");
  for (uint64_t round = 0; round < 1500; ++round) {
    const auto draw = [&](uint64_t what, size_t below) {
      return static_cast<size_t>(random.Below(below, round, what));
    };
    std::string text = texts[draw(0, texts.size())];
    for (size_t i = 0; i < 1 + draw(1, 4); ++i) {
      const size_t at = draw(10 + 3 * i, text.size() + 1);
      if (draw(11 + 3 * i, 2) == 0) {
        text.insert(at, 1, kSpice[draw(12 + 3 * i, kSpice.size())]);
      } else {
        text.erase(at, 1 + draw(12 + 3 * i, 5));
      }
    }
    const ParsedSweeps parsed = Parse(text);
    EXPECT_EQ(parsed.sweeps.empty(), !parsed.diagnostics.empty()) << text;
    for (const Diagnostic& diagnostic : parsed.diagnostics)
      EXPECT_NE(FormatDiagnostic(diagnostic), "");
  }
}

}  // namespace
}  // namespace gyre
