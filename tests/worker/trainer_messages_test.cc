#include "worker/trainer_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace gyre {
namespace {

using ::testing::HasSubstr;

template <typename T>
T Parsed(const std::string& line) {
  auto message = ParseTrainerMessage(line);
  EXPECT_TRUE(message.ok()) << message.status();
  if (!message.ok() || !std::holds_alternative<T>(*message)) return T{};
  return std::get<T>(*message);
}

TEST(TrainerMessages, EachTypeIsRead) {
  const auto hello = Parsed<TrainerHello>(
      R"({"type":"hello","version":"0.1.0","protocol":1,"fingerprint":{"a":1},)"
      R"("precisions":["float32","bf16"]})");
  EXPECT_EQ(hello.fingerprint, R"({"a":1})");
  EXPECT_EQ(hello.precisions, (std::vector<std::string>{"float32", "bf16"}));
  EXPECT_EQ(
      Parsed<Point>(R"({"type":"point","metric":"train/loss","step":3,"tokens":30,"value":0.1})")
          .value,
      0.1);
  EXPECT_EQ(
      Parsed<Progress>(R"({"type":"progress","step":3,"tokens":30,"tokens_per_second":9,"loss":1})")
          .loss,
      1);
  EXPECT_EQ(Parsed<StatisticsText>(
                R"({"type":"statistics","record":{"step":3,"tokens":30,"head_scores":[0.1]}})")
                .json,
            R"({"step":3,"tokens":30,"head_scores":[0.1]})");
  EXPECT_TRUE(
      Parsed<Checkpoint>(
          R"({"type":"checkpoint","hash":"ab","bytes":4,"step":3,"tokens":30,"weights_only":true})")
          .weights_only);
  const auto done = Parsed<TrainerDone>(
      R"({"type":"done","step":3,"tokens":30,"stopped":false,"diverged_at_step":2,"tokens_per_second":1.5,)"
      R"("peak_memory_bytes":5})");
  EXPECT_EQ(done.diverged_at_step, 2);
  EXPECT_EQ(done.peak_memory_bytes, 5);
  EXPECT_EQ(Parsed<TrainerError>(R"({"type":"error","code":"DATA_LOSS","message":"torn"})").status,
            DataLoss("torn"));
  EXPECT_EQ(Parsed<TrainerError>(R"({"type":"error","code":"NEW","message":"?"})").status,
            Internal("?"));
}

TEST(TrainerMessages, WhatJsonHasNoNumberForIsReadBesideTheNull) {
  const std::string begin = R"({"type":"point","metric":"m","step":1,"tokens":1,"value":null)";
  EXPECT_TRUE(std::isnan(Parsed<Point>(begin + R"(,"special":"nan"})").value));
  EXPECT_EQ(Parsed<Point>(begin + R"(,"special":"inf"})").value, INFINITY);
  EXPECT_EQ(Parsed<Point>(begin + R"(,"special":"-inf"})").value, -INFINITY);
}

TEST(TrainerMessages, WhatIsWrongIsNamed) {
  const auto fault = [](const std::string& line) {
    return ParseTrainerMessage(line).status().message();
  };
  EXPECT_THAT(fault("hello?"), HasSubstr("no JSON object: 'hello?'"));
  EXPECT_THAT(fault("[1]"), HasSubstr("no JSON object"));
  EXPECT_THAT(fault(""), HasSubstr("no JSON object"));
  EXPECT_THAT(fault(R"({"step":1})"), HasSubstr("'type'"));
  EXPECT_THAT(fault(R"({"type":"song"})"), HasSubstr("unknown type"));
  EXPECT_THAT(fault(R"({"type":"point","metric":7})"), HasSubstr("'metric'"));
  EXPECT_THAT(fault(R"({"type":"point","metric":"m","step":1.5,"tokens":1,"value":1})"),
              HasSubstr("'step'"));
  EXPECT_LT(fault(std::string(1000000, 'x')).size(), 400u);
  EXPECT_THAT(fault("\x1b[31m\xff"), HasSubstr("'?[31m?'"));
}

TEST(TrainerMessages, APrecisionThatADeviceHasNotIsNamed) {
  const auto started = Parsed<TrainerStarted>(R"({"type":"started","fingerprint":{"a":1}})");
  EXPECT_EQ(started.fingerprint, R"({"a":1})");
  const Lease narrow{.job = R"({"config":{"train":{"precision":"bf16"}}})"};
  EXPECT_EQ(MissingPrecision(started, narrow), "bf16");
  EXPECT_EQ(MissingPrecision({R"({"a":1,"precision":"bf16"})"}, narrow), "");
  for (const char* job :
       {"", "3", R"({"config":7})", R"({"config":{"train":{"precision":"float32"}}})"}) {
    EXPECT_EQ(MissingPrecision(started, {.job = job}), "");
  }
}

TEST(TrainerMessages, TheRunCommandIsOneLineWithTheJobInIt) {
  const auto command = RunCommand({.job = "{\"seed\": 18446744073709551615,\n \"x\": 0.1}",
                                   .checkpoint_hash = "ab",
                                   .cpus = 2,
                                   .device = "cuda:1"},
                                  "/home/x");
  ASSERT_TRUE(command.ok());
  EXPECT_EQ(
      *command,
      R"({"type":"run","job":{"seed":18446744073709551615,"x":0.1},"resume_from":"ab","threads":2,"home":"/home/x","device":"cuda:1"})"
      "\n");
  EXPECT_EQ(
      *RunCommand({.job = "{}", .cpus = 5, .device = "cuda:2,cuda:5"}, "/home/x",
                  {.rank = 1, .world = 2, .rendezvous = "/home/x/tmp/r"}),
      R"({"type":"run","job":{},"resume_from":"","threads":2,"home":"/home/x","device":"cuda:5","rank":1,"world":2,"rendezvous":"/home/x/tmp/r"})"
      "\n");
  EXPECT_EQ(RunCommand({.job = "[]"}, "").status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace gyre
