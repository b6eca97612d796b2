#pragma once

// From the words on the command line to the command they name.

#include <CLI/CLI.hpp>

namespace gyre {

/// Parses and runs. Usage errors go to stderr, with the nearest known command for a misspelt one,
/// and give kExitBadInput; --help and its like give kExitDone; else what the command's callback
/// left in `*exit_code`.
int ParseAndRun(CLI::App& app, int argc, char** argv, const int* exit_code);

}  // namespace gyre
