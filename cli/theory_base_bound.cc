// gyre theory base-bound: how large theta has to be for a context, or how far a theta reaches.

#include <algorithm>
#include <cmath>
#include <memory>

#include "analysis/theory/base_bound.h"
#include "analysis/theory/logits.h"
#include "cli/theory.h"
#include "cli/theory_options.h"
#include "cli/theory_result.h"

namespace gyre {
namespace {

constexpr int kLongest = 1 << 20;
// A candidate fails early, mostly; the search then costs about so many passes over a length.
constexpr double kPassesOfASearch = 60;

struct Arguments {
  HeadOptions head;
  bool theta_given = false;
  std::vector<int> lengths;
  TheoryOutput output;
};

Status CheckArguments(const Arguments& arguments) {
  double places = 0;
  for (const int length : arguments.lengths) {
    if (length < 1 || length > kLongest) {
      return InvalidArgument("--length must be from 1 to " + std::to_string(kLongest) +
                             ", and is " + std::to_string(length));
    }
    places += length;
  }
  // Turning on is some ten times as fast as a cosine.
  const double work = arguments.theta_given ? places : places * kPassesOfASearch / 10;
  return CheckWork(arguments.head.head_dim, work, "--head-dim or --length");
}

// ---- the smallest theta for a length ----

struct FoundBound {
  int length = 0;
  BaseBound bound;
};

Result<std::vector<FoundBound>> Search(const Arguments& arguments) {
  if (arguments.head.shares.size() > 1) {
    return InvalidArgument("the search for theta takes one --p");
  }
  std::vector<FoundBound> found;
  for (const int length : arguments.lengths) {
    const LadderOfTheta ladder = [&](double theta) -> Result<std::vector<double>> {
      GYRE_ASSIGN_OR_RETURN(Rotation rotation, MakeRotation(arguments.head, theta,
                                                            arguments.head.shares.front(), length));
      return std::move(rotation.frequencies);
    };
    GYRE_ASSIGN_OR_RETURN(const BaseBound bound, FindBaseBound(ladder, length));
    found.push_back({length, bound});
  }
  return found;
}

QueryTable SearchRows(const std::vector<FoundBound>& found) {
  QueryTable table{{"length", "theta", "lowest", "lowest_at", "theta_before", "lowest_before",
                    "lowest_before_at", "fitted_theta", "p_star"},
                   {}};
  for (const auto& [length, bound] : found) {
    auto& row = table.rows.emplace_back();
    row = {int64_t{length}, bound.theta, bound.lowest.value, int64_t{bound.lowest.at}};
    if (bound.theta_before > 0) {
      row.insert(row.end(),
                 {bound.theta_before, bound.lowest_before.value, int64_t{bound.lowest_before.at}});
    } else {
      row.insert(row.end(), 3, std::monostate());
    }
    row.insert(row.end(), {FittedBase(length), PStar(length, bound.theta)});
  }
  return table;
}

LinePlot SearchLines(const Arguments& arguments, const std::vector<FoundBound>& found) {
  LinePlot lines;
  lines.words.title = "The smallest θ by context";
  lines.words.subtitle = "d = " + std::to_string(arguments.head.head_dim) +
                         ", p = " + InWords(arguments.head.shares.front()) +
                         "; Σ cos(m f) is nowhere below 0 for m up to the context";
  lines.x_label = "context in tokens";
  lines.y_label = "θ";
  lines.log_x = lines.log_y = true;
  if (found.size() > 1) {
    // A little more, or rounding leaves out the last tic.
    lines.x_range = {found.front().length, 1.001 * found.back().length};
  }
  PlottedLine line{.name = "two digits of θ", .style = 0},
      fit{.name = "0.0424 L^1.628", .style = 1};
  for (const auto& [length, bound] : found) {
    line.places.push_back({1.0 * length, bound.theta, NAN, NAN});
    fit.places.push_back({1.0 * length, FittedBase(length), NAN, NAN});
    lines.x_tics.emplace_back(length, std::to_string(length));
  }
  lines.lines = {line, fit};
  return lines;
}

Result<TheoryResult> RunSearch(const Arguments& arguments) {
  GYRE_ASSIGN_OR_RETURN(const auto found, Search(arguments));
  TheoryResult result;
  result.shown = result.plot.rows = SearchRows(found);
  for (const auto& [length, bound] : found) {
    std::string sentence = "A context of " + std::to_string(length) +
                           " needs θ = " + InWords(bound.theta) + " (the fit says " +
                           InWords(FittedBase(length)) + ")";
    if (bound.theta_before > 0) {
      sentence += "; " + InWords(bound.theta_before) + " falls to " +
                  InWords(bound.lowest_before.value) + " at distance " +
                  std::to_string(bound.lowest_before.at);
    }
    result.sentences.push_back(sentence + ".");
  }
  DrawTheory(SearchLines(arguments, found), &result.plot);
  return result;
}

// ---- how far given thetas reach ----

struct Reach {
  std::string name;
  std::vector<double> sums;    // B(m)
  std::vector<double> lowest;  // so far
};

Result<std::vector<Reach>> FindReach(const Arguments& arguments, int length) {
  GYRE_ASSIGN_OR_RETURN(const auto heads, MakeHeads(arguments.head, length));
  std::vector<Reach> reaches;
  for (const TheoryHead& head : heads) {
    Reach reach{head.name, CosineSums(head.rotation.frequencies, length), {}};
    for (const double sum : reach.sums) {
      reach.lowest.push_back(reach.lowest.empty() ? sum : std::min(reach.lowest.back(), sum));
    }
    reaches.push_back(std::move(reach));
  }
  return reaches;
}

QueryTable ReachRows(const std::vector<Reach>& reaches, const std::vector<int>& places) {
  QueryTable table{{"encoding", "distance", "sum", "lowest_so_far"}, {}};
  for (const Reach& reach : reaches) {
    for (const int place : places) {
      const auto m = static_cast<size_t>(place);
      table.rows.push_back({reach.name, int64_t{place}, reach.sums[m], reach.lowest[m]});
    }
  }
  return table;
}

LinePlot ReachLines(const Arguments& arguments, const std::vector<Reach>& reaches, int length) {
  LinePlot lines;
  lines.words.title = "How far θ reaches: the lowest sum of cosines by context";
  lines.words.subtitle = "d = " + std::to_string(arguments.head.head_dim) +
                         "; a context is within reach as long as its line is above 0";
  lines.x_label = "context in tokens";
  lines.y_label = "lowest Σ cos(m f)";
  lines.log_x = lines.zero_line = true;
  lines.x_tics = PowersOfTen(1, length);
  lines.x_range = {1, length};
  int style = 0;
  for (const Reach& reach : reaches) {
    PlottedLine line{.name = reach.name, .style = style++};
    // Only where it falls, and just before.
    for (size_t m = 1; m < reach.lowest.size(); ++m) {
      const bool falls = reach.lowest[m] < reach.lowest[m - 1];
      const bool before = m + 1 < reach.lowest.size() && reach.lowest[m + 1] < reach.lowest[m];
      if (m == 1 || m + 1 == reach.lowest.size() || falls || before) {
        line.places.push_back({static_cast<double>(m), reach.lowest[m], NAN, NAN});
      }
    }
    lines.lines.push_back(std::move(line));
  }
  return lines;
}

Result<TheoryResult> RunReach(const Arguments& arguments) {
  const int length = *std::max_element(arguments.lengths.begin(), arguments.lengths.end());
  GYRE_ASSIGN_OR_RETURN(const auto reaches, FindReach(arguments, length));
  TheoryResult result;
  for (const Reach& reach : reaches) {
    const auto negative =
        std::find_if(reach.sums.begin(), reach.sums.end(), [](double sum) { return sum < 0; });
    result.sentences.push_back(
        reach.name +
        (negative == reach.sums.end()
             ? " is nowhere below 0 within " + std::to_string(length) + " tokens; "
             : " first falls below 0 at distance " + std::to_string(negative - reach.sums.begin()) +
                   "; ") +
        "its lowest is " + InWords(reach.lowest.back()) + ".");
  }
  std::vector<int> all;
  for (int m = 0; m <= length; ++m) all.push_back(m);
  result.shown = ReachRows(reaches, RoundPlaces(length));
  result.plot.rows = ReachRows(reaches, all);
  DrawTheory(ReachLines(arguments, reaches, length), &result.plot);
  return result;
}

Result<TheoryResult> Run(Arguments arguments) {
  if (arguments.lengths.empty()) {
    arguments.lengths = arguments.theta_given
                            ? std::vector<int>{65536}
                            : std::vector<int>{1024, 2048, 4096, 8192, 16384, 32768};
  }
  std::sort(arguments.lengths.begin(), arguments.lengths.end());
  GYRE_RETURN_IF_ERROR(CheckArguments(arguments));
  return arguments.theta_given ? RunReach(arguments) : RunSearch(arguments);
}

}  // namespace

void AddTheoryBaseBound(CLI::App* theory, int* exit_code) {
  auto* command = theory->add_subcommand(
      "base-bound", "How large θ has to be for a context (Men et al., arXiv 2405.14591)");
  command->footer(
      "The sum of cos(m f) over the pairs must not fall below 0 at any distance m within the "
      "context. Without\n--theta: the smallest θ of two digits for each --length. With it: how far "
      "it reaches.\n\n"
      "Examples:\n"
      "  gyre theory base-bound --length 8192\n"
      "  gyre theory base-bound --theta 10000 --theta 500000 -o reach.png");
  auto arguments = std::make_shared<Arguments>();
  command
      ->add_option("--length", arguments->lengths,
                   "Context in tokens (default 1024 to 32768; with --theta 65536); may be given "
                   "more than once")
      ->allow_extra_args(false);
  AddHeadOptions(command, &arguments->head);
  AddTheoryOutput(command, &arguments->output);
  command->callback([arguments, command, exit_code] {
    arguments->theta_given = command->count("--theta") > 0;
    *exit_code = FinishTheory(arguments->output, [&] { return Run(*arguments); });
  });
}

}  // namespace gyre
