// `sample`: what a draw depends on, and what it does not.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/sweeps/sweep_text.h"

namespace gyre {
namespace {

std::string Sweep(const std::string& rest) {
  return "sweep: t\nbase: {data: {train: corpus:austen}, train: {tokens: 1M}}\n" + rest;
}

std::vector<double> RatesOf(const std::string& rest) {
  std::vector<double> rates;
  for (const Variant& variant : ParseOne(Sweep(rest)).variants) {
    rates.push_back(variant.config.train.optimizer.lr);
  }
  return rates;
}

constexpr char kRate[] = "train.optimizer.lr: {log_range: [1e-4, 1e-2]}";

TEST(SampleTest, MorePointsKeepTheFirstOnes) {
  const auto few = RatesOf("grid: {" + std::string(kRate) + "}\nsample: {count: 5}\n");
  auto many = RatesOf("grid: {" + std::string(kRate) + "}\nsample: {count: 9}\n");
  ASSERT_EQ(many.size(), 9u);
  many.resize(5);
  EXPECT_EQ(few, many);
}

TEST(SampleTest, AnotherSeedGivesOtherPoints) {
  EXPECT_NE(RatesOf("grid: {" + std::string(kRate) + "}\nsample: {count: 5, seed: 1}\n"),
            RatesOf("grid: {" + std::string(kRate) + "}\nsample: {count: 5, seed: 2}\n"));
}

TEST(SampleTest, AnotherAxisChangesNoValueOfTheOthers) {
  EXPECT_EQ(RatesOf("grid: {" + std::string(kRate) + "}\nsample: {count: 5}\n"),
            RatesOf("grid: {position.theta: {log_range: [1e3, 1e6]}, " + std::string(kRate) +
                    "}\nsample: {count: 5}\n"));
}

// facebookresearch/DomainBed#111: the seed of a job draws nothing but its weights and data.
TEST(SampleTest, SeedsOfJobsChangeNoPoint) {
  const std::string grid = "grid: {" + std::string(kRate) + "}\nsample: {count: 5}\n";
  EXPECT_EQ(RatesOf(grid + "seeds: [1]\n"), RatesOf(grid + "seeds: [5, 6]\n"));
}

TEST(SampleTest, ALogRangeIsDrawnEvenlyByItsLogarithm) {
  int below = 0;
  const auto rates = RatesOf("grid: {" + std::string(kRate) + "}\nsample: {count: 1000}\n");
  for (const double rate : rates) {
    EXPECT_GE(rate, 1e-4);
    EXPECT_LE(rate, 1e-2);
    below += rate < 1e-3;
  }
  EXPECT_NEAR(below, 500, 50);
}

// wandb/wandb#2317: what is counted is drawn as a whole number, both ends as likely as the rest.
TEST(SampleTest, WholeNumbersAreAllAsLikely) {
  std::map<int, int> layers;
  const SweepSpec sweep = ParseOne(Sweep("grid: {model.num_hidden_layers: {range: [2, 5]}, " +
                                         std::string(kRate) + "}\nsample: {count: 2000}\n"));
  for (const Variant& variant : sweep.variants) ++layers[variant.config.model.num_hidden_layers];
  ASSERT_EQ(layers.size(), 4u);
  for (const auto& [number, count] : layers) EXPECT_NEAR(count, 500, 80) << number;
}

std::vector<std::string> NamesDrawn(int count, int seed) {
  const SweepSpec sweep = ParseOne(Sweep(
      "grid: {train.optimizer.lr: {log_range: [1e-4, 1e-2], count: 20}, position.p: [0.5, 1]}\n"
      "sample: {count: " +
      std::to_string(count) + ", seed: " + std::to_string(seed) + "}\n"));
  std::vector<std::string> names;
  for (const Variant& variant : sweep.variants) names.push_back(variant.name);
  return names;
}

// optuna/optuna#4726: never the same point twice.
TEST(SampleTest, PointsOfAGridAreDistinctAndThoseOfTheSeed) {
  for (int seed = 0; seed < 20; ++seed) {
    const std::vector<std::string> names = NamesDrawn(39, seed);
    EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), 39u) << seed;
    EXPECT_EQ(names, NamesDrawn(39, seed));
  }
}

TEST(SampleTest, ALargerCountOfAGridBeginsWithTheSamePoints) {
  const std::vector<std::string> many = NamesDrawn(30, 3);
  ASSERT_EQ(many.size(), 30u);
  for (int count = 1; count < 30; ++count) {
    EXPECT_EQ(NamesDrawn(count, 3), std::vector<std::string>(many.begin(), many.begin() + count));
  }
}

TEST(SampleTest, EveryPointIsDrawnAboutAsOften) {
  std::multiset<std::string> drawn;
  for (int seed = 0; seed < 400; ++seed) {
    for (const std::string& name : NamesDrawn(10, seed)) drawn.insert(name);
  }
  // 40 points, each expected 100 times with a deviation of 8.7.
  const std::set<std::string> points(drawn.begin(), drawn.end());
  EXPECT_EQ(points.size(), 40u);
  for (const std::string& name : points) {
    EXPECT_GT(drawn.count(name), 60u) << name;
    EXPECT_LT(drawn.count(name), 140u) << name;
  }
}

TEST(SampleTest, ASmallGridIsTakenWhole) {
  const SweepSpec sweep = ParseOne(Sweep(
      "grid: {data.context: [128, 256, 512], position.theta: [1e4, 5e5]}\nsample: {count: 6}\n"));
  std::set<std::string> names;
  for (const Variant& variant : sweep.variants) names.insert(variant.name);
  EXPECT_EQ(names.size(), 6u);
}

}  // namespace
}  // namespace gyre
