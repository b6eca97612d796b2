#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "base/files.h"
#include "cli/command.h"
#include "cli/coordinator_option.h"
#include "cli/exit_code.h"
#include "cli/gnuplot.h"
#include "cli/output_comparison.h"
#include "cli/output_report.h"
#include "cli/output_table.h"
#include "cli/results_source.h"
#include "results/plots/plot.h"

namespace gyre {
namespace {

struct Arguments {
  std::string sweep, output, coordinator, database;
};

// The metrics that variants are compared by: the perplexity of every validation set.
Result<std::vector<std::string>> Metrics(const std::string& sweep, const AskSql& ask) {
  std::string name = sweep;
  for (size_t at = 0; (at = name.find('\'', at)) != std::string::npos; at += 2)
    name.insert(at, "'");
  GYRE_ASSIGN_OR_RETURN(const QueryTable rows,
                        ask("SELECT DISTINCT p.metric FROM jobs j JOIN sweeps s ON s.id = "
                            "j.sweep_id JOIN points p ON "
                            "p.job_id = coalesce(j.reused_from, j.id) WHERE s.name = '" +
                            name + "' AND p.metric LIKE '%/perplexity' ORDER BY 1"));
  std::vector<std::string> metrics;
  for (const auto& row : rows.rows) metrics.push_back(std::get<std::string>(row[0]));
  return metrics;
}

// Before anything has been validated whole, what is known of the curves.
Status AddComparisons(const ResultsSource& source, const std::string& sweep, Report* report) {
  GYRE_ASSIGN_OR_RETURN(std::vector<std::string> metrics, Metrics(sweep, source.ask()));
  if (metrics.empty()) metrics.push_back("");
  for (const std::string& metric : metrics) {
    const Result<Comparison> comparison = source.Compare({sweep}, {.metric = metric});
    if (comparison.ok()) {
      report->comparisons.push_back(ComparisonSection(*comparison));
    } else if (metric.empty() && comparison.status().code() == StatusCode::kNotFound) {
      report->left_out.push_back("comparison: " + comparison.status().message());
    } else {
      return comparison.status();
    }
  }
  return OkStatus();
}

// Of every kind of plot the one that is drawn without options, and the curves once more as
// differences.
std::vector<PlotOptions> WantedPlots(const std::string& sweep) {
  std::vector<PlotOptions> wanted;
  for (const PlotKind& kind : PlotKinds()) {
    wanted.push_back({.sweep = sweep, .kind = kind.name});
    if (kind.name == "curve") {
      wanted.push_back({.sweep = sweep, .kind = kind.name, .difference = true});
    }
  }
  return wanted;
}

// Kinds that the sweep has no data for are named in the page. Where there is no gnuplot, the rows
// are there all the same.
Status AddFigures(const ResultsSource& source, const std::string& sweep, Report* report,
                  std::string* problem) {
  for (const PlotOptions& options : WantedPlots(sweep)) {
    const Result<Plot> plot = MakePlot(options, source.ask());
    if (!plot.ok()) {
      const StatusCode code = plot.status().code();
      if (code != StatusCode::kNotFound && code != StatusCode::kFailedPrecondition &&
          code != StatusCode::kInvalidArgument && code != StatusCode::kResourceExhausted) {
        return plot.status();
      }
      report->left_out.push_back(options.kind + ": " + plot.status().message());
      continue;
    }
    ReportFigure figure{
        plot->title, "", RenderCsv(plot->rows),
        sweep + "-" + options.kind + (options.difference ? "-difference" : "") + ".csv",
        plot->notes};
    Result<std::string> picture = DrawPicture(*plot, PictureFormat::kSvg);
    if (picture.ok()) {
      figure.svg = *std::move(picture);
    } else {
      *problem = picture.status().message();
      figure.notes.push_back("Not drawn: " + *problem);
    }
    report->figures.push_back(std::move(figure));
  }
  return OkStatus();
}

Status WriteReport(const Arguments& arguments) {
  const std::filesystem::path path =
      arguments.output.empty() ? arguments.sweep + ".html" : arguments.output;
  GYRE_ASSIGN_OR_RETURN(const ResultsSource source,
                        ResultsSource::Open(arguments.coordinator, arguments.database));
  Report report;
  report.program = GYRE_VERSION;
  GYRE_ASSIGN_OR_RETURN(report.facts, ReadReportFacts(arguments.sweep, source.ask()));
  GYRE_RETURN_IF_ERROR(AddComparisons(source, arguments.sweep, &report));
  std::string problem;
  GYRE_RETURN_IF_ERROR(AddFigures(source, arguments.sweep, &report, &problem));
  GYRE_RETURN_IF_ERROR(WriteFileAtomically(path, RenderReport(report)));
  if (!problem.empty()) Say("the page has no pictures, only their rows: " + problem);
  Say(report.facts.sweep + ": " + std::to_string(report.figures.size()) +
      (report.figures.size() == 1 ? " plot in " : " plots in ") + path.string());
  return OkStatus();
}

}  // namespace

void AddReportCommand(CLI::App& app, int* exit_code) {
  auto* command = app.add_subcommand("report", "A sweep's results as one HTML page");
  command->footer(
      "The question, the comparison, every plot that the sweep has data for (with its rows as "
      "CSV), "
      "the\nconfiguration and where it all comes from: texts, machines, libraries, attempts that "
      "ended badly.\nThe page needs no other file and no network, and the same results give the "
      "same page.\n\n"
      "Examples:\n"
      "  gyre report quickstart --db results.db\n"
      "  gyre report table-2 -o table-2.html");
  auto arguments = std::make_shared<Arguments>();
  command->add_option("SWEEP", arguments->sweep, "Its name")->required();
  command->add_option("-o,--output", arguments->output, "The page (default: SWEEP.html)")
      ->type_name("FILE.html");
  AddCoordinatorOption(command, &arguments->coordinator);
  AddDatabaseOption(command, &arguments->database);
  command->callback([arguments, exit_code] {
    const Status status = WriteReport(*arguments);
    *exit_code = status.ok() ? kExitDone : Fail(status);
  });
}

}  // namespace gyre
