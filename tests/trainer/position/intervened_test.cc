// What interventions do to rotations, and which weights they make zero.

#include "trainer/position/intervened.h"

#include <gtest/gtest.h>

namespace gyre {
namespace {

ModelConfig Small() {
  ModelConfig model;
  model.num_hidden_layers = 2;
  model.num_attention_heads = 2;
  model.head_dim = 8;  // four pairs
  return model;
}

std::vector<LayerPosition> Own(const PositionConfig& position = {}) {
  auto positions = ResolvePositions(position, Small(), 16);
  EXPECT_TRUE(positions.ok()) << positions.status();
  return *positions;
}

Intervention Of(const char* kind, std::pair<int, int> pairs, std::vector<int> layers = {}) {
  return {.name = "x", .kind = kind, .layers = std::move(layers), .pairs = pairs, .position = {}};
}

// To turn the slowest quarter by nothing is p = 0.75.
TEST(IntervenedTest, FrozenIsTruncated) {
  PositionConfig truncated;
  truncated.common.p = 0.75;
  const auto frozen = IntervenedPositions(Of(kFreeze, {3, 4}), Small(), 16, Own());
  ASSERT_TRUE(frozen.ok()) << frozen.status();
  EXPECT_EQ(*frozen, Own(truncated));
}

TEST(IntervenedTest, OnlyTheChosenLayersChange) {
  const auto frozen = IntervenedPositions(Of(kFreeze, {0, 4}, {1}), Small(), 16, Own());
  ASSERT_TRUE(frozen.ok());
  EXPECT_EQ((*frozen)[0], Own()[0]);
  EXPECT_EQ((*frozen)[1].rotation.frequencies, std::vector<double>(4, 0.0));

  Intervention other = Of(kPosition, {0, 0}, {0});
  other.position.common.theta = 100;
  const auto replaced = IntervenedPositions(other, Small(), 16, Own());
  ASSERT_TRUE(replaced.ok());
  EXPECT_EQ((*replaced)[0], Own(other.position)[0]);
  EXPECT_EQ((*replaced)[1], Own()[1]);
}

TEST(IntervenedTest, ZeroLeavesRotationsAlone) {
  const auto same = IntervenedPositions(Of(kZero, {0, 4}), Small(), 16, Own());
  ASSERT_TRUE(same.ok());
  EXPECT_EQ(*same, Own());
}

TEST(IntervenedTest, RowsOfEveryHeadAreZeroed) {
  const auto weights = ZeroedWeights(Of(kZero, {1, 3}, {1}), Small(), Own());
  ASSERT_EQ(weights.size(), 1u);
  EXPECT_EQ(weights[0].name, "model.layers.1.self_attn.q_proj.weight");
  EXPECT_EQ(weights[0].rows, (std::vector<int>{1, 2, 5, 6, 9, 10, 13, 14}));
  EXPECT_TRUE(ZeroedWeights(Of(kFreeze, {1, 3}), Small(), Own()).empty());

  PositionConfig interleaved;
  interleaved.common.pairing = "interleaved";
  EXPECT_EQ(ZeroedWeights(Of(kZero, {1, 2}), Small(), Own(interleaved))[0].rows,
            (std::vector<int>{2, 3, 10, 11}));
}

TEST(IntervenedTest, NormedQueriesAreZeroedAfterTheirNorm) {
  ModelConfig model = Small();
  model.qk_norm = true;
  const auto weights = ZeroedWeights(Of(kZero, {0, 1}), model, Own());
  ASSERT_EQ(weights.size(), 2u);
  EXPECT_EQ(weights[0].name, "model.layers.0.self_attn.q_norm.weight");
  EXPECT_EQ(weights[0].rows, (std::vector<int>{0, 4}));
}

TEST(IntervenedTest, WhatIsNotThereIsRefused) {
  for (const Intervention& bad : {Of(kFreeze, {3, 5}), Of(kZero, {0, 1}, {2})}) {
    EXPECT_EQ(IntervenedPositions(bad, Small(), 16, Own()).status().code(),
              StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace gyre
