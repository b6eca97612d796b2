#pragma once

// The lines of serve.h, as structs and text. Pure.

#include <string>
#include <string_view>
#include <variant>

#include "base/status.h"
#include "trainer/trainer.h"

namespace gyre {

struct RunCommandLine {
  TrainerJob job;
  TrainOptions options;
};
struct CheckpointCommandLine {};
struct StopCommandLine {};
using ServeCommand = std::variant<RunCommandLine, CheckpointCommandLine, StopCommandLine>;

/// One line without its end. INVALID_ARGUMENT says what is wrong with it.
Result<ServeCommand> ParseServeCommand(std::string_view line);

/// Lines with their end.
std::string HelloLine();
std::string PointLine(const PointValue& point);
std::string ProgressLine(const TrainProgress& progress);
std::string CheckpointLine(const CheckpointInfo& checkpoint);
std::string DoneLine(const TrainOutcome& outcome, const Json& fingerprint);
std::string ErrorLine(const Status& status);

}  // namespace gyre
