#include "coordinator/stop_early.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace gyre {
namespace {

using testing::HasSubstr;

StopEarlyRule Asha() { return {.rule = "asha", .metric = "a/loss_sample", .grace = 100}; }
StopEarlyRule Median() { return {.rule = "median", .metric = "a/loss_sample", .grace = 100}; }

/// A value at 0, 50, 100, ... tokens.
Curve Line(std::vector<double> values) {
  Curve curve;
  for (size_t i = 0; i < values.size(); ++i) curve[static_cast<int64_t>(i) * 50] = values[i];
  return curve;
}

std::string Why(const StopEarlyRule& rule, const Curve& own, const std::vector<Curve>& others) {
  std::vector<const Curve*> pointers;
  for (const Curve& other : others) pointers.push_back(&other);
  return WhyStopEarly(rule, own, pointers);
}

TEST(StopEarly, NothingIsStoppedBeforeGrace) {
  const std::vector<Curve> good(9, Line({5, 1, 1, 1}));
  EXPECT_EQ(Why(Asha(), {}, good), "");
  EXPECT_EQ(Why(Asha(), Line({5, 9}), good), "");
  EXPECT_EQ(Why(Median(), Line({5, 9}), good), "");
  EXPECT_NE(Why(Asha(), Line({5, 9, 9}), good), "");
  EXPECT_NE(Why(Median(), Line({5, 9, 9}), good), "");
}

TEST(StopEarly, AshaLetsOneInThreeGoOnAndSaysWhy) {
  const std::vector<Curve> others = {Line({5, 4, 3}), Line({5, 4, 2})};
  EXPECT_EQ(Why(Asha(), Line({5, 4, 1}), others), "");
  EXPECT_EQ(Why(Asha(), Line({5, 4, 2.5}), others),
            "asha: at 100 tokens its a/loss_sample, 2.5000, is number 2 of the 3 jobs of its seed "
            "that have come so far, and the best goes on");
  std::vector<Curve> six(4, Line({5, 4, 3}));
  six.push_back(Line({5, 4, 2}));
  EXPECT_EQ(Why(Asha(), Line({5, 4, 2.5}), six), "");  // second of six
  EXPECT_THAT(Why(Asha(), Line({5, 4, 3.5}), six), HasSubstr("and the best 2 go on"));
}

TEST(StopEarly, AshaJudgesNobodyUntilEnoughAreThere) {
  EXPECT_EQ(Why(Asha(), Line({5, 4, 9}), {Line({5, 4, 1}), Line({5, 1})}), "");
  EXPECT_EQ(Why(Asha(), Line({5, 4, 9}), {}), "");
}

TEST(StopEarly, AshaLooksAtTheLastPlaceThatWasReached) {
  // 100, 300, 900, ...: at 250 it is still about 100, at 300 about 300, where two others are.
  const Curve slow = Line({5, 4, 2, 2, 2, 2}), late = Line({5, 4, 2, 2, 2, 2, 1.5});
  const std::vector<Curve> others = {Line({5, 4, 3, 1, 1, 1, 1}), Line({5, 4, 3, 1, 1, 1, 1})};
  EXPECT_EQ(Why(Asha(), slow, others), "");
  EXPECT_THAT(Why(Asha(), late, others), HasSubstr("at 300 tokens its a/loss_sample, 1.5000"));
}

TEST(StopEarly, EqualJobsGoOnTogether) {
  const std::vector<Curve> others(5, Line({5, 4, 3}));
  EXPECT_EQ(Why(Asha(), Line({5, 4, 3}), others), "");
  EXPECT_EQ(Why(Median(), Line({5, 4, 3}), others), "");
}

TEST(StopEarly, WhatIsNotFiniteIsWorst) {
  const std::vector<Curve> others = {Line({5, 4, 3}), Line({5, 4, 2})};
  EXPECT_THAT(Why(Asha(), Line({5, 4, NAN}), others), HasSubstr("which is not finite"));
  EXPECT_NE(Why(Median(), Line({5, 4, INFINITY}), others), "");
  EXPECT_EQ(Why(Asha(), Line({5, 4, 9}), {Line({5, 4, NAN}), Line({5, 4, NAN})}), "");
}

TEST(StopEarly, MedianComparesTheBestWithWhatOthersHadOnAverageUntilThen) {
  // From 100 tokens on until 200 the others had 3, 4 and 6 on average: the median is 4.
  const std::vector<Curve> others = {Line({9, 9, 4, 3, 2, 0}), Line({9, 9, 5, 4, 3, 0}),
                                     Line({9, 9, 7, 6, 5, 0})};
  EXPECT_EQ(Why(Median(), Line({9, 9, 8, 4, 8}), others), "");
  EXPECT_EQ(Why(Median(), Line({9, 9, 8, 4.5, 8}), others),
            "median: after 200 tokens its best a/loss_sample, 4.5000, is above 4.0000, the median "
            "of what the 3 other jobs of its seed had on average");
  // Those that have not come as far do not count.
  EXPECT_EQ(Why(Median(), Line({9, 9, 8, 8, 8}), {Line({9, 9, 1, 1, 1}), Line({9, 9, 1, 1})}), "");
}

TEST(StopEarly, TheRuleComesBackAsItWasKept) {
  const auto kept = StopEarlyFromJson(StopEarlyToJson(
      StopEarlyRule{.rule = "median", .metric = "ü/loss_sample", .grace = 7, .reduction = 4}));
  ASSERT_TRUE(kept.ok() && kept->has_value());
  EXPECT_EQ((*kept)->rule, "median");
  EXPECT_EQ((*kept)->metric, "ü/loss_sample");
  EXPECT_EQ((*kept)->grace, 7);
  EXPECT_EQ((*kept)->reduction, 4);
  EXPECT_EQ(StopEarlyToJson(std::nullopt), "");
  EXPECT_FALSE(StopEarlyFromJson("")->has_value());
  for (const char* bad : {"{", "[]", "{}", R"({"rule":1,"metric":"","grace":1,"reduction":2})",
                          R"({"rule":"asha","metric":"m","grace":0,"reduction":2})"}) {
    EXPECT_EQ(StopEarlyFromJson(bad).status().code(), StatusCode::kDataLoss) << bad;
  }
}

}  // namespace
}  // namespace gyre
