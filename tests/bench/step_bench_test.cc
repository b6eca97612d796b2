// The benchmark runs end to end and writes what it measured. How fast anything was is not looked
// at.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "base/files.h"
#include "base/scratch_folder.h"
#include "trainer/config/job_config.h"

namespace gyre {
namespace {

int RunBench(const std::string& arguments, const std::filesystem::path& output) {
  const std::string command =
      std::string(STEP_BENCH_PROGRAM) + " " + arguments + " >" + output.string() + " 2>&1";
  return WEXITSTATUS(std::system(command.c_str()));
}

TEST(StepBench, WritesEverySample) {
  const auto scratch = ScratchFolder::Create(testing::TempDir(), "step-bench");
  ASSERT_TRUE(scratch.ok());
  const auto output = scratch->path() / "output", json = scratch->path() / "results.json";
  ASSERT_EQ(RunBench("--shape tiny --only gyre limit --samples 2 --starts 2 --sample-seconds 0 "
                     "--no-gate --json " +
                         json.string(),
                     output),
            0)
      << *ReadFile(output);
  const Json results = Json::parse(*ReadFile(json));
  ASSERT_EQ(results["cases"].size(), 6);  // families x precisions
  for (const Json& one : results["cases"]) {
    const Json& gyre = one["contestants"]["gyre"];
    EXPECT_NEAR(gyre["first_loss"].get<double>(), std::log(257), 0.2);
    EXPECT_LT(gyre["last_loss"], gyre["first_loss"]);
    EXPECT_EQ(gyre["start_seconds"].size(), 2);
    EXPECT_GT(gyre["peak_memory_bytes"], 1 << 20);
    EXPECT_FALSE(gyre["quiet"]);
    for (const char* name : {"gyre", "limit"}) {
      // Where oneDNN has no fast bf16, there is no limit either.
      if (one["contestants"][name]["absent"] != "" && one["precision"] == "bf16") continue;
      const Json& samples = one["contestants"][name]["samples"];
      ASSERT_EQ(samples.size(), 2) << name;
      for (const Json& sample : samples) EXPECT_GT(sample["seconds"], 0) << name;
    }
    EXPECT_EQ(one["faults"].size(), 0);
  }
}

// As on a GPU, but for the GPU.
TEST(StepBench, MeasuresAsOnAGpu) {
  const auto scratch = ScratchFolder::Create(testing::TempDir(), "step-bench");
  ASSERT_TRUE(scratch.ok());
  const auto output = scratch->path() / "output";
  ASSERT_EQ(RunBench("gpu --backend cpu --shape tiny --family gpt --only gyre --samples 2 "
                     "--sample-seconds 0",
                     output),
            0)
      << *ReadFile(output);
  EXPECT_NE(ReadFile(output)->find("\n| tiny gpt bf16 | 16 x 2 | "), std::string::npos)
      << *ReadFile(output);
}

TEST(StepBench, NoCaseBeginsTooLate) {
  const auto scratch = ScratchFolder::Create(testing::TempDir(), "step-bench");
  ASSERT_TRUE(scratch.ok());
  const auto output = scratch->path() / "output";
  EXPECT_EQ(RunBench("gpu --backend cpu --shape tiny --stop-after 0", output), 1);
  EXPECT_NE(ReadFile(output)->find("tiny gpt bf16: not measured"), std::string::npos)
      << *ReadFile(output);
}

// A PyTorch that says it is ready, and dies.
TEST(StepBench, GoesOnWithoutOneThatDies) {
  const auto scratch = ScratchFolder::Create(testing::TempDir(), "step-bench");
  ASSERT_TRUE(scratch.ok());
  const auto output = scratch->path() / "output", python = scratch->path() / "python";
  ASSERT_TRUE(WriteFileAtomically(python, "#!/bin/sh\necho '{\"ready\": 1, \"parameters\": 1}'\n").ok());
  std::filesystem::permissions(python, std::filesystem::perms::owner_all);
  EXPECT_EQ(
      RunBench("--shape tiny --family gpt --precision float32 --only gyre pytorch --samples 1 "
               "--starts 1 --sample-seconds 0 --no-gate --markdown --python " +
                   python.string(),
               output),
      1);
  const std::string text = *ReadFile(output);
  EXPECT_NE(text.find("FAULT: pytorch has failed: "), std::string::npos) << text;
  EXPECT_NE(text.find("| tiny gpt float32 | "), std::string::npos) << text;
}

TEST(StepBench, SaysThatPyTorchIsAbsent) {
  const auto scratch = ScratchFolder::Create(testing::TempDir(), "step-bench");
  ASSERT_TRUE(scratch.ok());
  const auto output = scratch->path() / "output";
  ASSERT_EQ(
      RunBench("--shape tiny --family llama --only pytorch --python /no/such/python --no-gate",
               output),
      0);
  EXPECT_NE(ReadFile(output)->find("absent: /no/such/python: No such file"), std::string::npos)
      << *ReadFile(output);
}

TEST(StepBench, WhatMeasuresNothingIsRefused) {
  const auto scratch = ScratchFolder::Create(testing::TempDir(), "step-bench");
  ASSERT_TRUE(scratch.ok());
  const auto output = scratch->path() / "output";
  for (const std::string words : {"--starts 0", "--samples 0", "--only theano", "--threads 0",
                                  "--sample-seconds=-1", "profile --steps 0"}) {
    EXPECT_NE(RunBench(words, output), 0) << words;
    EXPECT_NE(ReadFile(output)->find("Run with --help"), std::string::npos) << *ReadFile(output);
  }
}

TEST(StepBench, ProfilesAStepByPart) {
  const auto scratch = ScratchFolder::Create(testing::TempDir(), "step-bench");
  ASSERT_TRUE(scratch.ok());
  const auto output = scratch->path() / "output";
  ASSERT_EQ(RunBench("profile --shape tiny --family gemma --steps 1", output), 0);
  EXPECT_NE(ReadFile(output)->find("  adamw"), std::string::npos) << *ReadFile(output);
}

}  // namespace
}  // namespace gyre
