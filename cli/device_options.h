#pragma once

// What a worker trains on, and how many jobs at a time: of `gyre worker` and `gyre run` alike.

#include <CLI/CLI.hpp>

#include "worker/agent.h"

namespace gyre {

/// --devices, --slots and --slots-per-gpu. `options` outlives the command.
void AddDeviceOptions(CLI::App* command, WorkerOptions* options);

}  // namespace gyre
