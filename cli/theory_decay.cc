// gyre theory decay: Figures 2, 8 and 9.

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "analysis/theory/decay.h"
#include "cli/theory.h"
#include "cli/theory_options.h"
#include "cli/theory_result.h"
#include "results/numbers.h"
#include "sweeps/spec/nearest.h"

namespace gyre {
namespace {

constexpr int kLongest = 1 << 20;
constexpr size_t kMostCurves = 8;

struct Arguments {
  HeadOptions head;
  std::string curve = "constant", normalizer = "d";
  int last = 5000, draws = 1;
  std::vector<int64_t> randomized;  // besides plain positions
  uint64_t seed = 0;
  TheoryOutput output;
};

struct NamedCurve {
  std::string name;
  DecayCurve values;
};

// d is not stated in the paper. 1024 gives Figure 2a's ripple, 32 Figure 2b's spread.
int UsualHeadDim(const std::string& curve) {
  if (curve == "constant") return 1024;
  return curve == "bound" ? 128 : 32;
}

Status CheckArguments(const Arguments& arguments) {
  const std::vector<std::string> curves = {"constant", "fresh", "pair", "bound"};
  if (std::find(curves.begin(), curves.end(), arguments.curve) == curves.end()) {
    return InvalidArgument("--curve must be one of " + List(curves) + ", and is '" +
                           arguments.curve + "'");
  }
  if (arguments.last < 1 || arguments.last > kLongest) {
    return InvalidArgument("--distance must be from 1 to " + std::to_string(kLongest) +
                           ", and is " + std::to_string(arguments.last));
  }
  if (arguments.curve == "bound" && (!arguments.randomized.empty() || arguments.draws != 1)) {
    return InvalidArgument("--randomized and --draws say nothing for --curve bound");
  }
  const auto curves_of = [](const auto& values) { return static_cast<double>(values.size()); };
  const double all = (curves_of(arguments.randomized) + 1) * curves_of(arguments.head.thetas) *
                     curves_of(arguments.head.shares);
  // A fresh pair at each distance costs its normals.
  const double cost = arguments.curve == "fresh" ? 6 : 1;
  return CheckWork(arguments.head.head_dim, cost * all * (arguments.last + 1.0) * arguments.draws,
                   "--head-dim, --distance or --draws");
}

Result<DecayUnit> ReadUnit(const std::string& word) {
  const std::map<std::string, DecayUnit> units = {{"d", DecayUnit::kDim},
                                                  {"sqrt-d", DecayUnit::kSqrtDim},
                                                  {"origin", DecayUnit::kOrigin},
                                                  {"none", DecayUnit::kNone}};
  if (const auto unit = units.find(word); unit != units.end()) return unit->second;
  return InvalidArgument("--normalizer must be d, sqrt-d, origin or none, and is '" + word + "'");
}

Result<std::vector<NamedCurve>> Compute(const Arguments& arguments) {
  GYRE_ASSIGN_OR_RETURN(const auto heads, MakeHeads(arguments.head, arguments.last + 1));
  GYRE_ASSIGN_OR_RETURN(const DecayUnit unit, ReadUnit(arguments.normalizer));
  std::vector<NamedCurve> curves;
  for (const TheoryHead& head : heads) {
    if (arguments.curve == "bound") {
      DecayCurve curve{RoformerBound(head.rotation.frequencies, arguments.last), {}};
      curve.std.resize(curve.mean.size());
      curves.push_back({head.name, std::move(curve)});
      continue;
    }
    DecaySpec spec{.rotation = head.rotation,
                   .unit = unit,
                   .last_distance = arguments.last,
                   .draws = arguments.draws,
                   .seed = arguments.seed};
    if (arguments.curve == "fresh") spec.vectors = DecayVectors::kFreshPair;
    if (arguments.curve == "pair") spec.vectors = DecayVectors::kOnePair;
    std::vector<int64_t> positions = {0};
    positions.insert(positions.end(), arguments.randomized.begin(), arguments.randomized.end());
    for (const int64_t from : positions) {
      spec.randomized = from;
      GYRE_ASSIGN_OR_RETURN(DecayCurve curve, ComputeDecay(spec));
      const std::string name =
          from == 0 ? head.name : head.name + ", of " + FormatCount(static_cast<double>(from));
      curves.push_back({name, std::move(curve)});
    }
  }
  if (curves.size() > kMostCurves) {
    return InvalidArgument(std::to_string(curves.size()) +
                           " curves are too many to show together; at most " +
                           std::to_string(kMostCurves));
  }
  return curves;
}

QueryTable Rows(const Arguments& arguments, const std::vector<NamedCurve>& curves,
                const std::vector<int>& distances) {
  QueryTable table{{"curve", "vectors", "distance", "value"}, {}};
  if (arguments.draws > 1) table.columns.emplace_back("std");
  for (const NamedCurve& curve : curves) {
    for (const int distance : distances) {
      const auto m = static_cast<size_t>(distance);
      auto& row = table.rows.emplace_back();
      row = {curve.name, arguments.curve, int64_t{distance}, curve.values.mean[m]};
      if (arguments.draws > 1) row.emplace_back(curve.values.std[m]);
    }
  }
  return table;
}

double RootMeanSquare(std::vector<double>::const_iterator begin,
                      std::vector<double>::const_iterator end) {
  double sum = 0;
  for (auto value = begin; value != end; ++value) sum += *value * *value;
  return std::sqrt(sum / static_cast<double>(end - begin));
}

std::string Sentence(const NamedCurve& curve, int draws) {
  // Of one draw, the curve itself; of many, whose mean vanishes, how far single draws spread.
  const std::vector<double>& mean = curve.values.mean;
  const std::vector<double>& sized = draws > 1 ? curve.values.std : mean;
  const auto tenth = std::max<std::ptrdiff_t>(1, static_cast<std::ptrdiff_t>(mean.size()) / 10);
  const auto [low, high] = std::minmax_element(mean.end() - tenth, mean.end());
  std::string sentence = curve.name + ": " +
                         (draws > 1 ? "standard deviation of a draw " : "root mean square ") +
                         InWords(RootMeanSquare(sized.begin(), sized.begin() + tenth)) +
                         " over the first tenth of the distances, " +
                         InWords(RootMeanSquare(sized.end() - tenth, sized.end())) +
                         " over the last, where " + (draws > 1 ? "the mean" : "it") +
                         " lies between " + InWords(*low) + " and " + InWords(*high) + ".";
  const double start = mean.front();
  const auto half =
      std::find_if(mean.begin(), mean.end(), [&](double value) { return value < start / 2; });
  const bool from_the_top = *std::max_element(mean.begin(), mean.end()) <= start;
  if (from_the_top && half != mean.end()) {
    sentence +=
        " Below half of where it begins from distance " + std::to_string(half - mean.begin()) + ".";
  }
  return sentence;
}

std::string Title(const std::string& curve) {
  if (curve == "constant") return "Logit of equal constant vectors by distance";
  if (curve == "fresh") return "Logit of a fresh Gaussian pair at each distance";
  if (curve == "pair") return "Logit of one Gaussian pair by distance";
  return "RoFormer's bound on the logit by distance";
}

LinePlot Lines(const Arguments& arguments, const std::vector<NamedCurve>& curves) {
  LinePlot lines;
  lines.words.title = Title(arguments.curve);
  lines.words.subtitle = "d = " + std::to_string(arguments.head.head_dim);
  if (arguments.draws > 1) {
    lines.words.subtitle +=
        "; mean of " + std::to_string(arguments.draws) + " draws, band: one standard deviation";
  }
  if (!arguments.randomized.empty()) {
    lines.words.footnotes.push_back(
        "\"of 10k\": positions are " + std::to_string(arguments.last + 1) +
        " of 1..10k without replacement, sorted (Ruoss et al.); distances count tokens.");
  }
  lines.x_label = arguments.randomized.empty() ? "distance" : "distance in tokens";
  const std::map<std::string, std::string> units = {
      {"d", "q·k / d"}, {"sqrt-d", "q·k / √d"}, {"origin", "q·k / |q·k at 0|"}, {"none", "q·k"}};
  lines.y_label = arguments.curve == "bound" ? "2/d Σ |S|" : units.at(arguments.normalizer);
  lines.zero_line = arguments.curve != "bound";
  lines.x_range = {0, arguments.last};
  int style = 0;
  for (const NamedCurve& curve : curves) {
    PlottedLine line{.name = curve.name, .style = style++};
    for (size_t m = 0; m < curve.values.mean.size(); ++m) {
      const double value = curve.values.mean[m], std = curve.values.std[m];
      const double spread = arguments.draws > 1 ? std : NAN;
      line.places.push_back({static_cast<double>(m), value, value - spread, value + spread});
    }
    lines.lines.push_back(std::move(line));
  }
  return lines;
}

Result<TheoryResult> Run(const Arguments& arguments) {
  GYRE_RETURN_IF_ERROR(CheckArguments(arguments));
  GYRE_ASSIGN_OR_RETURN(const auto curves, Compute(arguments));
  TheoryResult result;
  result.shown = Rows(arguments, curves, RoundPlaces(arguments.last));
  for (const NamedCurve& curve : curves)
    result.sentences.push_back(Sentence(curve, arguments.draws));
  std::vector<int> all;
  for (int m = 0; m <= arguments.last; ++m) all.push_back(m);
  result.plot.rows = Rows(arguments, curves, all);
  DrawTheory(Lines(arguments, curves), &result.plot);
  return result;
}

}  // namespace

void AddTheoryDecay(CLI::App* theory, int* exit_code) {
  auto* command = theory->add_subcommand("decay", "The logit of a query and a key by distance");
  command->footer(
      "Curves: constant (q = k = all ones, Figure 2a), fresh (Gaussian, a new pair at each "
      "distance, "
      "2b), pair\n(one Gaussian pair for all distances, Figure 9), bound (RoFormer's, up to its "
      "factor). --head-dim is by\ndefault what the paper's figures look like: 1024, 32, 32, 128. "
      "Some distances are printed; -o FILE.csv\nhas all.\n\n"
      "Examples:\n"
      "  gyre theory decay -o figure-2a.png\n"
      "  gyre theory decay --curve pair --theta 10000 --theta 500000 --seed 1\n"
      "  gyre theory decay --randomized 10000 --randomized 20000 --randomized 50000");
  auto arguments = std::make_shared<Arguments>();
  arguments->head.head_dim = 0;
  command->add_option("--curve", arguments->curve, "constant, fresh, pair or bound")
      ->capture_default_str();
  command->add_option("--distance", arguments->last, "The last one")->capture_default_str();
  command
      ->add_option("--normalizer", arguments->normalizer,
                   "What logits are divided by: d, sqrt-d, origin (the one at distance 0) or none")
      ->capture_default_str();
  command
      ->add_option("--randomized", arguments->randomized,
                   "Beside plain positions, sorted samples of 1..L; may be given more than once")
      ->allow_extra_args(false)
      ->type_name("L");
  command->add_option("--draws", arguments->draws, "Mean and spread over so many")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  AddSeedOption(command, &arguments->seed);
  AddHeadOptions(command, &arguments->head);
  AddTheoryOutput(command, &arguments->output);
  command->callback([arguments, command, exit_code] {
    if (command->count("--head-dim") == 0) {
      arguments->head.head_dim = UsualHeadDim(arguments->curve);
    }
    *exit_code = FinishTheory(arguments->output, [&] { return Run(*arguments); });
  });
}

}  // namespace gyre
