#pragma once

// Reads what each seed of a sweep came to, for comparisons. Belongs to one thread, like the
// database.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "results/compare.h"
#include "results/database.h"

namespace gyre {

struct SeedReaderOptions {
  std::string metric;
  int64_t at_tokens = 0;   // as in CompareOptions
  bool curves = false;     // SeedResult::curve
  bool documents = false;  // SeedResult::documents, where the metric is made of them
};

/// The validation set of which the metric is the mean loss over documents, or a function of it;
/// empty: none.
std::string DocumentSet(const std::string& metric, int64_t at_tokens);

/// The statements of one comparison, prepared once.
class SeedReader {
 public:
  static Result<SeedReader> Create(const Database& database, const SeedReaderOptions& options);

  /// The variants of a sweep in its file's order, each with its seeds in ascending order. Values
  /// are left out where the job does not count: it diverged, or has not come far enough.
  Result<std::vector<VariantResults>> Read(int64_t sweep_id);

 private:
  /// A row of `jobs`, and what a twin or a reused job has from its source.
  struct Job {
    int64_t source = 0, tokens_done = 0;
    std::string_view precision;  // that its variant asks for
  };

  SeedReader(const Database* database, SeedReaderOptions options)
      : database_(database),
        options_(std::move(options)),
        set_(DocumentSet(options_.metric, options_.at_tokens)) {}
  Status Prepare();
  Result<std::vector<VariantResults>> ReadVariants(int64_t sweep_id, std::vector<int64_t>* ids,
                                                   std::vector<std::string>* precisions);
  Status ReadSeed(const Job& job, SeedResult* seed);
  Status ReadValue(const Job& job, SeedResult* seed);
  Status ReadCurve(const Job& job, SeedResult* seed);
  Status ReadDocuments(const Job& job, SeedResult* seed);

  const Database* database_;
  SeedReaderOptions options_;
  std::string set_;
  std::optional<Statement> point_, speed_, missing_, curve_, documents_;
};

}  // namespace gyre
