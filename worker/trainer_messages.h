#pragma once

// The lines of trainer/serve.h, from the worker's side: commands as text, what the trainer says as
// structs. Pure.

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"
#include "worker/coordinator_client.h"

namespace gyre {

struct TrainerHello {
  int protocol = 0;
  std::string version;
  std::string fingerprint;  // JSON: of a job on the CPU, without "threads" and "precision"
  std::vector<std::string> precisions;
};

/// What the bits of the attempt depend on, as JSON.
struct TrainerStarted {
  std::string fingerprint;
};

struct TrainerDone {
  int64_t step = 0, tokens = 0;
  bool stopped = false;
  std::optional<int64_t> diverged_at_step;
  double tokens_per_second = 0;
  int64_t peak_memory_bytes = 0;
};

/// Something could not be written for want of room. The job goes on, or waits for room.
struct TrainerDiskFull {
  std::string message;
};

struct TrainerError {
  Status status;
};

using TrainerMessage = std::variant<TrainerHello, TrainerStarted, Point, StatisticsText, Progress,
                                    Checkpoint, TrainerDiskFull, TrainerDone, TrainerError>;

/// One line without its end. INVALID_ARGUMENT says what is wrong with it.
Result<TrainerMessage> ParseTrainerMessage(std::string_view line);

/// What a job asks for and its device has not got, so that it trains in float32; or empty.
std::string MissingPrecision(const TrainerStarted& started, const Lease& lease);

/// Which trainer of an attempt.
struct RankPlace {
  int rank = 0, world = 1;
  std::string rendezvous;  // a folder
};

/// The "run" line. The ranks of a job share its cpus out among them. INVALID_ARGUMENT: the lease's
/// job is not JSON.
Result<std::string> RunCommand(const Lease& lease, const std::string& home,
                               const RankPlace& place = {});
inline constexpr std::string_view kCheckpointCommand = "{\"type\":\"checkpoint\"}\n";
inline constexpr std::string_view kStopCommand = "{\"type\":\"stop\"}\n";

}  // namespace gyre
