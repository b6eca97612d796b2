#include "tests/coordinator/simulation.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/log.h"
#include "tests/coordinator/harness.h"

namespace gyre {
namespace {

// GYRE_SIMULATION_SEEDS=FIRST,COUNT runs others, or one again.
TEST(SimulationTest, WhateverBreaksTheSweepComesOutTheSame) {
  SetLogLevel(LogLevel::kOff);  // the disk that is full says so each time
  uint64_t first = 1, count = 60;
  if (const char* given = std::getenv("GYRE_SIMULATION_SEEDS")) {
    ASSERT_EQ(std::sscanf(given, "%lu,%lu", &first, &count), 2) << given;
  }
  std::map<std::string, int> happened;
  const std::filesystem::path folder = FreshFolder("simulation");
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const std::filesystem::path run = folder / std::to_string(seed);
    std::filesystem::create_directories(run);
    Simulation simulation(seed, run);
    const std::string failure = simulation.Run();
    ASSERT_EQ(failure, "") << "replay with GYRE_SIMULATION_SEEDS=" << seed << ",1; database in "
                           << run;
    for (const auto& [what, times] : simulation.happened) happened[what] += times;
    std::filesystem::remove_all(run);
  }
  std::filesystem::remove_all(folder);
  for (const auto& [what, times] : happened) RecordProperty(what, times);
  if (count < 60) return;
  // That the faults did happen.
  for (const char* fault : {"deaths",          "cuts",
                            "stops",           "full disks",
                            "disk errors",     "restarts",
                            "power failures",  "busy coordinators",
                            "clocks set",      "second coordinators",
                            "backups",         "pauses",
                            "cancels",         "retries",
                            "memory failures", "refused",
                            "resumed",         "reattached",
                            "suspected",       "back",
                            "lost in silence", "stopped early",
                            "restores",        "next leases"}) {
    EXPECT_GT(happened[fault], 2) << fault;
  }
}

// What a failing seed prints is enough to see it fail again.
TEST(SimulationTest, ASeedIsReplayed) {
  SetLogLevel(LogLevel::kOff);
  std::string events[2];
  for (std::string& text : events) {
    const std::filesystem::path folder = FreshFolder("replay");
    {
      Simulation simulation(4, folder);
      ASSERT_EQ(simulation.Run(), "");
    }
    const auto database = Database::OpenReadOnly(folder / "results.db");
    ASSERT_TRUE(database.ok()) << database.status();
    auto rows = database->Prepare(
        "SELECT group_concat(at || kind || ifnull(job_id, '') || ifnull(attempt, '')) FROM events");
    ASSERT_TRUE(rows.ok() && *rows->Step()) << rows.status();
    text = rows->Text(0);
    std::filesystem::remove_all(folder);
  }
  EXPECT_GT(events[0].size(), 1000u);
  EXPECT_EQ(events[0], events[1]);
}

}  // namespace
}  // namespace gyre
