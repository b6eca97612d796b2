// The census of heads: how many of each layer are positional, look at the first token, or do
// neither.

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "results/numbers.h"
#include "results/plots/gnuplot_text.h"
#include "results/plots/heat_map.h"
#include "results/plots/kinds.h"
#include "results/plots/line_plot.h"
#include "results/plots/panel_layout.h"
#include "results/plots/plotted_points.h"
#include "results/plots/statistics_rows.h"

namespace gyre {
namespace {

constexpr double kLegendWidth = 104;

/// The view head_census has these words; from dark to light, to be told apart in grey.
struct HeadKind {
  const char* name;
  const char* color;
};
constexpr std::array<HeadKind, 3> kKinds = {
    {{"positional", "#0072B2"}, {"first-token", "#E69F00"}, {"semantic", "#DDDDDD"}}};

using Census = std::map<int, std::array<double, 3>>;  // by layer: heads of each kind

struct CensusPanel {
  std::string title;
  Census census;
};

/// A variant at a time, which the view finds by its name. The array holds each kind's number: what
/// ShowVariants() needs of a job is that it has some.
Status ReadKinds(const PlotOptions& options, const PlottedVariant& variant,
                 const std::string& sweep, const AskSql& ask,
                 std::map<int64_t, JobStatistics>* statistics) {
  std::map<uint64_t, int64_t> sources;
  for (const PlottedJob& job : variant.jobs) sources[job.seed] = job.source;
  const std::string step =
      options.step ? " AND step = " + std::to_string(*options.step) : std::string();
  GYRE_ASSIGN_OR_RETURN(
      const QueryTable table,
      ask("SELECT seed, step, tokens, layer, sum(kind = 'positional'), sum(kind = 'first-token'),"
          " sum(kind = 'semantic') FROM head_census WHERE kind IS NOT NULL AND sweep = " +
          SqlText(sweep) + " AND variant = " + SqlText(variant.name) + step +
          " GROUP BY seed, step, tokens, layer ORDER BY step"));
  for (const auto& row : table.rows) {
    const auto source = sources.find(static_cast<uint64_t>(CellInt(row[0])));
    if (source == sources.end()) continue;  // a seed that is not shown
    JobStatistics& job = (*statistics)[source->second];
    if (job.step != CellInt(row[1])) job.values.clear();  // a later one
    job.step = CellInt(row[1]);
    job.tokens = CellInt(row[2]);
    job.values[{static_cast<int>(CellInt(row[3])), 0}] =
        nlohmann::json::array({CellInt(row[4]), CellInt(row[5]), CellInt(row[6])});
  }
  return OkStatus();
}

CensusPanel MakePanel(const PlottedSweep& sweep, const ShownVariant& shown, QueryTable* rows) {
  CensusPanel panel{shown.title, {}};
  std::map<int, std::array<std::vector<double>, 3>> counts;
  for (const JobStatistics* seed : shown.seeds) {
    for (const auto& [place, kinds] : seed->values) {
      for (size_t i = 0; i < 3; ++i) counts[place.first][i].push_back(kinds.at(i).get<double>());
    }
  }
  for (const auto& [layer, kinds] : counts) {
    for (size_t i = 0; i < 3; ++i) {
      double sum = 0;
      for (const double count : kinds[i]) sum += count;
      panel.census[layer][i] = sum / static_cast<double>(kinds[i].size());
      const auto [low, high] = std::minmax_element(kinds[i].begin(), kinds[i].end());
      rows->rows.push_back({sweep.name, shown.variant->name, static_cast<int64_t>(kinds[i].size()),
                            shown.seeds.front()->step, int64_t{layer}, kKinds[i].name,
                            panel.census[layer][i], *low, *high});
    }
  }
  return panel;
}

std::string DrawPanel(const Picture& picture, const PlotFrame& frame, const CensusPanel& panel,
                      size_t number) {
  const std::string data = "$census" + std::to_string(number);
  std::string script = data + " << EOD\n";
  double heads = 1;
  for (const auto& [layer, kinds] : panel.census) {
    script += std::to_string(layer);
    double sum = 0;
    for (const double count : kinds) {
      sum += count;
      script += " " + GnuplotNumber(sum);
    }
    script += "\n";
    heads = std::max(heads, sum);
  }
  script += "EOD\n" + std::string(number == 0 ? "" : "unset label\n") + picture.SetFrame(frame);
  const int last = panel.census.rbegin()->first;
  script += "set xrange [-0.6:" + GnuplotNumber(last + 0.6) +
            "]\nset yrange [0:" + GnuplotNumber(heads) + "]\n";
  script += "set xtics 0," + std::to_string(std::max(1, (last + 8) / 8)) + "\nset ytics 0," +
            std::to_string(std::max(1, static_cast<int>(heads + 5) / 6)) + "\n";
  script += picture.Label((frame.left + frame.right) / 2, frame.top - 12,
                          FitText(panel.title, frame.right - frame.left + 40, 12.5),
                          "center " + PlotFont(12.5));
  script += picture.Label((frame.left + frame.right) / 2, frame.bottom + 40, "layer",
                          "center " + PlotFont(12.5));
  script += picture.Label(frame.left - 37, (frame.top + frame.bottom) / 2, "heads",
                          "center rotate by 90 " + PlotFont(12.5));
  // The tallest first: each lies before the one behind it.
  script += "plot ";
  for (int i = 2; i >= 0; --i) {
    script += std::string(i < 2 ? ", \\\n  " : "") + data + " using 1:" + std::to_string(i + 2) +
              " with boxes fs solid 1 border lc rgb \"#444444\" fc rgb \"" +
              kKinds[static_cast<size_t>(i)].color + "\" notitle";
  }
  return script + "\n";
}

std::string Legend(const Picture& picture, double left, double top) {
  std::string script;
  for (size_t i = 0; i < kKinds.size(); ++i) {
    // In the order in which the bars are stacked.
    const HeadKind& kind = kKinds[kKinds.size() - 1 - i];
    const double y = top + 20 * static_cast<double>(i);
    script += "set object rectangle from screen " + picture.At(left, y) + " to screen " +
              picture.At(left + 13, y + 13) +
              " front fs solid 1 border lc rgb \"#444444\" fc rgb \"" + kind.color + "\"\n";
    script += picture.Label(left + 19, y + 6.5, kind.name, "left " + PlotFont(12));
  }
  return script;
}

}  // namespace

Result<Plot> MakeHeadsPlot(const PlotOptions& options, const PlottedSweep& sweep,
                           const AskSql& ask) {
  GYRE_RETURN_IF_ERROR(CheckStatisticsTables(ask));
  std::map<int64_t, JobStatistics> statistics;
  for (const PlottedVariant& variant : sweep.variants) {
    GYRE_RETURN_IF_ERROR(ReadKinds(options, variant, sweep.name, ask, &statistics));
  }
  Plot plot;
  std::set<int64_t> present;
  for (const auto& [job, kinds] : statistics) present.insert(job);
  std::vector<ShownVariant> shown = ShowVariants(sweep, present, &plot.notes);
  SetSeeds(statistics, &shown);
  if (shown.empty()) {
    return NoStatistics({"head_scores", "diagonal", ""}, options, sweep, "head_scores", ask);
  }
  plot.rows.columns = {"sweep", "variant", "seeds", "step", "layer",
                       "kind",  "heads",   "low",   "high"};
  std::vector<CensusPanel> panels;
  for (const ShownVariant& one : shown) panels.push_back(MakePanel(sweep, one, &plot.rows));

  PlotWords words;
  words.title = sweep.name + ": what heads look at, by layer";
  words.subtitle = SeedsAndStep(shown) + ".";
  words.subtitle = words.subtitle.starts_with("one") ? "O" + words.subtitle.substr(1)
                                                     : "Mean over " + words.subtitle;
  words.footnotes = FewNotes(plot.notes, 4);
  words.footnotes.insert(
      words.footnotes.begin(),
      "Positional: mean attention to the token itself or to the one before is at least 0.4 and not "
      "below that to the first token; first-token: that is at least 0.4; semantic: neither.");
  const PanelSpacing spacing{
      .left = 50, .right = 10, .above = 28, .below = 56, .beside = kLegendWidth};
  const PanelLayout layout = LayOutPanels(panels.size(), spacing);
  const Picture picture(layout.width, layout.height, words);
  std::string script = "unset key\nset boxwidth 0.8\nset multiplot\n" +
                       Legend(picture, layout.width - kLegendWidth, picture.top() + spacing.above);
  for (size_t i = 0; i < panels.size(); ++i) {
    PlotFrame frame = layout.frames[i];
    frame.top += picture.top();
    frame.bottom += picture.top();
    script += DrawPanel(picture, frame, panels[i], i);
    if (i == 0) script += "unset object\n";
  }
  picture.Finish(script + "unset multiplot\n", &plot);
  return plot;
}

}  // namespace gyre
