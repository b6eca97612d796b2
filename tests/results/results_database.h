#pragma once

// A small results database for tests, filled by hand.

#include <filesystem>
#include <optional>
#include <string>

#include "results/database.h"

namespace gyre {

/// The file is in a folder of its own under the temporary folder and goes away with the object.
class ResultsDatabase {
 public:
  ResultsDatabase();
  ~ResultsDatabase();

  const std::filesystem::path& path() const { return path_; }
  Database& database() { return *database_; }

  int64_t AddSweep(const std::string& name, const std::string& baseline = "");
  /// Compared with the sweep's baseline, if that has been added before.
  int64_t AddVariant(int64_t sweep, const std::string& name,
                     const std::string& precision = "float32");

  struct JobRow {
    uint64_t seed = 0;
    std::string state = "SUCCEEDED";
    int64_t tokens_budget = 1000;
    std::optional<int64_t> tokens_done;  // the budget if the job has succeeded, else 0
    std::optional<int64_t> reused_from;
    std::optional<int64_t> diverged_at_step;
    std::string error;
  };
  int64_t AddJob(int64_t sweep, int64_t variant, const JobRow& row);
  void AddPoint(int64_t job, const std::string& metric, int64_t step, int64_t tokens, double value,
                int attempt = 1);
  /// The arrays as JSON.
  void AddDocuments(int64_t job, const std::string& set, int64_t step, const std::string& targets,
                    const std::string& nats);
  int64_t AddWorker(const std::string& name);
  void AddAttempt(int64_t job, int number, int64_t worker, const std::string& state,
                  double tokens_per_second, const std::string& fingerprint = "");

  /// A finished job with one point of "austen/perplexity" at its end.
  int64_t AddFinished(int64_t sweep, int64_t variant, uint64_t seed, double perplexity,
                      int64_t tokens = 1000);

 private:
  void Run(Statement& statement);

  std::filesystem::path folder_, path_;
  std::optional<Database> database_;
};

}  // namespace gyre
