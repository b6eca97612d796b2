// `extends`: a file merged over others, with every fault in the file that has it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/sweeps/sweep_text.h"

namespace gyre {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Files by absolute path; the one that is parsed is /sweeps/child.yaml.
ParsedSweeps ParseWith(const std::string& child, const std::map<std::string, std::string>& files) {
  SpecOptions options = TestOptions("sweeps/child.yaml");
  options.read_file = [&files](const std::string& path) -> Result<std::string> {
    const auto found = files.find(path);
    if (found == files.end()) return NotFound("there is no " + path);
    return found->second;
  };
  return ParseSweeps(child, options);
}

SweepSpec OneWith(const std::string& child, const std::map<std::string, std::string>& files) {
  ParsedSweeps parsed = ParseWith(child, files);
  EXPECT_EQ(Diagnostics(parsed), "");
  return parsed.sweeps.empty() ? SweepSpec() : std::move(parsed.sweeps.front());
}

std::vector<std::string> NamesOf(const SweepSpec& sweep) {
  std::vector<std::string> names;
  for (const Variant& variant : sweep.variants) names.push_back(variant.name);
  return names;
}

constexpr char kParent[] =
    "sweep: parent\n"
    "question: Which?\n"
    "base:\n"
    "  data: {train: texts/a.txt, context: 256}\n"
    "  position: {theta: 20000}\n"
    "  train: {tokens: 4M, batch_tokens: 4Ki}\n"
    "variants:\n"
    "  NoPE: {position: {type: nope}}\n"
    "  RoPE: {position: {p: 0.5}}\n"
    "grid: {train.optimizer.lr: [1e-3, 2e-3], train.optimizer.eps: [1e-8, 1e-9]}\n"
    "seeds: 3\n"
    "resources: {cpus: 2, memory: 1GiB}\n"
    "baseline: NoPE\n";

TEST(ExtendsTest, TheNearerFileDecides) {
  const SweepSpec sweep = OneWith(
      "sweep: child\n"
      "extends: common/parent.yaml\n"
      "base: {position: {rope_theta: 5e5}, train: {tokens: 1M}}\n"
      "variants: {RoPE: {position: {keep: low}}, ALiBi: {position: {type: alibi}}}\n"
      "grid: {train.optimizer.eps: null}\n"
      "seeds: [7]\n"
      "resources: {cpus: 4}\n",
      {{"/sweeps/common/parent.yaml", kParent}});
  EXPECT_EQ(sweep.name, "child");
  EXPECT_EQ(sweep.question, "Which?");
  EXPECT_THAT(NamesOf(sweep), ElementsAre("NoPE lr=0.001", "NoPE lr=0.002", "RoPE lr=0.001",
                                          "RoPE lr=0.002", "ALiBi lr=0.001", "ALiBi lr=0.002"));
  const JobConfig& rope = sweep.variants[2].config;
  EXPECT_EQ(rope.position.common.theta, 5e5);
  EXPECT_EQ(rope.position.common.p, 0.5);
  EXPECT_EQ(rope.position.common.keep, "low");
  EXPECT_EQ(rope.train.tokens, 1000000);
  EXPECT_EQ(rope.train.batch_tokens, 4096);
  EXPECT_THAT(sweep.seeds, ElementsAre(7));
  EXPECT_EQ(sweep.resources.cpus, 4);
  EXPECT_EQ(sweep.resources.memory_bytes, int64_t{1} << 30);
  EXPECT_EQ(sweep.baselines, (std::vector<int>{-1, -1, 0, 1, 0, 1}));
}

TEST(ExtendsTest, StopEarlyIsMergedKeyByKey) {
  const std::map<std::string, std::string> files = {
      {"/sweeps/p.yaml", std::string(kParent) + "stop_early: {rule: median, grace: 100k}\n"}};
  const SweepSpec sweep =
      OneWith("sweep: child\nextends: p.yaml\nstop_early: {grace: 200k}\n", files);
  ASSERT_TRUE(sweep.stop_early.has_value());
  EXPECT_EQ(sweep.stop_early->rule, "median");
  EXPECT_EQ(sweep.stop_early->grace, 200000);
  EXPECT_FALSE(OneWith("sweep: child\nextends: p.yaml\nstop_early: null\n", files).stop_early);
}

TEST(ExtendsTest, PathsAreRelativeToTheFileThatSaysThem) {
  const SweepSpec sweep = OneWith(
      "sweep: child\n"
      "extends: common/parent.yaml\n"
      "base: {data: {validation: {own: here.txt}}}\n",
      {{"/sweeps/common/parent.yaml", kParent}});
  EXPECT_EQ(sweep.variants[0].config.data.train, "/sweeps/common/texts/a.txt");
  EXPECT_EQ(sweep.variants[0].config.data.validation["own"], "/sweeps/here.txt");
}

TEST(ExtendsTest, AnEmptyValueTakesAway) {
  const SweepSpec sweep = OneWith(
      "sweep: child\nextends: p.yaml\nvariants: {NoPE: null}\ngrid: null\nbaseline: null\n"
      "seeds: null\nresources: null\n",
      {{"/sweeps/p.yaml", kParent}});
  EXPECT_THAT(NamesOf(sweep), ElementsAre("RoPE"));
  EXPECT_THAT(sweep.seeds, ElementsAre(0));
  EXPECT_EQ(sweep.resources.cpus, 1);
  EXPECT_EQ(sweep.baseline, "");
  EXPECT_THAT(sweep.notes, testing::Contains("the variant NoPE of sweeps/p.yaml is left out"));
}

TEST(ExtendsTest, AZipOfTheOtherFileKeepsItsPlaceInNames) {
  EXPECT_THAT(NamesOf(OneWith("sweep: child\nextends: p.yaml\ngrid: {position.p: [1]}\n",
                              {{"/sweeps/p.yaml",
                                "base: {data: {train: corpus:austen}}\n"
                                "zip: {position.theta: [1e4], data.context: [64]}\n"}})),
              ElementsAre("theta=10000 context=64 p=1"));
}

// A key of two files under two spellings would be two axes of which the later silently wins.
TEST(ExtendsTest, AnotherSpellingOfAPathOfTheOtherFileIsRefused) {
  EXPECT_THAT(
      Diagnostics(ParseWith("sweep: child\nextends: p.yaml\ngrid: {position.theta: [1e5, 2e5]}\n"
                            "zip: {position.p: [1, 0.5]}\n",
                            {{"/sweeps/p.yaml",
                              "base: {data: {train: corpus:austen}}\n"
                              "grid: {position.rope_theta: [1e4, 2e4]}\n"}})),
      HasSubstr("sweeps/child.yaml:3:8: error: grid: 'position.theta' varies on line 2 of "
                "sweeps/p.yaml already"));
}

TEST(ExtendsTest, AChainIsMergedFromItsEnd) {
  const ParsedSweeps parsed =
      ParseWith("sweep: child\nextends: b.yaml\nbase: {data: {context: 64}}\n",
                {{"/sweeps/b.yaml",
                  "extends: lib/c.yaml\nbase: {data: {context: 128}, train: {tokens: 9k}}\n"},
                 {"/sweeps/lib/c.yaml", kParent}});
  ASSERT_EQ(Diagnostics(parsed), "");
  EXPECT_EQ(parsed.sweeps[0].variants[0].config.data.context, 64);
  EXPECT_EQ(parsed.sweeps[0].variants[0].config.train.tokens, 9000);
  EXPECT_EQ(parsed.extended.size(), 2u);
}

TEST(ExtendsTest, FaultsStandWhereTheyAre) {
  const std::string text = Diagnostics(ParseWith(
      "sweep: child\nextends: common/bad.yaml\nbase: {data: {contxt: 5}}\n",
      {{"/sweeps/common/bad.yaml", "base:\n  data: {train: corpus:austen, context: x}\n"}}));
  EXPECT_THAT(text, HasSubstr("sweeps/child.yaml:3:15: error: unknown key 'contxt'"));
  EXPECT_THAT(text, HasSubstr("sweeps/common/bad.yaml:2:41: error: data.context must be"));
  EXPECT_THAT(text, HasSubstr("    2 |   data: {train: corpus:austen, context: x}\n"));
}

// A fault of two files together is reported in the one that is merged over the other.
TEST(ExtendsTest, TheNearerFileIsToBlame) {
  EXPECT_THAT(Diagnostics(ParseWith("sweep: child\nextends: p.yaml\nbase: {data: {context: 300}}\n",
                                    {{"/sweeps/p.yaml", kParent}})),
              HasSubstr("sweeps/child.yaml:3:24: error: "));
}

TEST(ExtendsTest, WhatCannotBeExtended) {
  const auto says = [](const std::string& extends,
                       const std::map<std::string, std::string>& files) {
    return Diagnostics(ParseWith("sweep: child\nextends: " + extends + "\n", files));
  };
  EXPECT_THAT(says("none.yaml", {}),
              HasSubstr("sweeps/child.yaml:2:10: error: extends: 'none.yaml': there is no "
                        "/sweeps/none.yaml\n"));
  EXPECT_THAT(says("child.yaml", {}), HasSubstr("2:10: error: extends: the file extends itself"));
  EXPECT_THAT(
      says("a.yaml", {{"/sweeps/a.yaml", "extends: x/../b.yaml\n"},
                      {"/sweeps/b.yaml", "extends: child.yaml\n"}}),
      HasSubstr("sweeps/b.yaml:1:10: error: extends: 'child.yaml' extends this file already"));
  EXPECT_THAT(says("two.yaml", {{"/sweeps/two.yaml", "sweep: a\n---\nsweep: b\n"}}),
              HasSubstr("sweeps/two.yaml: error: a file that others extend has one sweep, and this "
                        "has 2"));
  EXPECT_THAT(says("e.yaml", {{"/sweeps/e.yaml", "# nothing\n"}}),
              HasSubstr("sweeps/e.yaml: error: the file is empty: there is nothing to extend"));
  EXPECT_THAT(says("u.yaml", {{"/sweeps/u.yaml", "base: {a: \xff}\n"}}),
              HasSubstr("sweeps/u.yaml:1:"));
  EXPECT_THAT(says("s.yaml", {{"/sweeps/s.yaml", "base: {\n"}}), HasSubstr("sweeps/s.yaml:1:"));
  EXPECT_THAT(says("[a, b]", {}), HasSubstr("2:10: error: extends must be text"));
  EXPECT_THAT(says("l.yaml", {{"/sweeps/l.yaml", "- 1\n"}}),
              HasSubstr("sweeps/l.yaml:1:1: error: a sweep must be a mapping"));
  EXPECT_THAT(says("big.yaml", {{"/sweeps/big.yaml", std::string(kMaxSweepFileBytes + 1, '#')}}),
              HasSubstr("error: extends: 'big.yaml': the files have more than"));
}

TEST(ExtendsTest, ALongChainIsRefused) {
  std::map<std::string, std::string> files;
  for (int i = 0; i < 20; ++i) {
    files["/sweeps/" + std::to_string(i) + ".yaml"] =
        "extends: " + std::to_string(i + 1) + ".yaml\n";
  }
  EXPECT_THAT(Diagnostics(ParseWith("sweep: child\nextends: 0.yaml\n", files)),
              HasSubstr("sweeps/7.yaml:1:10: error: extends: more than 8 files"));
}

TEST(ExtendsTest, SweepsOfOneFileMayShareWhatTheyExtend) {
  const ParsedSweeps parsed =
      ParseWith("sweep: a\nextends: p.yaml\n---\nsweep: b\nextends: p.yaml\nseeds: 1\n",
                {{"/sweeps/p.yaml", kParent}});
  ASSERT_EQ(Diagnostics(parsed), "");
  ASSERT_EQ(parsed.sweeps.size(), 2u);
  EXPECT_EQ(parsed.sweeps[0].jobs.size(), 24u);
  EXPECT_EQ(parsed.sweeps[1].jobs.size(), 8u);
}

}  // namespace
}  // namespace gyre
