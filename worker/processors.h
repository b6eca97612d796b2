#pragma once

// Jobs on processors of their own: the threads of a trainer that stay where they are keep their
// caches, and several trainers on one machine stay out of each other's way. A processor is one
// job's at a time, whichever worker of the machine runs it; a job that finds too few free ones runs
// wherever the system puts it, which is right when more is asked of a machine than it has.
//
// Threads: claims may be made from any; each is one thread's.

#include <filesystem>
#include <string>
#include <vector>

#include "base/status.h"

namespace gyre {

/// The processors that this process may use, in the order in which jobs should get them: the first
/// of each core before the second of any (they share its arithmetic), those of a package together.
/// Empty where a quota of time gives less than all of them: which ones are free is then nothing
/// that a container could know.
std::vector<int> ProcessorsForJobs(const std::filesystem::path& root = "/");

/// Processors that are nobody else's as long as this lives, and until the process ends at most.
class ProcessorClaim {
 public:
  /// `count` of `processors`, the first that are free, or none if there are too few. Claims by
  /// another `owner` don't count.
  static ProcessorClaim Make(const std::vector<int>& processors, int count,
                             const std::string& owner);
  ProcessorClaim() = default;
  ProcessorClaim(ProcessorClaim&& other) noexcept;
  ProcessorClaim& operator=(ProcessorClaim&& other) noexcept;
  ~ProcessorClaim();

  /// By their number in the system.
  const std::vector<int>& processors() const { return processors_; }

 private:
  std::vector<int> processors_, locks_;
};

/// All threads of process `pid`, and those that they start later, run on these processors alone.
Status RunOn(int pid, const std::vector<int>& processors);

}  // namespace gyre
