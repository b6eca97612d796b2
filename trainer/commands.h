#pragma once

// The commands of gyre-trainer, each in a file of its name. They return the process's exit code: 0
// done, 1 the work failed, 2 bad input or usage, 130 interrupted.

#include <ostream>
#include <string>
#include <vector>

#include "base/status.h"

namespace gyre {

int TrainCommand(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err);
int ServeCommand(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err);
int VerifyCommand(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err);
int InspectCommand(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err);
int EvalCommand(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err);
int DevicesCommand(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err);

/// Says what went wrong; returns the exit code for it.
int ReportFailure(const Status& status, std::ostream& err);

}  // namespace gyre
