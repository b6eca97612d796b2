#include "cli/theory_result.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>

#include "cli/exit_code.h"
#include "cli/output_table.h"
#include "cli/picture_file.h"
#include "cli/terminal.h"
#include "results/numbers.h"

namespace gyre {
namespace {

constexpr size_t kPlacesOfAThinLine = 400;

std::string Digits(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", value);
  return text.data();
}

/// For people: six digits, and "-" where there is no value.
TextTable Readable(const QueryTable& table) {
  TextTable text;
  for (const std::string& name : table.columns) text.columns.push_back({name, true});
  for (const auto& row : table.rows) {
    std::vector<std::string>& cells = text.rows.emplace_back();
    for (size_t i = 0; i < row.size(); ++i) {
      if (const auto* words = std::get_if<std::string>(&row[i])) {
        text.columns[i].right = false;
        cells.push_back(*words);
      } else if (const auto* integer = std::get_if<int64_t>(&row[i])) {
        cells.push_back(std::to_string(*integer));
      } else if (const auto* real = std::get_if<double>(&row[i])) {
        cells.push_back(Digits(*real));
      } else {
        cells.emplace_back("-");
      }
    }
  }
  return text;
}

void Print(const TheoryResult& result, OutputFormat format) {
  if (format == OutputFormat::kJson || format == OutputFormat::kCsv) {
    std::fputs(RenderQueryTable(result.shown, format, 0).c_str(), stdout);
    for (const std::string& sentence : result.sentences) Say(sentence);
    return;
  }
  const TextTable text = Readable(result.shown);
  std::string page = format == OutputFormat::kMarkdown
                         ? RenderMarkdown(text)
                         : RenderTable(text, TerminalOf(STDOUT_FILENO).width);
  page += "\n";
  for (const std::string& sentence : result.sentences) {
    page += format == OutputFormat::kMarkdown ? "- " + EscapeMarkdown(sentence) : sentence;
    page += "\n";
  }
  std::fputs(page.c_str(), stdout);
}

}  // namespace

void AddTheoryOutput(CLI::App* command, TheoryOutput* output) {
  command
      ->add_option("-o,--output", output->path,
                   "A picture, FILE.svg, .png or .pdf, or all of its rows, FILE.csv")
      ->type_name("FILE");
  AddFormatOption(command, &output->format);
}

int FinishTheory(const TheoryOutput& output, const std::function<Result<TheoryResult>()>& compute) {
  std::optional<PictureFile> file;
  if (!output.path.empty()) {
    auto opened = PictureFile::At(output.path);
    if (!opened.ok()) return Fail(opened.status());
    file = *std::move(opened);
  }
  const Result<TheoryResult> result = compute();
  if (!result.ok()) return Fail(result.status());
  if (file) {
    if (const Status written = file->Write(result->plot); !written.ok()) return Fail(written);
  }
  Print(*result, output.format);
  if (file) Say(result->plot.title + ": " + output.path);
  return kExitDone;
}

void AddSeedOption(CLI::App* command, uint64_t* seed) {
  command->add_option("--seed", *seed, "Of what is drawn at random; the same seed, the same bits")
      ->check(CLI::Range(int64_t{0}, std::numeric_limits<int64_t>::max()))
      ->capture_default_str();
}

std::vector<int> RoundPlaces(int last) {
  std::vector<int> places = {0};
  for (int64_t power = 1; power < last; power *= 10) {
    for (const int64_t factor : {1, 2, 5}) {
      if (factor * power < last) places.push_back(static_cast<int>(factor * power));
    }
  }
  if (last > 0) places.push_back(last);
  return places;
}

std::string InWords(double value) {
  if (std::abs(value) >= 10000) return FormatCount(value);
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g", value);
  return text.data();
}

std::vector<std::pair<double, std::string>> PowersOfTen(double low, double high) {
  constexpr int kMostTics = 7;
  const int first = static_cast<int>(std::ceil(std::log10(low) - 1e-9));
  const int last = static_cast<int>(std::floor(std::log10(high) + 1e-9));
  const int step = 1 + (last - first) / kMostTics;
  std::vector<std::pair<double, std::string>> tics;
  for (int power = first; power <= last; power += step) {
    const double value = std::pow(10, power);
    const bool named = value >= 1 && value < 1e15;
    tics.emplace_back(value, named ? FormatCount(value) : Digits(value));
  }
  return tics;
}

void DrawTheory(LinePlot lines, Plot* plot) {
  double low = INFINITY, high = 0;
  for (PlottedLine& line : lines.lines) {
    line.thin = line.places.size() > kPlacesOfAThinLine;
    for (const PlottedLine::Place& place : line.places) {
      low = std::min(low, place.y);
      high = std::max(high, place.y);
    }
  }
  if (lines.log_y && !lines.y_range) {
    lines.y_range = {std::pow(10, std::floor(std::log10(low))),
                     std::pow(10, std::ceil(std::log10(high)))};
  }
  if (lines.log_y) lines.y_tics = PowersOfTen(lines.y_range->first, lines.y_range->second);
  DrawLines(lines, plot);
}

}  // namespace gyre
