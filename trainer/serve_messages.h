#pragma once

// The lines of serve.h, as structs and text. Pure.

#include <string>
#include <string_view>
#include <variant>

#include "base/status.h"
#include "trainer/collective/rendezvous.h"
#include "trainer/trainer.h"

namespace gyre {

struct RunRequest {
  TrainerJob job;
  TrainOptions options;
  RankOptions place;
};
struct CheckpointRequest {};
struct StopRequest {};
using ServeRequest = std::variant<RunRequest, CheckpointRequest, StopRequest>;

/// One line without its end. INVALID_ARGUMENT says what is wrong with it.
Result<ServeRequest> ParseServeRequest(std::string_view line);

/// Lines with their end.
std::string HelloLine();
std::string StartedLine(const Json& fingerprint);
std::string PointLine(const PointValue& point);
std::string StatisticsLine(const StatisticsRecord& record);
std::string ProgressLine(const TrainProgress& progress);
std::string CheckpointLine(const CheckpointInfo& checkpoint);
std::string DiskFullLine(const std::string& message);
std::string DoneLine(const TrainOutcome& outcome);
std::string ErrorLine(const Status& status);

}  // namespace gyre
