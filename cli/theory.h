#pragma once

// The experiments of `gyre theory`, one file each. They add themselves as AddXCommand() do
// (cli/command.h).

#include <CLI/CLI.hpp>

namespace gyre {

void AddTheoryDecay(CLI::App* theory, int* exit_code);
void AddTheoryPropositions(CLI::App* theory, int* exit_code);
void AddTheoryPositionalBudget(CLI::App* theory, int* exit_code);
void AddTheorySemanticFailure(CLI::App* theory, int* exit_code);
void AddTheoryBaseBound(CLI::App* theory, int* exit_code);

}  // namespace gyre
