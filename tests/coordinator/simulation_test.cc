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
  uint64_t first = 1, count = 100;
  if (const char* given = std::getenv("GYRE_SIMULATION_SEEDS")) {
    ASSERT_EQ(std::sscanf(given, "%lu,%lu", &first, &count), 2) << given;
  }
  int restarts = 0, deaths = 0, cuts = 0, full_disks = 0, resumed = 0, refused = 0;
  int pauses = 0, retried = 0, memory_failures = 0;
  int reattached = 0, suspected = 0, back = 0;
  const std::filesystem::path folder = FreshFolder("simulation");
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const std::filesystem::path run = folder / std::to_string(seed);
    std::filesystem::create_directories(run);
    Simulation simulation(seed, run / "results.db");
    const std::string failure = simulation.Run();
    ASSERT_EQ(failure, "") << "replay with GYRE_SIMULATION_SEEDS=" << seed << ",1; database in "
                           << run;
    restarts += simulation.restarts;
    deaths += simulation.deaths;
    cuts += simulation.cuts;
    full_disks += simulation.full_disks;
    resumed += simulation.resumed;
    refused += simulation.refused;
    pauses += simulation.pauses;
    retried += simulation.retried;
    memory_failures += simulation.memory_failures;
    reattached += simulation.reattached;
    suspected += simulation.suspected;
    back += simulation.back;
    std::filesystem::remove_all(run);
  }
  std::filesystem::remove_all(folder);
  if (count < 100) return;
  // That the faults did happen.
  EXPECT_GT(restarts, 50);
  EXPECT_GT(deaths, 50);
  EXPECT_GT(cuts, 50);
  EXPECT_GT(full_disks, 50);
  EXPECT_GT(resumed, 50);
  EXPECT_GT(refused, 5);
  EXPECT_GT(pauses, 50);
  EXPECT_GT(retried, 20);
  EXPECT_GT(memory_failures, 10);
  EXPECT_GT(reattached, 10);
  EXPECT_GT(suspected, 20);
  EXPECT_GT(back, 5);
}

}  // namespace
}  // namespace gyre
