#include "analysis/theory/semantic_head.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "tests/analysis/theory/synthetic.h"

namespace gyre {
namespace {

using ::testing::HasSubstr;

constexpr double kRightAngle = std::numbers::pi / 2;

SemanticFailure Failure(const SemanticHead& head, int length) {
  return FindFailure(LogitsByDistance(head, length));
}

// A weak distractor wins where the target's logit falls below 0: at a quarter turn.
TEST(SemanticFailure, ComesAtAQuarterTurnOfOnePair) {
  for (const double frequency : {1.0, 0.1, 0.01, 0.003}) {
    const auto failure = Failure(EvenSemanticHead({frequency}, 1e-6, kRightAngle), 4096);
    ASSERT_TRUE(failure.nearest && failure.not_positive_at);
    const double quarter = kRightAngle / frequency;
    EXPECT_EQ(failure.nearest->target_at, static_cast<int>(std::ceil(quarter)));
    EXPECT_EQ(*failure.not_positive_at, failure.nearest->target_at);
  }
}

// With half the target's norm, where cos(m f) is below 1/2: at a sixth of a turn.
TEST(SemanticFailure, ComesEarlierWithAStrongerDistractor) {
  const auto failure = Failure(EvenSemanticHead({0.001}, 0.5, kRightAngle), 65536);
  ASSERT_TRUE(failure.nearest);
  EXPECT_NEAR(failure.nearest->target_at, std::numbers::pi / 3 / 0.001, 2);
  // It stands where rotation has turned it to the query.
  EXPECT_NEAR(std::fmod(failure.nearest->distractor_at * 0.001, 2 * std::numbers::pi), kRightAngle,
              0.01);
  EXPECT_GE(failure.nearest->distractor, failure.nearest->target);
}

// As the proof has it: whatever the frequency, a sequence that is long enough breaks the head.
TEST(SemanticFailure, ComesForEveryPairOnceTheSequenceIsLongEnough) {
  const std::vector<double> ladder = RopeRotation(64).frequencies;
  for (const double angle : {0.0, 1.0, kRightAngle, 3.0}) {
    for (const double frequency : ladder) {
      if (frequency < 1e-3) break;  // longer than a test should be
      const int length = static_cast<int>(2 * std::numbers::pi / frequency) + 8;
      const auto failure = Failure(EvenSemanticHead({frequency}, 0.3, angle), length);
      EXPECT_TRUE(failure.nearest && failure.shortest) << frequency << " " << angle;
    }
  }
}

TEST(SemanticFailure, NeverComesWithoutRotation) {
  for (const double norm : {0.1, 0.5, 0.99}) {
    for (const double angle : {0.0, 1.0, kRightAngle}) {
      const SemanticHead head = EvenSemanticHead({0, 0, 0}, norm, angle);
      const auto failure = Failure(head, 5000);
      EXPECT_FALSE(failure.nearest || failure.shortest || failure.not_positive_at);
      for (const SemanticMargin& margin : MarginsByDistance(LogitsByDistance(head, 50))) {
        EXPECT_NEAR(margin.target - margin.distractor, 1 - norm * std::cos(angle), 1e-12);
      }
    }
  }
}

TEST(SemanticFailure, ShortestSequenceIsTheFirstThatHasOne) {
  const SemanticHead head = EvenSemanticHead({0.05, 0.011}, 0.4, 1.2);
  const auto failure = Failure(head, 2000);
  ASSERT_TRUE(failure.shortest);
  const int length = 1 + std::max(failure.shortest->target_at, failure.shortest->distractor_at);
  EXPECT_TRUE(Failure(head, length).nearest);
  EXPECT_FALSE(Failure(head, length - 1).nearest);
}

// By brute force: all places of both tokens.
TEST(SemanticFailure, IsWhatTryingAllPlacesFinds) {
  const Random random(3, "test");
  for (uint64_t number = 0; number < 40; ++number) {
    SemanticHead head = EvenSemanticHead({random.Uniform(number, 0), random.Uniform(number, 1) / 9},
                                         random.Uniform(number, 2), 0);
    head.angles = {6 * random.Uniform(number, 3), 6 * random.Uniform(number, 4)};
    const int length = 2 + static_cast<int>(random.Below(60, number, 5));
    const SemanticLogits logits = LogitsByDistance(head, length);
    std::optional<int> nearest, shortest;
    for (int r = 0; r < length; ++r) {
      for (int m = 0; m < length; ++m) {
        const bool lost = r != m && logits.target[static_cast<size_t>(r)] <=
                                        logits.distractor[static_cast<size_t>(m)];
        if (!lost) continue;
        if (!nearest) nearest = r;
        shortest = std::min(shortest.value_or(length), 1 + std::max(r, m));
      }
    }
    const auto failure = FindFailure(logits);
    ASSERT_EQ(failure.nearest.has_value(), nearest.has_value()) << number;
    if (!nearest) continue;
    EXPECT_EQ(failure.nearest->target_at, *nearest) << number;
    EXPECT_EQ(1 + std::max(failure.shortest->target_at, failure.shortest->distractor_at), *shortest)
        << number;
  }
}

TEST(FailuresByPair, AreThoseOfThePairsAloneAndTogether) {
  const std::vector<double> ladder = RopeRotation(16).frequencies;
  const SemanticHead head = EvenSemanticHead(ladder, 0.5, kRightAngle);
  const auto failures = FailuresByPair(head, 800);
  ASSERT_EQ(failures.size(), 8u);
  const auto place = [](const SemanticFailure& failure) {
    return failure.nearest ? failure.nearest->target_at : -1;
  };
  for (size_t k = 0; k < 8; ++k) {
    const std::vector<double> later(ladder.begin() + static_cast<std::ptrdiff_t>(k), ladder.end());
    EXPECT_EQ(place(failures[k].alone),
              place(Failure(EvenSemanticHead({ladder[k]}, 0.5, kRightAngle), 800)));
    EXPECT_EQ(place(failures[k].with_later),
              place(Failure(EvenSemanticHead(later, 0.5, kRightAngle), 800)));
  }
}

// p-RoPE's robust semantic channels: the pairs that it does not rotate.
TEST(FailuresByPair, SpareThePairsThatPRopeDoesNotRotate) {
  const Rotation rotation = RopeRotation(32, 10000, 0.75);
  const auto failures =
      FailuresByPair(EvenSemanticHead(rotation.frequencies, 0.5, kRightAngle), 20000);
  for (size_t k = 0; k < 16; ++k) EXPECT_EQ(failures[k].alone.nearest.has_value(), k < 12) << k;
}

TEST(SemanticHead, HasToTellTargetFromDistractorToBeginWith) {
  EXPECT_TRUE(CheckTellsApart(EvenSemanticHead({1}, 0.99, 0)).ok());
  EXPECT_TRUE(CheckTellsApart(EvenSemanticHead({1}, 5, kRightAngle)).ok());
  EXPECT_THAT(CheckTellsApart(EvenSemanticHead({1}, 1, 0)).message(), HasSubstr("make the"));
}

}  // namespace
}  // namespace gyre
