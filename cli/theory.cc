#include "cli/theory.h"

#include "cli/command.h"

namespace gyre {

void AddTheoryCommand(CLI::App& app, int* exit_code) {
  auto* theory =
      app.add_subcommand("theory", "The paper's synthetic experiments and theorems, computed");
  theory->require_subcommand(1);
  theory->footer(
      "Barbero et al., \"Round and Round We Go!\" (arXiv 2410.06205); no model and no data are "
      "needed. Rows and\nwhat they show are printed; -o draws them. docs/theory.md has every "
      "formula.\n\n"
      "Examples:\n"
      "  gyre theory decay -o figure-2a.png\n"
      "  gyre theory semantic-failure --p 1 --p 0.75");
  AddTheoryDecay(theory, exit_code);
  AddTheoryPropositions(theory, exit_code);
  AddTheoryPositionalBudget(theory, exit_code);
  AddTheorySemanticFailure(theory, exit_code);
  AddTheoryBaseBound(theory, exit_code);
}

}  // namespace gyre
