#include "results/compare.h"

#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/coordinator_option.h"
#include "cli/exit_code.h"
#include "cli/output_comparison.h"
#include "cli/results_source.h"
#include "cli/terminal.h"
#include "sweeps/spec/scalar.h"

namespace gyre {
namespace {

struct Arguments {
  std::vector<std::string> sweeps;
  CompareOptions options;
  std::string at;     // tokens, as in a sweep: 10M
  std::string reach;  // a value of the metric
  std::string coordinator, database;
  OutputFormat format = OutputFormat::kTable;
};

Result<Comparison> MakeComparison(const Arguments& arguments) {
  GYRE_ASSIGN_OR_RETURN(const ResultsSource source,
                        ResultsSource::Open(arguments.coordinator, arguments.database));
  return source.Compare(arguments.sweeps, arguments.options);
}

Result<int64_t> ReadTokens(const std::string& text) {
  const Reading<Number> number = ReadNumber(text, "a number of tokens");
  if (number.value && number.value->whole && *number.value->whole > 0) return *number.value->whole;
  return InvalidArgument("--at must be a number of tokens, like 500000 or 10M, and is '" + text +
                         "'");
}

Result<double> ReadLevel(const std::string& text) {
  const Reading<Number> number = ReadNumber(text, "a loss");
  if (number.value) return number.value->value;
  return InvalidArgument("--reach must be a value of the metric, like 2.5, and is '" + text + "'");
}

int RunCompare(Arguments arguments) {
  if (!arguments.reach.empty()) {
    const Result<double> level = ReadLevel(arguments.reach);
    if (!level.ok()) return Fail(level.status());
    arguments.options.reach = *level;
  }
  if (arguments.format == OutputFormat::kCsv && arguments.options.by_step &&
      arguments.options.reach) {
    return Fail(InvalidArgument("--by-step and --reach are two tables, and CSV has room for one"));
  }
  if (!arguments.at.empty()) {
    const Result<int64_t> tokens = ReadTokens(arguments.at);
    if (!tokens.ok()) return Fail(tokens.status());
    arguments.options.at_tokens = *tokens;
  }
  const Result<Comparison> comparison = MakeComparison(arguments);
  if (!comparison.ok()) return Fail(comparison.status());
  const int width = TerminalOf(STDOUT_FILENO).width;
  std::fputs(RenderComparison(*comparison, arguments.format, width).c_str(), stdout);
  return kExitDone;
}

}  // namespace

void AddCompareCommand(CLI::App& app, int* exit_code) {
  auto* command = app.add_subcommand(
      "compare", "Compare variants: mean over seeds, paired differences, intervals");
  command->footer(
      "A row a variant: mean and standard deviation over seeds, the difference to the baseline "
      "paired\n"
      "seed by seed with its 95% interval and p-value (Student's t), and the p-value that allows "
      "for all\n"
      "comparisons of the table (Holm). Perplexities are compared by their logarithm, in nats. The "
      "interval\n"
      "over seeds is about another training run, the one over documents about other text. "
      "'needed' is how\n"
      "many seeds would show the observed difference in 4 of 5 tries, roughly. In CSV, text that a "
      "spreadsheet\n"
      "would take for a formula begins with a '. docs/comparisons.md explains it all.\n\n"
      "Examples:\n"
      "  gyre compare quickstart --db results.db\n"
      "  gyre compare table-2 --metric gcide/loss_sample --at 10M --format csv\n"
      "  gyre compare table-2 --by-step\n"
      "  gyre compare table-2 --reach 2.5");
  auto arguments = std::make_shared<Arguments>();
  command->add_option("SWEEP", arguments->sweeps, "Names of sweeps")->required();
  command->add_option("--metric", arguments->options.metric,
                      "What to compare (default: perplexity on the first validation set; for "
                      "curves, its loss_sample)");
  command->add_option("--baseline", arguments->options.baseline,
                      "VARIANT, or SWEEP/VARIANT (default: the sweep's)");
  auto* at = command->add_option("--at", arguments->at,
                                 "Compare as of these tokens (default: at the end)");
  at->type_name("TOKENS");
  command
      ->add_flag("--by-step", arguments->options.by_step, "The difference at each evaluated step")
      ->excludes(at);
  command
      ->add_option("--reach", arguments->reach,
                   "The tokens at which the curves first come down to this value")
      ->type_name("LOSS")
      ->excludes(at);
  auto* documents = command->add_flag_callback(
      "--documents", [arguments] { arguments->options.documents = true; },
      "Intervals over validation documents (default: with at most " +
          std::to_string(kMostVariantsWithDocuments) + " variants)");
  command
      ->add_flag_callback(
          "--no-documents", [arguments] { arguments->options.documents = false; }, "None of them")
      ->excludes(documents);
  AddCoordinatorOption(command, &arguments->coordinator);
  AddDatabaseOption(command, &arguments->database);
  AddFormatOption(command, &arguments->format);
  command->callback([arguments, exit_code] { *exit_code = RunCompare(*arguments); });
}

}  // namespace gyre
