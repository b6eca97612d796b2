#pragma once

// Commands that take SWEEP|JOB and change what becomes of it: cancel, pause, resume, retry.
//
// Digits alone are a job's number, as `gyre status` shows it; all else is a sweep's name. A sweep
// whose name is digits alone is written sweep:NAME.

#include <CLI/CLI.hpp>
#include <string>

#include "cli/sweep_client.h"

namespace gyre {

SweepOrJob ParseTarget(const std::string& text);

struct TargetCommand {
  const char *name, *summary, *footer;
  Result<TargetAnswer> (SweepClient::*call)(const SweepOrJob&);
  /// The line to print.
  std::string (*say)(const TargetAnswer&);
};

void AddTargetCommand(CLI::App& app, const TargetCommand& command, int* exit_code);

/// "1 job", "3 jobs".
std::string Jobs(int count);

}  // namespace gyre
