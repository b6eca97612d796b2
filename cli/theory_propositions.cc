// gyre theory propositions: 3.1, 3.2 and 5.2.

#include <algorithm>
#include <cmath>
#include <memory>

#include "analysis/theory/logits.h"
#include "analysis/theory/propositions.h"
#include "cli/theory.h"
#include "cli/theory_options.h"
#include "cli/theory_result.h"

namespace gyre {
namespace {

constexpr int kFarthest = 100000, kMostDraws = 100000;
constexpr double kStandardErrors = 4;

struct Arguments {
  HeadOptions head;
  int last = 1500, draws = 20, pairs = 10000;
  uint64_t seed = 0;
  TheoryOutput output;
};

/// One checked quantity.
struct Check {
  std::string proposition, about, quantity;
  std::string wanted;  // empty: it is only shown
  double found = 0;
  bool holds = true;
};

Status CheckArguments(const Arguments& arguments) {
  if (arguments.last < 1 || arguments.last > kFarthest) {
    return InvalidArgument("--distance must be from 1 to " + std::to_string(kFarthest) +
                           ", and is " + std::to_string(arguments.last));
  }
  const double places = 6.0 * arguments.draws * (arguments.last + 1) + 20.0 * arguments.pairs;
  return CheckWork(arguments.head.head_dim, places, "--head-dim, --distance, --draws or --pairs");
}

std::vector<int> Distances(int last) {
  std::vector<int> distances;
  for (const int r : {0, 1, 2, 7, 100, 1000}) {
    if (r <= last) distances.push_back(r);
  }
  return distances;
}

std::vector<double> Psi(const Arguments& arguments, int draw) {
  return Normals(Random(arguments.seed, "theory/psi"), static_cast<uint64_t>(draw), 0,
                 arguments.head.head_dim);
}

double SquaredNorm(const std::vector<double>& x) {
  double sum = 0;
  for (const double value : x) sum += value * value;
  return sum;
}

void CheckMaximum(const Arguments& arguments, const Rotation& rotation,
                  std::vector<Check>* checks) {
  for (const int r : Distances(arguments.last)) {
    double argmax = r, margin = INFINITY;
    for (int draw = 0; draw < arguments.draws; ++draw) {
      const std::vector<double> psi = Psi(arguments, draw);
      const MaximumAtDistance found = FindMaximum(rotation, psi, r, arguments.last);
      if (found.argmax != r) argmax = found.argmax;
      margin = std::min(margin, found.margin / SquaredNorm(psi));
    }
    const std::string about = "r = " + std::to_string(r);
    checks->push_back({"3.1", about, "distance of the largest logit", "= " + std::to_string(r),
                       argmax, argmax == r});
    checks->push_back(
        {"3.1", about, "least margin to all others / |ψ|²", "> 0", margin, margin > 0});
  }
}

void CheckMean(const Arguments& arguments, const Rotation& rotation, std::vector<Check>* checks) {
  const std::vector<int> distances = Distances(arguments.last);
  const auto sampled = SampleGaussianLogits(rotation, distances, arguments.pairs, arguments.seed);
  for (const GaussianLogits& at : sampled) {
    const std::string about = "distance " + std::to_string(at.distance);
    checks->push_back({"3.2", about, "mean logit",
                       "= 0 ± " + InWords(kStandardErrors * at.standard_error), at.mean,
                       std::abs(at.mean) <= kStandardErrors * at.standard_error});
    // Of a variance, the standard error is about sqrt(2 / n) of it; of its root, half of that. The
    // logits' tails are heavier than a Gaussian's, which small heads show.
    const double room = kStandardErrors * at.expected_std *
                        std::sqrt((0.5 + 1.5 / arguments.head.head_dim) / arguments.pairs);
    checks->push_back({"3.2", about, "standard deviation",
                       "= " + InWords(at.expected_std) + " ± " + InWords(room), at.std,
                       std::abs(at.std - at.expected_std) <= room});
  }
}

/// Queries and keys of norm |x|² = logit sqrt(d); BOS' key is another one.
void CheckRepeatedToken(const Arguments& arguments, const TheoryHead& head,
                        std::vector<Check>* checks) {
  Rotation nope = head.rotation;
  std::fill(nope.frequencies.begin(), nope.frequencies.end(), 0.0);
  for (const double logit : {1.0, 10.0, 100.0, 1000.0}) {
    double without = 0, with = 1;
    for (int draw = 0; draw < arguments.draws; ++draw) {
      std::vector<double> psi = Psi(arguments, 2 * draw), first = Psi(arguments, 2 * draw + 1);
      const double unit = logit * std::sqrt(arguments.head.head_dim);
      const double scale = std::sqrt(unit / SquaredNorm(psi));
      const double first_scale = std::sqrt(unit / SquaredNorm(first));
      for (double& value : psi) value *= scale;
      for (double& value : first) value *= first_scale;
      without = std::max(without, AttendRepeatedToken(nope, psi, psi, first).itself);
      with = std::min(with, AttendRepeatedToken(head.rotation, psi, psi, first).itself);
    }
    const std::string about = "|ψ|²/√d = " + InWords(logit);
    checks->push_back(
        {"5.2", about, "NoPE: attention to itself, largest", "<= 0.5", without, without <= 0.5});
    // Which norm is enough is another question (gyre theory positional-budget).
    const bool last = logit == 1000;
    checks->push_back({"5.3", about, head.name + ": the same, least", last ? "> 0.5" : "", with,
                       !last || with > 0.5});
  }
}

std::string Sentence(const std::vector<Check>& checks, const std::string& proposition,
                     const std::string& says) {
  int failed = 0;
  const Check* first = nullptr;
  for (const Check& check : checks) {
    if (check.proposition != proposition || check.holds) continue;
    ++failed;
    if (first == nullptr) first = &check;
  }
  if (failed == 0) return proposition + " holds: " + says;
  return proposition + " does not hold here, first at " + first->about + ": " + first->quantity +
         " should be " + first->wanted + " and is " + InWords(first->found) + ".";
}

LinePlot Lines(const Arguments& arguments, const TheoryHead& head, QueryTable* rows) {
  LinePlot lines;
  lines.words.title = "Proposition 3.1: a key turned by r tokens is found r tokens back";
  lines.words.subtitle = head.name + ", d = " + std::to_string(arguments.head.head_dim) +
                         ", one random ψ: q = ψ, k = ψ turned by r tokens";
  lines.x_label = "distance";
  lines.y_label = "logit / |ψ|²";
  lines.x_range = {0, arguments.last};
  *rows = {{"r", "distance", "logit_share"}, {}};
  const std::vector<double> psi = Psi(arguments, 0);
  const double norm = SquaredNorm(psi);
  int style = 0;
  for (const int r : Distances(arguments.last)) {
    if (r == 1 || r == 2 || r == 7) continue;
    PlottedLine line{.name = "r = " + std::to_string(r), .style = style++};
    const auto logits = LogitsOfChosenDistance(head.rotation, psi, r, arguments.last);
    for (size_t m = 0; m < logits.size(); ++m) {
      line.places.push_back({static_cast<double>(m), logits[m] / norm, NAN, NAN});
      rows->rows.push_back({int64_t{r}, static_cast<int64_t>(m), logits[m] / norm});
    }
    lines.lines.push_back(std::move(line));
  }
  return lines;
}

Result<TheoryResult> Run(const Arguments& arguments) {
  GYRE_RETURN_IF_ERROR(CheckArguments(arguments));
  GYRE_ASSIGN_OR_RETURN(const TheoryHead head, MakeOneHead(arguments.head, arguments.last + 1));
  std::vector<Check> checks;
  CheckMaximum(arguments, head.rotation, &checks);
  CheckMean(arguments, head.rotation, &checks);
  CheckRepeatedToken(arguments, head, &checks);
  TheoryResult result;
  result.shown.columns = {"proposition", "about", "quantity", "should_be", "is", "holds"};
  for (const Check& check : checks) {
    const char* const holds = check.wanted.empty() ? "" : check.holds ? "yes" : "no";
    result.shown.rows.push_back({check.proposition, check.about, check.quantity, check.wanted,
                                 check.found, std::string(holds)});
  }
  result.sentences = {
      Sentence(checks, "3.1",
               "the logit is largest at whatever distance was chosen, and there only."),
      Sentence(checks, "3.2",
               "independent Gaussian q and k have mean 0 and the same spread at every "
               "distance."),
      Sentence(checks, "5.2",
               "without positions the second of two equal tokens gets half at most."),
      Sentence(checks, "5.3",
               "with " + head.name + " it gets more than half, the more the larger the norm.")};
  DrawTheory(Lines(arguments, head, &result.plot.rows), &result.plot);
  return result;
}

}  // namespace

void AddTheoryPropositions(CLI::App* theory, int* exit_code) {
  auto* command =
      theory->add_subcommand("propositions", "Whether propositions 3.1, 3.2 and 5.2 hold");
  command->footer(
      "3.1: the logit can be largest at any chosen distance. 3.2: Gaussian queries and keys have a "
      "logit of mean\n0 at every distance, so nothing decays. 5.2: NoPE cannot attend to the token "
      "itself in [BOS, x, x]; 5.3 says\nthat RoPE can. -o draws 3.1.\n\n"
      "Example:\n"
      "  gyre theory propositions --p 0.25 -o proposition-3.1.png");
  auto arguments = std::make_shared<Arguments>();
  command->add_option("--distance", arguments->last, "The farthest one")->capture_default_str();
  command->add_option("--draws", arguments->draws, "Random ψ")
      ->check(CLI::Range(1, kMostDraws))
      ->capture_default_str();
  command->add_option("--pairs", arguments->pairs, "Random q and k of proposition 3.2")
      ->check(CLI::Range(2, 100 * kMostDraws))
      ->capture_default_str();
  AddSeedOption(command, &arguments->seed);
  AddHeadOptions(command, &arguments->head);
  AddTheoryOutput(command, &arguments->output);
  command->callback([arguments, exit_code] {
    *exit_code = FinishTheory(arguments->output, [&] { return Run(*arguments); });
  });
}

}  // namespace gyre
