#include "sweeps/spec/nearest.h"

#include <gtest/gtest.h>

#include "trainer/config/fields.h"

namespace gyre {
namespace {

TEST(NearestTest, WhatPeopleType) {
  const std::pair<const char*, const char*> model[] = {
      {"num_layers", "num_hidden_layers"}, {"num_hiden_layers", "num_hidden_layers"},
      {"n_layers", "num_hidden_layers"},   {"n_head", "num_attention_heads"},
      {"d_model", "hidden_size"},          {"hidden-size", "hidden_size"},
      {"kv_heads", "num_key_value_heads"}, {"tie_embeddings", "tie_word_embeddings"},
  };
  for (const auto& [typed, meant] : model) EXPECT_EQ(Nearest(typed, KeysUnder("model")), meant);
  EXPECT_EQ(Nearest("optimiser", KeysUnder("train")), "optimizer");
  EXPECT_EQ(Nearest("learning_rate", KeysUnder("train.optimizer")), "lr");
  EXPECT_EQ(Nearest("thetta", KeysUnder("position")), "theta");
  EXPECT_EQ(Nearest("htaet", KeysUnder("position")), "");
  EXPECT_EQ(Nearest("P", KeysUnder("position")), "p");
}

TEST(NearestTest, NothingNear) {
  EXPECT_EQ(Nearest("", {"a", "b"}), "");
  EXPECT_EQ(Nearest("x", {"p", "q"}), "");
  EXPECT_EQ(Nearest(std::string(1000, 'a'), {"aaaa"}), "");
  EXPECT_EQ(DidYouMean("zebra", {"theta"}), "");
  EXPECT_EQ(DidYouMean("teta", {"theta"}), "did you mean 'theta'?");
}

TEST(ListTest, LeavesOutTheMiddleOfNothing) {
  EXPECT_EQ(List({"a", "b"}), "a, b");
  EXPECT_EQ(List({"a", "b", "c", "d"}, 3), "a, b and 2 more");
}

}  // namespace
}  // namespace gyre
