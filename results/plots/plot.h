#pragma once

// Pictures of a sweep's results as plain values: the rows that are drawn, and the gnuplot script
// that draws them. Everything here is pure: it asks in SQL and computes; who wants a picture hands
// GnuplotScript() to gnuplot (cli/gnuplot.h). What users named (sweeps, variants) may hold
// anything: it reaches gnuplot as text and never as a command.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "results/job_weights.h"
#include "results/query.h"

namespace gyre {

/// What a band or bar over seeds shows.
enum class SeedSpread {
  kRange,     // from the lowest to the highest
  kStd,       // mean ± standard deviation
  kInterval,  // 95% interval of the mean (Student's t)
  kNone
};

/// What is not given has a default of the kind.
struct PlotOptions {
  std::string sweep;
  std::string kind;
  std::string metric;
  std::vector<std::string> variants;  // those to show; empty = all
  std::optional<uint64_t> seed;       // this one alone; else the mean over seeds
  std::optional<int64_t> step;        // of statistics; else each job's last
  std::optional<std::string> tensor;  // q, k, v
  std::optional<int> layer, head;
  std::optional<SeedSpread> spread;
  bool difference = false;     // to the baseline, seed by seed
  bool without_first = false;  // norms that leave out the first token
  std::string baseline;        // for `difference`; empty = the sweep's own
};

struct Plot {
  std::string title;
  QueryTable rows;                 // all that is drawn
  std::string script;              // gnuplot commands, all but the terminal; numbers inline
  double width = 0, height = 0;    // in points
  std::vector<std::string> notes;  // what a reader has to know beside it: seeds left out and why
};

struct PlotKind {
  std::string name, what;
  std::string options;  // those it takes beside --variant and --seed: "--metric --spread"
};

/// In the order of the documentation.
const std::vector<PlotKind>& PlotKinds();

/// INVALID_ARGUMENT: no such kind, an option that the kind does not take, or one that has no such
/// value. NOT_FOUND: no such sweep, variant, metric, seed; the message lists those there are.
/// FAILED_PRECONDITION: nothing to draw yet, or nothing of the kind; the message says what to do.
Result<Plot> MakePlot(const PlotOptions& options, const AskSql& ask);

enum class PictureFormat { kSvg, kPng, kPdf };

/// What gnuplot reads on stdin to write the picture to stdout.
std::string GnuplotScript(const Plot& plot, PictureFormat format);

}  // namespace gyre
