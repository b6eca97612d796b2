#include "cli/output_status.h"

#include <gtest/gtest.h>

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
                      .last_seen_at = "2026-11-30T10:43:28.007Z"}};
  cluster.sweeps = {Quickstart()};
  cluster.queued = 6;
  cluster.version = "0.1.0";
  return cluster;
}

TEST(RenderStatus, OfASweep) {
  ExpectGolden("status-80.txt", RenderStatus(Quickstart(), OutputFormat::kTable, 80));
  ExpectGolden("status.json", RenderStatus(Quickstart(), OutputFormat::kJson, 0));
  EXPECT_EQ(RenderStatus(Quickstart(), OutputFormat::kCsv, 0),
            "sweep,intent,queued,running,succeeded,failed,stopped_early,canceled,tokens_done,"
            "tokens_budget\n"
            "quickstart,ACTIVE,6,1,3,1,0,1,6600000,19200000\n");
}

TEST(RenderStatus, OfTheCluster) {
  ExpectGolden("cluster.txt", RenderStatus(Cluster(), OutputFormat::kTable, 0));
  EXPECT_EQ(RenderStatus(ClusterStatus(), OutputFormat::kTable, 0),
            "no workers\n\nno sweep has jobs to do\n");
}

}  // namespace
}  // namespace gyre
