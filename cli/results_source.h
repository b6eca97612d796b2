#pragma once

// Where commands that only read get results from: a coordinator, or a database file in place of
// one.

#include <memory>
#include <string>
#include <vector>

#include "cli/sweep_client.h"
#include "results/compare.h"
#include "results/job_weights.h"

namespace gyre {

class ResultsSource {
 public:
  /// `database` empty: connects to `coordinator`.
  static Result<ResultsSource> Open(const std::string& coordinator, const std::string& database);

  Result<QueryTable> Query(const std::string& sql) const;
  Result<Comparison> Compare(const std::vector<std::string>& sweeps,
                             const CompareOptions& options) const;
  /// Query(), as a function that lives no longer than the source.
  AskSql ask() const {
    return [this](const std::string& sql) { return Query(sql); };
  }

 private:
  std::string database_;
  std::unique_ptr<SweepClient> client_;  // null: the file is read
};

}  // namespace gyre
