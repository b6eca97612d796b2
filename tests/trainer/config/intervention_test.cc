// Interventions: which ones a request becomes, and what they are called.

#include "trainer/config/intervention.h"

#include <gtest/gtest.h>

namespace gyre {
namespace {

ModelConfig Small() {
  ModelConfig model;
  model.num_hidden_layers = 3;
  model.head_dim = 20;  // ten pairs
  return model;
}

std::vector<std::string> Names(const InterventionRequest& request) {
  const auto list = ExpandIntervention(request, Small());
  if (!list.ok()) return {list.status().message()};
  std::vector<std::string> names;
  for (const Intervention& one : *list) names.push_back(one.name);
  return names;
}

using Strings = std::vector<std::string>;

TEST(InterventionTest, SharesCountFromTheirEnd) {
  EXPECT_EQ(Names({.share = 0.3, .position = {}}), Strings{"zero-7-10"});
  EXPECT_EQ(Names({.share = 0.39, .highest = true, .position = {}}), Strings{"zero-0-3"});
  EXPECT_EQ(Names({.kind = kFreeze, .share = 1, .position = {}}), Strings{"freeze-0-10"});
}

TEST(InterventionTest, BandsCoverEveryPairOnce) {
  EXPECT_EQ(Names({.bands = 4, .position = {}}),
            (Strings{"zero-0-2", "zero-2-5", "zero-5-7", "zero-7-10"}));
  EXPECT_EQ(Names({.bands = 1, .position = {}, .name = "all"}), Strings{"all-0-10"});
}

TEST(InterventionTest, LayersAreInTheName) {
  EXPECT_EQ(Names({.pairs = {{1, 2}}, .position = {}, .layers = {2}}), Strings{"zero-1-2-layer-2"});
  EXPECT_EQ(Names({.pairs = {{1, 2}}, .position = {}, .layers = {0, 2}}),
            Strings{"zero-1-2-layers-0_2"});
  EXPECT_EQ(Names({.pairs = {{1, 2}}, .position = {}, .layers = {0, 1, 2}}),
            Strings{"zero-1-2-layers-0-2"});
  EXPECT_EQ(Names({.kind = kPosition, .position = {}, .position_name = "nope", .each_layer = true}),
            (Strings{"nope-layer-0", "nope-layer-1", "nope-layer-2"}));
  EXPECT_EQ(Names({.bands = 2, .position = {}, .layers = {1}, .each_layer = true}),
            (Strings{"zero-0-5-layer-1", "zero-5-10-layer-1"}));
}

TEST(InterventionTest, WhatTheModelDoesNotHaveIsRefused) {
  const auto fault = [](const InterventionRequest& request) {
    const auto list = ExpandIntervention(request, Small());
    EXPECT_EQ(list.status().code(), StatusCode::kInvalidArgument);
    return list.status().message();
  };
  EXPECT_NE(fault({.pairs = {{8, 11}}, .position = {}}).find("pairs 0 to 9"), std::string::npos);
  EXPECT_NE(fault({.pairs = {{3, 3}}, .position = {}}).find("no range"), std::string::npos);
  EXPECT_NE(fault({.share = 0.05, .position = {}}).find("not one pair"), std::string::npos);
  EXPECT_NE(fault({.bands = 11, .position = {}}).find("fewer pairs"), std::string::npos);
  EXPECT_NE(fault({.pairs = {{0, 1}}, .position = {}, .layers = {3}}).find("no layer 3"),
            std::string::npos);
}

TEST(InterventionTest, ThereIsALimit) {
  ModelConfig model = Small();
  model.num_hidden_layers = 1024;
  const auto list = ExpandIntervention({.bands = 10, .position = {}, .each_layer = true}, model);
  EXPECT_EQ(list.status().code(), StatusCode::kInvalidArgument);
}

TEST(InterventionTest, SurvivesJson) {
  JobConfig config;
  config.model = Small();
  config.data.train = "corpus:austen";
  config.data.validation = Json::object();
  InterventionRequest nope{.kind = kPosition, .position = {}, .position_name = "nope"};
  nope.position.common.type = "nope";
  for (const InterventionRequest& request :
       {InterventionRequest{.bands = 2, .position = {}, .each_layer = true}, nope}) {
    const auto list = ExpandIntervention(request, config.model);
    ASSERT_TRUE(list.ok()) << list.status();
    config.evaluate.interventions.insert(config.evaluate.interventions.end(), list->begin(),
                                         list->end());
  }
  const Json json = ToJson(config);
  const auto again = JobConfigFromJson(json);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(ToJson(*again), json);
  ASSERT_EQ(again->evaluate.interventions.size(), 7u);
  EXPECT_EQ(again->evaluate.interventions[5].pairs, std::pair(5, 10));
  EXPECT_EQ(again->evaluate.interventions[6].position.common.type, "nope");

  Json damaged = json;
  damaged["evaluate"]["interventions"][0]["freeze"] = {0, 1};
  EXPECT_FALSE(JobConfigFromJson(damaged).ok());
  damaged = json;
  damaged["evaluate"]["interventions"][0].erase("zero");
  EXPECT_FALSE(JobConfigFromJson(damaged).ok());
}

}  // namespace
}  // namespace gyre
