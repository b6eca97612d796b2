#include "analysis/alignment.h"

#include <gmock/gmock.h>

#include <cmath>

namespace gyre {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;
using testing::IsNan;

TEST(Alignments, BoundsAndLogitsByToken) {
  ModelConfig model;
  model.num_attention_heads = 2;
  model.num_key_value_heads = 1;
  model.head_dim = 4;
  AttentionTrace trace;
  // Two tokens: q of two heads, k, v.
  trace.qkv = {3, 4, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 9, 9, 9, 9,
               0, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 9, 9, 9, 9};
  trace.log_sum_exp.resize(4);
  const auto of = AlignmentsOf(5, trace, model);
  ASSERT_EQ(of.size(), 2u);
  EXPECT_EQ(of[1].layer, 5);
  EXPECT_EQ(of[1].head, 1);
  EXPECT_THAT(of[0].bounds, ElementsAre(DoubleEq(2.5), DoubleEq(std::sqrt(2))));
  EXPECT_THAT(of[0].own, ElementsAre(DoubleEq(1.5), DoubleEq(1)));
  EXPECT_THAT(of[0].previous, ElementsAre(IsNan(), DoubleEq(0)));
  EXPECT_THAT(of[1].own, ElementsAre(DoubleEq(0), DoubleEq(0)));
  trace.scale = 2;
  EXPECT_THAT(AlignmentsOf(5, trace, model)[0].bounds[0], DoubleEq(10));
}

}  // namespace
}  // namespace gyre
