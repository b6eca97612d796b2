#include "cli/output_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/cli/golden.h"

namespace gyre {
namespace {

SweepStatus Quickstart() {
  SweepStatus sweep;
  sweep.id = 1;
  sweep.name = "quickstart";
  sweep.question = "Is a model without positions worse than RoPE, and by how much?";
  sweep.intent = "ACTIVE";
  sweep.baseline = "RoPE";
  sweep.jobs = {.queued = 6, .running = 1, .succeeded = 3, .failed = 1, .canceled = 1};
  sweep.tokens_done = 6600000;
  sweep.tokens_budget = 19200000;
  sweep.running = {{.job_id = 5,
                    .sweep = "quickstart",
                    .variant = "日本語",
                    .seed = 1,
                    .worker = "host/0",
                    .attempt = 2,
                    .step = 97,
                    .tokens = 200000,
                    .tokens_budget = 1600000,
                    .tokens_per_second = 29100,
                    .loss = 2.4123}};
  sweep.failures = {{.job_id = 7, .variant = "NoPE", .seed = 2, .error = "out of memory\x1b[2J"}};
  return sweep;
}

ClusterStatus Cluster() {
  ClusterStatus cluster;
  cluster.workers = {{.name = "host/0",
                      .state = "ACTIVE",
                      .version = "0.1.0",
                      .slots = 2,
                      .busy = 1,
                      .cpus = 2,
                      .memory_bytes = int64_t{1} << 34,
                      .last_seen_at = "2026-11-30T10:43:28.007Z",
                      .devices = {{"cuda:0", "cuda", "NVIDIA H200", int64_t{1} << 37},
                                  {"cuda:1", "cuda", "NVIDIA H200", int64_t{1} << 37},
                                  {"cpu", "cpu", "Xeon", int64_t{1} << 34}}}};
  cluster.sweeps = {Quickstart()};
  cluster.queued = 6;
  cluster.version = "0.1.0";
  return cluster;
}

TEST(RenderStatus, OfASweep) {
  ExpectGolden("status-80.txt", RenderStatus(Quickstart(), OutputFormat::kTable, 80, 0));
  ExpectGolden("status.json", RenderStatus(Quickstart(), OutputFormat::kJson, 0, 0));
  EXPECT_EQ(RenderStatus(Quickstart(), OutputFormat::kCsv, 0, 0),
            "sweep,intent,queued,running,succeeded,failed,stopped_early,canceled,tokens_done,"
            "tokens_budget\n"
            "quickstart,ACTIVE,6,1,3,1,0,1,6600000,19200000\n");
}

/// 40 variants of 25 seeds, half of them done.
SweepStatus Thousand() {
  SweepStatus sweep = Quickstart();
  sweep.name = "thousand";
  sweep.jobs = {.queued = 380, .running = 16, .succeeded = 500, .failed = 104};
  for (int v = 0; v < 40; ++v) {
    sweep.variants.push_back({.variant = "θ=" + std::to_string(v * 1000) + " 日本語",
                              .jobs = {.queued = 12, .succeeded = 12, .failed = 1},
                              .tokens_done = 12000000,
                              .tokens_budget = 40000000});
  }
  for (int job = 2; job <= 16; ++job) {
    sweep.running.push_back(sweep.running[0]);
    sweep.running.back().job_id = 100 + job;
  }
  sweep.failures.clear();
  for (int job = 1; job <= 104; ++job) {
    sweep.failures.push_back(
        {job, "NoPE", 2, job % 4 == 0 ? "no data" : "exit code " + std::to_string(job)});
  }
  return sweep;
}

// microsoft/nni#1024, microsoft/nni#2062, mlflow/mlflow#627: unusable at 1000 trials.
TEST(RenderStatus, AThousandJobsFitOneScreen) {
  for (const int height : {23, 30, 50}) {
    const std::string text = RenderStatus(Thousand(), OutputFormat::kTable, 80, height);
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), height) << text;
  }
  ExpectGolden("status-thousand-80.txt", RenderStatus(Thousand(), OutputFormat::kTable, 80, 23));
}

TEST(RenderStatus, SaysWhatKeepsASweep) {
  SweepStatus sweep = Quickstart();
  sweep.intent = "PAUSED";
  EXPECT_THAT(RenderStatus(sweep, OutputFormat::kTable, 80, 0),
              testing::HasSubstr("\npaused: gyre resume quickstart goes on\n"));
  sweep.pause_reason = "its first 3 jobs failed alike";
  sweep.problem = "the disk is full";
  EXPECT_THAT(RenderStatus(sweep, OutputFormat::kTable, 80, 0),
              testing::AllOf(testing::HasSubstr("\npaused itself: its first 3 jobs failed alike;"),
                             testing::HasSubstr("\ncoordinator: the disk is full\n")));
  sweep.differing_points = 2;
  sweep.running.front().suspected_at = "2026-11-30T12:00:00.000Z";
  const std::string text = RenderStatus(sweep, OutputFormat::kTable, 200, 0);
  EXPECT_THAT(text, testing::HasSubstr("\nwarning: 2 points came again with another value"));
  EXPECT_THAT(text, testing::HasSubstr(sweep.running.front().worker + " (silent)"));
}

TEST(RenderStatus, OfTheCluster) {
  ExpectGolden("cluster.txt", RenderStatus(Cluster(), OutputFormat::kTable, 0, 0));
  EXPECT_EQ(
      RenderStatus(ClusterStatus(), OutputFormat::kTable, 0, 0),
      "no workers\n\nno sweep has jobs to do (gyre query \"SELECT name FROM sweeps\" lists all)\n");
}

TEST(RenderStatus, WorkersThatAreGoneAreOneLine) {
  ClusterStatus cluster;
  for (int i = 0; i < 50; ++i) {
    cluster.workers.push_back({.name = "old/" + std::to_string(i),
                               .state = "GONE",
                               .last_seen_at = "2026-11-30T14:00:" + std::to_string(10 + i) + "Z"});
  }
  EXPECT_THAT(RenderStatus(cluster, OutputFormat::kTable, 0, 0),
              testing::StartsWith("no workers\n50 gone: old/49, old/48, old/47, old/46, old/45 "
                                  "and 45 more; the last was seen 2026-11-30T14:00:59Z\n"));
}

}  // namespace
}  // namespace gyre
