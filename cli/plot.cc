#include "results/plots/plot.h"

#include <limits>
#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/coordinator_option.h"
#include "cli/exit_code.h"
#include "cli/picture_file.h"
#include "cli/results_source.h"
#include "sweeps/spec/nearest.h"

namespace gyre {
namespace {

struct Arguments {
  PlotOptions options;
  std::string spread, output, coordinator, database;
};

Result<SeedSpread> ReadSpread(const std::string& word) {
  if (word == "range") return SeedSpread::kRange;
  if (word == "std") return SeedSpread::kStd;
  if (word == "interval") return SeedSpread::kInterval;
  if (word == "none") return SeedSpread::kNone;
  return InvalidArgument("--spread must be range, std, interval or none, and is '" + word + "'");
}

Status CheckKind(const std::string& kind) {
  std::vector<std::string> names;
  for (const PlotKind& known : PlotKinds()) {
    if (known.name == kind) return OkStatus();
    names.push_back(known.name);
  }
  const std::string advice = DidYouMean(kind, names);
  return InvalidArgument("there is no plot of the kind '" + kind + "'; " +
                         (advice.empty() ? "there are: " + List(names, names.size()) : advice));
}

Status Draw(Arguments arguments) {
  GYRE_RETURN_IF_ERROR(CheckKind(arguments.options.kind));
  const std::string path = arguments.output.empty()
                               ? arguments.options.sweep + "-" + arguments.options.kind + ".svg"
                               : arguments.output;
  GYRE_ASSIGN_OR_RETURN(const PictureFile file, PictureFile::At(path));
  if (!arguments.spread.empty()) {
    GYRE_ASSIGN_OR_RETURN(arguments.options.spread, ReadSpread(arguments.spread));
  }
  GYRE_ASSIGN_OR_RETURN(const ResultsSource source,
                        ResultsSource::Open(arguments.coordinator, arguments.database));
  GYRE_ASSIGN_OR_RETURN(const Plot plot, MakePlot(arguments.options, source.ask()));
  GYRE_RETURN_IF_ERROR(file.Write(plot));
  for (const std::string& note : plot.notes) Say(note);
  Say(plot.title + ": " + path);
  return OkStatus();
}

std::string Footer() {
  std::string footer = "Kinds:\n";
  for (const PlotKind& kind : PlotKinds()) {
    footer += "  " + kind.name + std::string(16 - kind.name.size(), ' ') + kind.what + "\n";
  }
  return footer +
         "\nThe picture is drawn by gnuplot; -o FILE.csv writes the rows that it shows instead. "
         "Jobs that diverged,\nfailed or have not finished are left out of means, and that is "
         "said.\n\n"
         "Examples:\n"
         "  gyre plot quickstart curve --db results.db\n"
         "  gyre plot quickstart curve --difference -o difference.pdf --db results.db\n"
         "  gyre plot table-2 frequencies --tensor k --variant RoPE-10k -o keys.png\n"
         "  gyre plot table-2 tokens --variant RoPE-10k --layer 3 --head 1\n"
         "  gyre plot p-grid p --spread std -o p.csv\n";
}

}  // namespace

void AddPlotCommand(CLI::App& app, int* exit_code) {
  auto* command = app.add_subcommand("plot", "Draw a sweep's results: SVG, PNG, PDF, or CSV");
  command->footer(Footer());
  auto arguments = std::make_shared<Arguments>();
  PlotOptions& options = arguments->options;
  command->add_option("SWEEP", options.sweep, "Its name")->required();
  command->add_option("KIND", options.kind, "What to draw, see below")->required();
  command
      ->add_option("-o,--output", arguments->output,
                   "FILE.svg, .png, .pdf or .csv (default: SWEEP-KIND.svg)")
      ->type_name("FILE");
  command->add_option("--metric", options.metric,
                      "What to show (default: loss on the first "
                      "validation set)");
  command->add_option("--variant", options.variants, "Only this one; may be given more than once")
      ->allow_extra_args(false);
  command->add_option("--seed", options.seed, "Only this one (default: the mean over seeds)")
      ->check(CLI::Range(int64_t{0}, std::numeric_limits<int64_t>::max()));
  command->add_option("--tensor", options.tensor, "q, k or v (default: q; for tokens, q and k)");
  command->add_option("--layer", options.layer, "Counting from 0");
  command->add_option("--head", options.head, "Counting from 0");
  command->add_option("--step", options.step,
                      "Statistics taken after this step (default: each job's last)");
  command->add_flag("--without-first", options.without_first,
                    "Norms that leave out each window's first token");
  command->add_option("--spread", arguments->spread,
                      "Bands and bars over seeds: range, std (mean ± standard deviation), interval "
                      "(95% of the mean) or none");
  command->add_flag("--difference", options.difference,
                    "The difference to the baseline, seed by seed");
  command->add_option("--baseline", options.baseline,
                      "For --difference: a variant (default: the sweep's baseline)");
  AddCoordinatorOption(command, &arguments->coordinator);
  AddDatabaseOption(command, &arguments->database);
  command->callback([arguments, exit_code] {
    const Status status = Draw(*arguments);
    *exit_code = status.ok() ? kExitDone : Fail(status);
  });
}

}  // namespace gyre
