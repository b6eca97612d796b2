// gyre theory positional-budget: theorem 5.3 in numbers.

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <numeric>

#include "analysis/theory/sharp_head.h"
#include "cli/theory.h"
#include "cli/theory_options.h"
#include "cli/theory_result.h"

namespace gyre {
namespace {

constexpr int kLongest = 1 << 17;
// Newton's steps and both patterns: a budget costs about so many passes over a length.
constexpr double kPassesOfABudget = 20;

struct Arguments {
  HeadOptions head;
  std::vector<int> lengths;
  double eps = 0.01;
  TheoryOutput output;
};

/// What a head needs that puts psi evenly into pairs first..last.
struct Budget {
  int length = 0, first = 0, last = 0;
  double frequency = 0;  // of the last pair
  double diagonal = 0, previous = 0, sufficient = 0;
  double logit = 0;  // of the token itself, at that diagonal
};

struct LengthBudgets {
  int length = 0;
  std::vector<Budget> alone, together;  // by pair k: k alone, 0..k
};

Status CheckArguments(const Arguments& arguments) {
  double places = 0;
  for (const int length : arguments.lengths) {
    if (length < 2 || length > kLongest) {
      return InvalidArgument("--length must be from 2 to " + std::to_string(kLongest) +
                             ", and is " + std::to_string(length));
    }
    // Together, pairs cost their number each time.
    places += length * (kPassesOfABudget + arguments.head.head_dim / 4.0);
  }
  if (!(arguments.eps > 0 && arguments.eps < 1)) {
    return InvalidArgument("--eps must be above 0 and below 1, and is " + InWords(arguments.eps));
  }
  return CheckWork(arguments.head.head_dim, places, "--head-dim or --length");
}

Budget ComputeBudget(const Arguments& arguments, const Rotation& rotation, int length, size_t first,
                     size_t last) {
  const std::vector<double>& frequencies = rotation.frequencies;
  const auto at = [&](size_t k) { return frequencies.begin() + static_cast<std::ptrdiff_t>(k); };
  SharpHead head =
      EvenlyShared({at(first), at(last + 1)}, arguments.head.head_dim, length, arguments.eps);
  const double factor = rotation.attention_factor * rotation.attention_factor;
  for (size_t k = first; k <= last; ++k) head.shares[k - first] *= rotation.scaled[k] ? factor : 1;
  const double diagonal = NormBudget(head, SharpPattern::kDiagonal);
  return {length,
          static_cast<int>(first),
          static_cast<int>(last),
          frequencies[last],
          diagonal,
          NormBudget(head, SharpPattern::kPrevious),
          SufficientBudget(head),
          diagonal * std::accumulate(head.shares.begin(), head.shares.end(), 0.0) /
              std::sqrt(arguments.head.head_dim)};
}

std::vector<LengthBudgets> Compute(const Arguments& arguments, const Rotation& rotation) {
  std::vector<LengthBudgets> all;
  for (const int length : arguments.lengths) {
    LengthBudgets& budgets = all.emplace_back();
    budgets.length = length;
    for (size_t k = 0; k < rotation.frequencies.size(); ++k) {
      budgets.alone.push_back(ComputeBudget(arguments, rotation, length, k, k));
      budgets.together.push_back(ComputeBudget(arguments, rotation, length, 0, k));
    }
  }
  return all;
}

std::string PairsInWords(const Budget& budget) {
  const std::string last = std::to_string(budget.last);
  return budget.first == budget.last ? last : std::to_string(budget.first) + "-" + last;
}

/// Infinite where no norm is enough.
QueryValue Cell(double value) {
  if (std::isfinite(value)) return value;
  return std::monostate();
}

QueryTable Rows(const std::vector<LengthBudgets>& all, const std::vector<int>& pairs) {
  QueryTable table{{"length", "pairs", "first_pair", "last_pair", "frequency", "wavelength",
                    "diagonal", "previous", "sufficient"},
                   {}};
  const auto add = [&](const Budget& budget) {
    table.rows.push_back({int64_t{budget.length}, PairsInWords(budget), int64_t{budget.first},
                          int64_t{budget.last}, budget.frequency,
                          Cell(2 * std::numbers::pi / budget.frequency), Cell(budget.diagonal),
                          Cell(budget.previous), Cell(budget.sufficient)});
  };
  for (const LengthBudgets& budgets : all) {
    for (const int k : pairs) add(budgets.alone[static_cast<size_t>(k)]);
    for (const int k : pairs) {
      if (k > 0) add(budgets.together[static_cast<size_t>(k)]);
    }
  }
  return table;
}

const Budget& Least(const std::vector<Budget>& budgets) {
  return *std::min_element(budgets.begin(), budgets.end(),
                           [](auto& a, auto& b) { return a.diagonal < b.diagonal; });
}

std::string NeedsInWords(const Budget& budget) {
  if (!std::isfinite(budget.diagonal)) return "no norm is enough";
  return "|ψ|² = " + InWords(budget.diagonal) + " (a logit of " + InWords(budget.logit) + ")";
}

std::vector<std::string> Sentences(const Arguments& arguments, const TheoryHead& head,
                                   const std::vector<LengthBudgets>& all) {
  std::vector<std::string> sentences;
  for (const LengthBudgets& budgets : all) {
    const Budget &alone = Least(budgets.alone), &together = Least(budgets.together);
    const std::string length = std::to_string(budgets.length);
    if (!std::isfinite(together.diagonal)) {
      sentences.push_back(head.name + ", N = " + length +
                          ": nothing rotates, so no norm is enough.");
      continue;
    }
    sentences.push_back(
        head.name + ", N = " + length + ": attention of " + InWords(1 - arguments.eps) +
        " to the token itself takes least with pairs " + PairsInWords(together) + ", " +
        NeedsInWords(together) + "; of single pairs with pair " + PairsInWords(alone) + ", " +
        NeedsInWords(alone) + "; of the slowest, pair " + PairsInWords(budgets.alone.back()) +
        ", " + NeedsInWords(budgets.alone.back()) + ".");
  }
  return sentences;
}

PlottedLine Line(const std::string& name, int style, const std::vector<Budget>& budgets) {
  PlottedLine line{.name = name, .style = style};
  for (const Budget& budget : budgets) {
    if (!std::isfinite(budget.diagonal) || budget.diagonal <= 0) continue;
    line.places.push_back({1.0 * budget.last, budget.diagonal, NAN, NAN});
  }
  return line;
}

Result<LinePlot> Lines(const Arguments& arguments, const TheoryHead& head,
                       const std::vector<LengthBudgets>& all) {
  LinePlot lines;
  lines.words.title = "Norm that a head needs to attend to the token itself";
  lines.words.subtitle = head.name + ", d = " + std::to_string(arguments.head.head_dim) +
                         "; |ψ|² for attention of " + InWords(1 - arguments.eps) +
                         " at all of N tokens";
  lines.words.footnotes = {
      "\"pair k\": ψ lies in pair k alone; \"pairs 0-k\": evenly in that pair "
      "and all faster ones."};
  lines.x_label = "pair k, 0 the fastest";
  lines.y_label = "|ψ|²";
  lines.log_y = true;
  lines.x_range = {0, std::max(arguments.head.head_dim / 2 - 1, 1)};
  int style = 0;
  for (const LengthBudgets& budgets : all) {
    const std::string length = std::to_string(budgets.length);
    for (const auto& [kind, of] : {std::pair("pair k, N = ", &budgets.alone),
                                   std::pair("pairs 0-k, N = ", &budgets.together)}) {
      PlottedLine line = Line(kind + length, style++, *of);
      if (!line.places.empty()) lines.lines.push_back(std::move(line));
    }
  }
  if (lines.lines.empty()) {
    return FailedPrecondition("there is nothing to draw: nothing rotates, so no norm is enough");
  }
  return lines;
}

Result<TheoryResult> Run(Arguments arguments) {
  if (arguments.lengths.empty()) arguments.lengths = {64, 1024, 8192};
  std::sort(arguments.lengths.begin(), arguments.lengths.end());
  GYRE_RETURN_IF_ERROR(CheckArguments(arguments));
  GYRE_ASSIGN_OR_RETURN(const TheoryHead head,
                        MakeOneHead(arguments.head, arguments.lengths.back()));
  const auto budgets = Compute(arguments, head.rotation);
  const int last = arguments.head.head_dim / 2 - 1;
  std::vector<int> all;
  for (int k = 0; k <= last; ++k) all.push_back(k);
  TheoryResult result;
  result.shown = Rows(budgets, RoundPlaces(last));
  result.plot.rows = Rows(budgets, all);
  result.sentences = Sentences(arguments, head, budgets);
  if (!arguments.output.path.empty()) {
    GYRE_ASSIGN_OR_RETURN(LinePlot lines, Lines(arguments, head, budgets));
    DrawTheory(std::move(lines), &result.plot);
  }
  return result;
}

}  // namespace

void AddTheoryPositionalBudget(CLI::App* theory, int* exit_code) {
  auto* command = theory->add_subcommand(
      "positional-budget", "The norm that a positional head needs, by frequency and length");
  command->footer(
      "Theorem 5.3: with q = k = ψ of every token (for the previous token, keys turned by one), a "
      "head attends to\nthe token itself as sharply as |ψ|² allows. diagonal and previous are the "
      "smallest |ψ|² for attention of\n1 - eps at all of the first N tokens, sufficient is a "
      "simple "
      "bound of diagonal; logits are divided by √d.\n\n"
      "Example:\n"
      "  gyre theory positional-budget --length 128 --length 8192 -o budget.svg");
  auto arguments = std::make_shared<Arguments>();
  command
      ->add_option("--length", arguments->lengths,
                   "N, tokens (default 64, 1024 and 8192); may be given more than once")
      ->allow_extra_args(false);
  command->add_option("--eps", arguments->eps, "Attention that may go elsewhere")
      ->capture_default_str();
  AddHeadOptions(command, &arguments->head);
  AddTheoryOutput(command, &arguments->output);
  command->callback([arguments, exit_code] {
    *exit_code = FinishTheory(arguments->output, [&] { return Run(*arguments); });
  });
}

}  // namespace gyre
