#pragma once

// How the ranks of one attempt find each other: a folder, new for each attempt, that all of them
// see. Each says there that it has come and what it is about to do, so that ranks of different jobs
// never add up; what they tell each other lies there as files. A rank holds a lock on its file as
// long as its process lives, so that the others can tell whether it is gone. The first rank that
// fails leaves a word there why, for the others' errors.
//
// Threads: any.

#include <filesystem>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/status.h"

namespace gyre {

/// How long a rank waits for another that lives and does not come. Longer than whatever one of them
/// does alone: rank 0 writes a checkpoint meanwhile.
inline constexpr Millis kRankTimeout{15 * 60 * 1000};

struct RankOptions {
  int rank = 0, world = 1;  // of how many
  std::filesystem::path folder;
  std::string purpose;  // the same for all ranks, else they do not go together; one line
  Millis timeout = kRankTimeout;
};

class Rendezvous {
 public:
  /// Returns when all ranks have come. ALREADY_EXISTS: somebody has been this rank in this folder.
  /// INVALID_ARGUMENT: no such rank, or the ranks do not go together. UNAVAILABLE: one of them is
  /// gone. DEADLINE_EXCEEDED: one did not come.
  static Result<std::unique_ptr<Rendezvous>> Join(const RankOptions& options);
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  const RankOptions& options() const { return options_; }

  /// Tells all others; each name once.
  Status Put(const std::string& name, std::string_view content);
  /// What another rank has put there; waits for it. UNAVAILABLE: a rank is gone or has failed.
  Result<std::string> Get(const std::string& name) const;

  /// Says why the ranks go no further, unless one has said so before.
  void Fail(const std::string& why);
  /// What the first has said; empty = nothing.
  std::string Failure() const;
  /// "rank 2 is gone"; empty = all that have come are still there.
  std::string WhoIsGone() const;

 private:
  explicit Rendezvous(const RankOptions& options) : options_(options) {}
  Status TakeRank();
  Status AwaitRank(int rank) const;
  std::filesystem::path PathOfRank(int rank) const;

  const RankOptions options_;
  int lock_ = -1;  // of this rank's file
};

}  // namespace gyre
