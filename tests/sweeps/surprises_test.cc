// What surprised the users of other systems' sweep files.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sweeps/sweep_text.h"

namespace gyre {
namespace {

using testing::HasSubstr;

const char kHead[] = "sweep: t\nbase:\n  data: {train: corpus:austen}\n";

std::string Faults(const std::string& rest) { return Diagnostics(Parse(kHead + rest)); }

// wandb/wandb#1129: 1e-4 becomes a text.
TEST(SurprisesTest, ScientificNotationIsANumber) {
  const SweepSpec sweep =
      ParseOne(std::string(kHead) + "grid: {train.optimizer.lr: [1e-4, 1E-3, 0.01]}\n");
  ASSERT_EQ(sweep.variants.size(), 3u);
  EXPECT_EQ(sweep.variants[0].config.train.optimizer.lr, 1e-4);
  EXPECT_EQ(sweep.variants[1].config.train.optimizer.lr, 1e-3);
}

// jbeder/yaml-cpp#60, jbeder/yaml-cpp#826, flow123d/flow123d#1219, yaml/pyyaml#41: of a key that
// stands twice, one is taken, and nobody says which.
TEST(SurprisesTest, AKeyThatStandsTwiceIsAnErrorAlsoBehindAnAnchor) {
  EXPECT_THAT(Faults("variants:\n  A: {}\n  B: {}\n  A: {}\n"),
              HasSubstr("sweep.yaml:7:3: error: duplicate key 'A', first on line 5"));
  EXPECT_THAT(Faults("variants:\n  A: &a\n    position: {p: 0.5, theta: 2, p: 0.75}\n  B: *a\n"),
              HasSubstr("duplicate key 'p', first on line 6"));
}

// wandb/wandb#3398: a key that is wrong by one character is an opaque error of the server.
TEST(SurprisesTest, AKeyThatIsNearlyRightIsNamedWithItsLine) {
  const std::string faults = Faults("\"seeds:\": 3\n");
  EXPECT_THAT(faults, HasSubstr("sweep.yaml:4:1: error: unknown key 'seeds:'"));
  EXPECT_THAT(faults, HasSubstr("did you mean 'seeds'?"));
}

// wandb/wandb#1700, wandb/wandb#1323: an axis of booleans.
TEST(SurprisesTest, AnAxisOfBooleansHasBoth) {
  const SweepSpec sweep = ParseOne(std::string(kHead) + "grid: {model.qk_norm: [true, false]}\n");
  ASSERT_EQ(sweep.variants.size(), 2u);
  EXPECT_TRUE(sweep.variants[0].config.model.qk_norm);
  EXPECT_FALSE(sweep.variants[1].config.model.qk_norm);
}

// facebookresearch/hydra#3106: of two overrides inside one mapping, only the last is swept.
TEST(SurprisesTest, TwoAxesInsideOneMappingAreAProduct) {
  const SweepSpec sweep = ParseOne(
      std::string(kHead) + "grid: {position.p: [0.5, 1], position.theta: [10000, 20000]}\n");
  ASSERT_EQ(sweep.variants.size(), 4u);
  EXPECT_EQ(sweep.variants[1].config.position.common.p, 0.5);
  EXPECT_EQ(sweep.variants[1].config.position.common.theta, 20000);
  EXPECT_EQ(sweep.variants[2].config.position.common.p, 1);
  EXPECT_EQ(sweep.variants[2].config.position.common.theta, 10000);
}

// facebookresearch/hydra#3231: a setting of the launcher inside a swept configuration does nothing.
TEST(SurprisesTest, WhatCannotActWhereItStandsIsRefused) {
  for (const char* key : {"resources: {cpus: 2}", "retry: {attempts: 2}", "priority: 3"}) {
    EXPECT_THAT(Faults("variants:\n  A: {" + std::string(key) + "}\n"), HasSubstr("unknown key"))
        << key;
  }
  EXPECT_THAT(Faults("grid: {resources.cpus: [1, 2]}\n"), HasSubstr("error:"));
}

}  // namespace
}  // namespace gyre
