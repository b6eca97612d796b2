#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/sweeps/sweep_text.h"

namespace gyre {
namespace {

std::string KeyWith(const std::string& rest, const std::string& tail = "") {
  const SweepSpec sweep =
      ParseOne("sweep: t\nbase:\n  data: {train: corpus:austen}\n" + rest + tail);
  return sweep.jobs.empty() ? "" : sweep.jobs.front().key;
}

TEST(IdentityTest, TheEffectOfAPositionBlockCounts) {
  const std::string rope = KeyWith("");
  EXPECT_EQ(KeyWith("  position: {p: 1}\n"), rope);
  EXPECT_EQ(KeyWith("  position: {p: 1, keep: low}\n"), rope);
  EXPECT_EQ(KeyWith("  position: {spacing: respaced}\n"), rope);
  EXPECT_EQ(KeyWith("  position: {band: [0, 32]}\n"), rope);
  EXPECT_EQ(KeyWith("  position: {scaling: {type: linear, factor: 1}}\n"), rope);
  EXPECT_EQ(KeyWith("  position: {p: 0.99999, theta: 1e4, layers: [{layers: 0-last, p: 1}]}\n"),
            rope);
  const std::string nope = KeyWith("  position: {type: nope}\n");
  EXPECT_NE(nope, rope);
  EXPECT_EQ(KeyWith("  position: {p: 0}\n"), nope);
  EXPECT_EQ(KeyWith("  position: {type: nope, theta: 77, p: 0.5}\n"), nope);
  EXPECT_EQ(KeyWith("  position: {type: nope, pairing: interleaved}\n"), nope);
  EXPECT_EQ(KeyWith("  position: {no_rope_layers: [0, 0, 0, 0]}\n"), nope);
  // Keeping none of the dynamic frequencies is no rule either.
  EXPECT_EQ(KeyWith("  position: {p: 0, scaling: {type: dynamic, factor: 2, "
                    "original_max_position_embeddings: 64}}\n"),
            nope);
}

TEST(IdentityTest, WhatIsDifferentWork) {
  std::set<std::string> keys;
  const std::vector<std::string> different = {
      "",
      "  position: {p: 0.75}\n",
      "  position: {p: 0.75, keep: low}\n",
      "  position: {p: 0.75, spacing: respaced}\n",
      "  position: {theta: 500000}\n",
      "  position: {pairing: interleaved}\n",
      "  position: {type: alibi}\n",
      "  position: {layers: [{layers: 1, type: nope}]}\n",
      "  position: {layers: [{layers: 2, type: nope}]}\n",
      "  model: {sliding_window: 64}\n",
      "  model: {qk_norm: true}\n",
      "  model: {mlp: plain}\n",
      "  train: {precision: bf16}\n",
      "  train: {tokens: 10M}\n",
      "  train: {micro_batch: 1}\n",
      "  train: {optimizer: {lr: 2e-3}}\n",
      "  evaluate: {every: 2M}\n",
      "  evaluate: {contexts: [1024]}\n",
      "  evaluate: {positions: [0, 1024]}\n",
      "  evaluate: {document_lengths: [0, 1024]}\n",
      "  statistics: {every: 2M}\n",
      "  statistics: {sequences: 8}\n",
      "  statistics: {collect: [head_scores]}\n",
      "  statistics: {collect: []}\n",
      // The same frequencies up to the original length, another rule beyond it.
      "  position: {scaling: {type: dynamic, factor: 2, original_max_position_embeddings: 512}}\n",
      "  position: {scaling: {type: dynamic, factor: 4, original_max_position_embeddings: 512}}\n",
      "  position: {scaling: {type: yarn, factor: 4, original_max_position_embeddings: 512}}\n",
  };
  for (const std::string& rest : different) EXPECT_TRUE(keys.insert(KeyWith(rest)).second) << rest;
}

TEST(IdentityTest, WeightsCountByTheirContent) {
  const auto key = [](const std::string& from, const std::string& hash) {
    SpecOptions options = TestOptions();
    options.initial_weights = [&](const std::string&) -> Result<std::optional<InitialWeights>> {
      return std::optional<InitialWeights>(InitialWeights{hash, {}, {}});
    };
    const ParsedSweeps parsed = ParseSweeps(
        "sweep: t\nbase: {data: {train: corpus:austen}, train: {init_from: " + from + "}}\n",
        options);
    EXPECT_EQ(Diagnostics(parsed), "");
    return parsed.sweeps.at(0).jobs.at(0).key;
  };
  EXPECT_EQ(key("here", "abc"), key("checkpoint:3", "abc"));
  EXPECT_NE(key("here", "abc"), key("here", "def"));
  EXPECT_NE(key("here", "abc"), KeyWith(""));
  EXPECT_EQ(key("here", ""), "") << "no key while the weights are not known";
}

TEST(IdentityTest, ASwitchIsARule) {
  const auto switched = [](const std::string& text) {
    return KeyWith("  position: {theta: 10000, switch: " + text + "}\n");
  };
  const std::string once = switched("{at: 1M, to: {p: 0.75}}");
  // 1M is no multiple of the batch's 16,384 tokens: what counts is the step.
  EXPECT_EQ(switched("[{at: 999_999, to: {p: 75%, theta: 1e4}}]"), once);
  EXPECT_EQ(switched("[{at: 999_998, to: {p: 0}}, {at: 1M, to: {p: 0.75}}]"), once);
  EXPECT_EQ(switched("{at: 1M, to: {p: 1}}"), KeyWith(""));
  std::set<std::string> keys = {once, KeyWith(""), KeyWith("  position: {p: 0.75}\n")};
  for (const char* other : {"{at: 2M, to: {p: 0.75}}", "{at: 1M, to: {p: 0.5}}",
                            "[{at: 1M, to: {p: 0.75}}, {at: 2M, to: {p: 1}}]"}) {
    EXPECT_TRUE(keys.insert(switched(other)).second) << other;
  }
}

// As they were made when kNumericsVersion became 2: results of existing jobs are found again.
TEST(IdentityTest, KeysOfJobsThatSayNothingNewStay) {
  const std::string nothing = "  statistics: {collect: [], every: 3M, sequences: 4}\n";
  EXPECT_EQ(KeyWith(nothing), "c7cef2da9df15fe865b2d4932da36fda6a617ed40966de3865bf492e5e74f6e9");
  EXPECT_EQ(KeyWith("  position: {p: 0.75, layers: [{layers: 1, type: nope}]}\n" + nothing),
            "9b4479b56dd2610387098d547042b6354d1b9fd80c0c9a4e2307b5abd0177e26");
}

TEST(IdentityTest, WhatChangesNoPoint) {
  const std::string key = KeyWith("");
  EXPECT_EQ(KeyWith("  train: {checkpoint_every: 5M}\n"), key);
  EXPECT_EQ(KeyWith("  train: {recompute: layers}\n"), key);
  EXPECT_EQ(KeyWith("", "priority: 3\nretry: {attempts: 9}\ntimeout: 3h\nresources: {cpus: 2}\n"),
            key);
  EXPECT_EQ(KeyWith("", "variants: {another-name: {}}\n"), key);
}

TEST(IdentityTest, WeightsOfTextsCountAsShares) {
  const auto key = [](const std::string& train) {
    return ParseOne("sweep: t\nbase: {data: {train: " + train + "}}\n").jobs.at(0).key;
  };
  const auto three = [&](const char* a, const char* b, const char* c) {
    return key(std::string("[{source: a.txt, weight: ") + a + "}, {source: b.txt, weight: " + b +
               "}, {source: c.txt, weight: " + c + "}]");
  };
  const std::string shares = three("7", "2", "1");
  EXPECT_EQ(three("0.7", "0.2", "0.1"), shares);
  EXPECT_EQ(three("2.1", "0.6", "0.3"), shares);
  EXPECT_NE(three("7", "1", "2"), shares);
  EXPECT_EQ(key("[{source: a.txt, weight: 5}]"), key("a.txt"));
}

TEST(IdentityTest, SeedsAndDataAreInTheKey) {
  const SweepSpec sweep = ParseOne("sweep: t\nbase: {data: {train: corpus:austen}}\nseeds: 2\n");
  EXPECT_NE(sweep.jobs[0].key, sweep.jobs[1].key);
  const Variant& variant = sweep.variants[0];
  EXPECT_EQ(sweep.jobs[1].key,
            JobKey(variant, 1, variant.train_dataset, variant.validation_datasets));
  EXPECT_NE(JobKey(variant, 0, "x", {{"austen", "y"}}), JobKey(variant, 0, "z", {{"austen", "y"}}));
  EXPECT_NE(JobKey(variant, 0, "x", {{"austen", "y"}}), JobKey(variant, 0, "x", {{"austen", "z"}}));
  EXPECT_NE(JobKey(variant, 0, "x", {{"austen", "y"}}), JobKey(variant, 0, "x", {{"other", "y"}}));
}

TEST(IdentityTest, TwinsPointToTheFirstOfTheirSeed) {
  const SweepSpec sweep = ParseOne(
      "sweep: t\nbase: {data: {train: corpus:austen}}\n"
      "variants: {A: {position: {p: 0}}, B: {}, C: {position: {type: nope}}, D: {position: {p: "
      "1}}}\nseeds: 2\n");
  std::vector<int> twins;
  for (const Job& job : sweep.jobs) twins.push_back(job.twin_of.value_or(-1));
  EXPECT_THAT(twins, testing::ElementsAre(-1, -1, 0, 1, -1, -1, 4, 5));
  EXPECT_EQ(sweep.jobs[2].key, sweep.jobs[0].key);
}

}  // namespace
}  // namespace gyre
