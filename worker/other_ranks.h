#pragma once

// The trainers of one attempt beside the first, for a job on several devices: one child a rank,
// from 1 on. The first (slot.h) says everything that an attempt says and is told whatever it is
// told, since ranks do alike; these are watched for one that fails, and end together with the
// attempt.
//
// Threads: one starts, watches and ends them; Kill may come from any.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "worker/trainer_process.h"

namespace gyre {

/// How many processes a job runs in: one a GPU that the lease has, else `cpu_ranks`.
int RanksOf(const Lease& lease, int cpu_ranks);

/// Beside the log of an attempt's first trainer, that of another.
std::filesystem::path LogPathOfRank(const std::filesystem::path& first, int rank);

/// The first rank that has failed by itself, not because another one has.
struct RankFailure {
  int rank = 0;
  Status error;            // what it said, with its rank; OK: it has ended without a word
  ChildEnd how;            // then
  std::string last_lines;  // of its log
};

struct OtherRanksOptions {
  std::filesystem::path program;
  int world = 1;
  std::filesystem::path log;  // of the first; theirs lie beside it
  std::function<void(std::string_view)>
      hand_on;  // what they log, by lines that begin with the rank
  Millis greeting{30000};
  Millis exit_grace{2000};
};

class OtherRanks {
 public:
  /// All have said hello. From a thread that lives on (child_process.h).
  static Result<std::unique_ptr<OtherRanks>> Start(const OtherRanksOptions& options);
  /// Ends them.
  ~OtherRanks();

  /// Each rank's command; UNAVAILABLE: one does not listen, and Look says why.
  Status Run(const std::function<std::string(int rank)>& command, Millis timeout);
  /// What has happened since the last look.
  std::optional<RankFailure> Look();
  /// Looks again and again for `patience`: the others hear of a failure before the failed has
  /// ended.
  std::optional<RankFailure> AwaitFailure(Millis patience);
  void Kill();

 private:
  explicit OtherRanks(const OtherRanksOptions& options)
      : options_(options), ended_(static_cast<size_t>(options.world)) {}
  std::optional<RankFailure> LookAt(int rank);

  const OtherRanksOptions options_;
  std::vector<std::unique_ptr<TrainerProcess>> trainers_;  // of rank 1 on
  std::vector<bool> ended_;                                // those that Look has found dead
};

}  // namespace gyre
