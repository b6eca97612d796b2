#include "results/plots/plot.h"

#include <algorithm>

#include "results/plots/gnuplot_text.h"
#include "results/plots/kinds.h"

namespace gyre {
namespace {

struct KindRow {
  PlotKind kind;
  PlotMaker make;
  bool of_models = false;  // a pretrained model has it, too
};

const std::vector<KindRow>& Table() {
  static const std::vector<KindRow> table = {
      {{"curve", "a metric by tokens, a line a variant",
        "--metric --spread --difference --baseline"},
       MakeCurvePlot},
      {{"positions", "loss by position in the window, at the end",
        "--metric --spread --difference --baseline"},
       MakePositionsPlot},
      {{"contexts", "loss at and beyond the training context, at the end",
        "--metric --spread --difference --baseline"},
       MakeContextsPlot},
      {{"p", "loss against p, at the end, with p* marked",
        "--metric --spread --difference --baseline"},
       MakePPlot},
      {{"grid", "loss by theta and p, at the end", "--metric --difference --baseline"},
       MakeGridPlot},
      {{"frequencies", "norms of frequency pairs by layer, or by head of one --layer",
        "--tensor --layer --step --without-first"},
       MakeFrequenciesPlot,
       true},
      {{"contributions", "the same of the pairs' exact shares of the logits", "--layer --step"},
       MakeContributionsPlot,
       true},
      {{"tokens", "one head token by token, beside its attention",
        "--tensor --layer --head --step"},
       MakeTokensPlot,
       true},
      {{"heads", "the census of heads: positional, first-token, semantic", "--step"},
       MakeHeadsPlot,
       true},
      {{"interventions", "change of the loss without a band of frequencies, by band and layer",
        "--metric"},
       MakeInterventionsPlot},
  };
  return table;
}

/// The options that were given, by name.
std::vector<std::string> Given(const PlotOptions& options) {
  std::vector<std::string> given;
  const auto add = [&](bool is_given, const char* name) {
    if (is_given) given.emplace_back(name);
  };
  add(!options.metric.empty(), "--metric");
  add(options.step.has_value(), "--step");
  add(options.tensor.has_value(), "--tensor");
  add(options.layer.has_value(), "--layer");
  add(options.head.has_value(), "--head");
  add(options.spread.has_value(), "--spread");
  add(options.difference, "--difference");
  add(options.without_first, "--without-first");
  add(!options.baseline.empty(), "--baseline");
  return given;
}

Status CheckOptions(const PlotOptions& options, const PlotKind& kind) {
  for (const std::string& option : Given(options)) {
    if ((kind.options + " ").find(option + " ") != std::string::npos) continue;
    return InvalidArgument(option + " says nothing for the kind '" + kind.name + "', which takes " +
                           kind.options + " --variant --seed");
  }
  if (!options.baseline.empty() && !options.difference) {
    return InvalidArgument("--baseline is what --difference is to: give both or none");
  }
  const std::string tensor = options.tensor.value_or("q");
  if (tensor != "q" && tensor != "k" && tensor != "v") {
    return InvalidArgument("--tensor must be q, k or v, and is '" + tensor + "'");
  }
  if (options.layer.value_or(0) < 0 || options.head.value_or(0) < 0) {
    return InvalidArgument("layers and heads count from 0");
  }
  return OkStatus();
}

}  // namespace

const std::vector<PlotKind>& PlotKinds() {
  static const std::vector<PlotKind> kinds = [] {
    std::vector<PlotKind> list;
    for (const KindRow& row : Table()) list.push_back(row.kind);
    return list;
  }();
  return kinds;
}

Result<Plot> MakePlot(const PlotOptions& options, const AskSql& ask) {
  const auto row = std::find_if(Table().begin(), Table().end(), [&](const KindRow& candidate) {
    return candidate.kind.name == options.kind;
  });
  if (row == Table().end()) {
    std::string names;
    for (const PlotKind& kind : PlotKinds()) names += (names.empty() ? "" : ", ") + kind.name;
    return InvalidArgument("there is no plot of the kind '" + options.kind +
                           "'; there are: " + names);
  }
  GYRE_RETURN_IF_ERROR(CheckOptions(options, row->kind));
  GYRE_ASSIGN_OR_RETURN(const PlottedSweep sweep, ReadPlottedSweep(options, ask));
  if (sweep.pretrained && !row->of_models) {
    return InvalidArgument(sweep.name +
                           " is a pretrained model: it has frequencies, contributions, tokens and "
                           "heads, and no curves");
  }
  return row->make(options, sweep, ask);
}

std::string GnuplotScript(const Plot& plot, PictureFormat format) {
  const auto size = [&](double scale, const std::string& unit) {
    return " size " + GnuplotNumber(plot.width * scale) + unit + "," +
           GnuplotNumber(plot.height * scale) + unit + " ";
  };
  std::string terminal;
  switch (format) {
    case PictureFormat::kSvg:
      terminal = "svg" + size(1, "") + "noenhanced font \"sans-serif,13\" background \"#ffffff\"";
      break;
    case PictureFormat::kPng:
      terminal = "pngcairo" + size(2, "") +
                 "noenhanced font \"sans,13\" fontscale 1.5 linewidth 2 pointscale 2 "
                 "background \"#ffffff\"";
      break;
    case PictureFormat::kPdf:
      terminal = "pdfcairo" + size(1.0 / 72, "in") +
                 "noenhanced font \"sans,13\" fontscale 0.75 linewidth 1.5";
      break;
  }
  return "set terminal " + terminal + "\n" + plot.script;
}

}  // namespace gyre
