#pragma once

// What every experiment of `gyre theory` gives: rows to print, sentences that say what they show,
// and a picture with all of its rows.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cli/output_format.h"
#include "results/plots/line_plot.h"
#include "results/plots/plot.h"

namespace gyre {

struct TheoryResult {
  QueryTable shown;  // where there are thousands of rows, some of them; plot.rows has all
  std::vector<std::string> sentences;
  Plot plot;
};

struct TheoryOutput {
  std::string path;  // of the picture; empty = none
  OutputFormat format = OutputFormat::kTable;
};

/// -o and --format.
void AddTheoryOutput(CLI::App* command, TheoryOutput* output);

/// Draws what is asked for, prints rows and sentences (to stderr beside JSON and CSV), and gives
/// the exit code. `compute` is called once -o is known to be good.
int FinishTheory(const TheoryOutput& output, const std::function<Result<TheoryResult>()>& compute);

/// Seeds are given as on every other command.
void AddSeedOption(CLI::App* command, uint64_t* seed);

/// 0, 1, 2, 5, 10, 20, 50, ... and `last`.
std::vector<int> RoundPlaces(int last);

/// The number as sentences have it: four digits at most, large ones as "84k".
std::string InWords(double value);

/// Tics at powers of ten within [low, high], as LinePlot has them; of many, every second or third.
std::vector<std::pair<double, std::string>> PowersOfTen(double low, double high);

/// Lines of many places are drawn thin, and a logarithmic vertical axis gets tics and range of what
/// the lines have.
void DrawTheory(LinePlot lines, Plot* plot);

}  // namespace gyre
