#pragma once

// A coordinator and workers as real processes on loopback, a small sweep for them, and a look into
// their database.

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "tests/integration/process.h"

namespace gyre {

/// What a query answers: a text a row, doubles by their bits, columns apart by '|'. Empty where the
/// file cannot be read (yet).
using Rows = std::vector<std::string>;
Rows Select(const std::filesystem::path& database, const std::string& sql);

class ClusterTest : public ::testing::Test {
 protected:
  static constexpr Millis kDeadline{120000};
  static constexpr int kJobs = 8;  // of the sweep

  ClusterTest();
  /// Kills what runs. The folder stays where the test has failed.
  ~ClusterTest() override;

  /// 4 variants x 2 seeds, 384 steps each with a checkpoint every 16, of a few seconds in all.
  std::filesystem::path WriteSweep(const std::string& name);

  /// A command with GYRE_HOME in a folder of that name; its words go to the log.
  Process Gyre(std::vector<std::string> arguments, const std::string& home, const std::string& log);
  void StartCoordinator();         // with leases of 1.5 s
  void StartWorker(size_t index);  // called w0, w1, ..., one slot
  int Submit(const std::filesystem::path& sweep, std::vector<std::string> more = {});

  static bool Await(const std::function<bool()>& condition) {
    return gyre::Await(condition, kDeadline);
  }
  /// Of rows: "jobs WHERE state = 'QUEUED'".
  int64_t Count(const std::string& table_and_condition) const;
  /// Index of a worker whose running attempt has points of its own, or -1.
  int BusyWorker() const;
  /// That many more points than now, and a busy worker.
  bool AwaitMorePoints(int count) const;

  // Folders of GYRE_HOME, one for all unless a test says otherwise.
  std::string home_of_coordinator_ = "home", home_of_client_ = "home";
  std::function<std::string(size_t)> home_of_worker_ = [](size_t) { return "home"; };
  std::vector<std::string> options_of_coordinator_, options_of_worker_;

  const std::filesystem::path folder_;
  const int port_;
  const std::string address_;
  const std::filesystem::path db_;
  std::optional<Process> coordinator_;
  std::vector<Process> workers_;
};

}  // namespace gyre
