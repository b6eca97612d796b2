// gyre theory semantic-failure: theorem 6.1 in numbers.

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>

#include "analysis/theory/logits.h"
#include "analysis/theory/semantic_head.h"
#include "cli/theory.h"
#include "cli/theory_options.h"
#include "cli/theory_result.h"
#include "cli/theory_semantic.h"

namespace gyre {
namespace {

constexpr int kLongest = 1 << 20;

struct HeadFailures {
  TheoryHead head;
  std::vector<PairFailure> pairs;
};

Status CheckArguments(const SemanticFailureArguments& arguments) {
  if (arguments.length < 2 || arguments.length > kLongest) {
    return InvalidArgument("--length must be from 2 to " + std::to_string(kLongest) + ", and is " +
                           std::to_string(arguments.length));
  }
  if (!(arguments.distractor_norm > 0 && arguments.distractor_norm <= 1000)) {
    return InvalidArgument("--distractor-norm must be above 0 and at most 1000, and is " +
                           InWords(arguments.distractor_norm));
  }
  if (!std::isfinite(arguments.distractor_angle) || std::abs(arguments.distractor_angle) > 360) {
    return InvalidArgument("--distractor-angle must be from -360 to 360 degrees, and is " +
                           InWords(arguments.distractor_angle));
  }
  if (!(arguments.logit > 0 && arguments.logit <= 1e6)) {
    return InvalidArgument("--logit must be above 0 and at most 1000000, and is " +
                           InWords(arguments.logit));
  }
  const double heads = static_cast<double>(arguments.head.thetas.size()) *
                       static_cast<double>(arguments.head.shares.size());
  return CheckWork(arguments.head.head_dim, 2.0 * arguments.length * heads,
                   "--head-dim or --length");
}

QueryValue TargetAt(const std::optional<SemanticLoss>& loss) {
  if (!loss) return std::monostate();
  return int64_t{loss->target_at};
}

QueryValue ShortestOf(const SemanticFailure& failure) {
  if (!failure.shortest) return std::monostate();
  return int64_t{1 + std::max(failure.shortest->target_at, failure.shortest->distractor_at)};
}

QueryTable PairRows(const SemanticFailureArguments& arguments,
                    const std::vector<HeadFailures>& heads, const std::vector<int>& pairs) {
  QueryTable table{
      {"encoding", "pair", "frequency", "wavelength", "turns", "lost_at", "distractor_at",
       "not_positive_at", "breaks_at_length", "later_lost_at", "later_breaks_at_length"},
      {}};
  for (const HeadFailures& failures : heads) {
    for (const int pair : pairs) {
      const auto k = static_cast<size_t>(pair);
      const double f = failures.head.rotation.frequencies[k];
      const auto& [alone, later] = failures.pairs[k];
      auto& row = table.rows.emplace_back();
      row = {failures.head.name, int64_t{pair}, f};
      row.push_back(f > 0 ? QueryValue(2 * std::numbers::pi / f) : std::monostate());
      row.emplace_back(Turns(f, arguments.length));
      row.push_back(TargetAt(alone.nearest));
      row.push_back(alone.nearest ? QueryValue(int64_t{alone.nearest->distractor_at})
                                  : std::monostate());
      row.push_back(alone.not_positive_at ? QueryValue(int64_t{*alone.not_positive_at})
                                          : std::monostate());
      row.push_back(ShortestOf(alone));
      row.push_back(TargetAt(later.nearest));
      row.push_back(ShortestOf(later));
    }
  }
  return table;
}

std::string PairSentence(const SemanticFailureArguments& arguments, const HeadFailures& failures) {
  int lost = 0, first = 0, last = 0;
  for (const PairFailure& pair : failures.pairs) {
    if (!pair.alone.nearest) continue;
    const int at = pair.alone.nearest->target_at;
    first = lost == 0 ? at : std::min(first, at);
    last = std::max(last, at);
    ++lost;
  }
  const auto count = static_cast<int>(failures.pairs.size());
  const std::string within = " within " + std::to_string(arguments.length) + " tokens";
  if (lost == 0) return failures.head.name + ": no pair ever loses its target" + within + ".";
  std::string sentence = failures.head.name + ": " + std::to_string(lost) + " of " +
                         std::to_string(count) + " pairs, each alone, lose a target" + within +
                         ", the first at distance " + std::to_string(first) + ", the last at " +
                         std::to_string(last);
  if (lost < count) sentence += "; the other " + std::to_string(count - lost) + " never do";
  const auto& all = failures.pairs.front().with_later.nearest;
  sentence += all ? ". All pairs together lose it from distance " + std::to_string(all->target_at)
                  : ". All pairs together never do";
  return sentence + ".";
}

LinePlot PairLines(const SemanticFailureArguments& arguments,
                   const std::vector<HeadFailures>& heads) {
  LinePlot lines;
  lines.words.title = "Nearest target that a semantic head loses to a distractor";
  lines.words.subtitle =
      "d = " + std::to_string(arguments.head.head_dim) + ", " + std::to_string(arguments.length) +
      " tokens; the distractor's key has " + InWords(arguments.distractor_norm) +
      " of the target's norm" +
      (arguments.random_angles ? " and random angles"
                               : ", turned by " + InWords(arguments.distractor_angle) + "°") +
      ", and stands where it does best";
  lines.words.footnotes = {
      "\"pair k\": content in that pair alone; \"pairs k on\": evenly in that pair and all after "
      "it. "
      "No line: never lost within these tokens, as without rotation (NoPE)."};
  lines.x_label = "pair k, 0 the fastest";
  lines.y_label = "distance of the target in tokens";
  lines.log_y = true;
  const int last = arguments.head.head_dim / 2 - 1;
  lines.x_range = {0, std::max(last, 1)};
  lines.y_range = {1, arguments.length};
  int style = 0;
  for (const HeadFailures& failures : heads) {
    for (const bool later : {false, true}) {
      PlottedLine line{.name = failures.head.name + (later ? ", pairs k on" : ", pair k"),
                       .style = style++};
      for (size_t k = 0; k < failures.pairs.size(); ++k) {
        const auto& failure = later ? failures.pairs[k].with_later : failures.pairs[k].alone;
        if (!failure.nearest || failure.nearest->target_at < 1) continue;
        line.places.push_back({1.0 * k, 1.0 * failure.nearest->target_at, NAN, NAN});
      }
      if (!line.places.empty()) lines.lines.push_back(std::move(line));
    }
  }
  return lines;
}

Result<TheoryResult> RunPairs(const SemanticFailureArguments& arguments,
                              const std::vector<TheoryHead>& heads) {
  std::vector<HeadFailures> failures;
  for (const TheoryHead& head : heads) {
    const SemanticHead semantic = SemanticHeadOf(arguments, head.rotation.frequencies);
    GYRE_RETURN_IF_ERROR(CheckTellsApart(semantic));
    failures.push_back({head, FailuresByPair(semantic, arguments.length)});
  }
  TheoryResult result;
  const int last = arguments.head.head_dim / 2 - 1;
  std::vector<int> all;
  for (int k = 0; k <= last; ++k) all.push_back(k);
  result.shown = PairRows(arguments, failures, RoundPlaces(last));
  result.plot.rows = PairRows(arguments, failures, all);
  for (const HeadFailures& head : failures) {
    result.sentences.push_back(PairSentence(arguments, head));
  }
  if (arguments.output.path.empty()) return result;
  LinePlot lines = PairLines(arguments, failures);
  if (lines.lines.empty()) {
    return FailedPrecondition("there is nothing to draw: no target is ever lost");
  }
  DrawTheory(std::move(lines), &result.plot);
  return result;
}

Result<TheoryResult> Run(const SemanticFailureArguments& arguments) {
  GYRE_RETURN_IF_ERROR(CheckArguments(arguments));
  GYRE_ASSIGN_OR_RETURN(const auto heads, MakeHeads(arguments.head, arguments.length));
  return arguments.pairs.empty() ? RunPairs(arguments, heads)
                                 : ComputeSemanticBand(arguments, heads);
}

}  // namespace

void AddTheorySemanticFailure(CLI::App* theory, int* exit_code) {
  auto* command = theory->add_subcommand("semantic-failure",
                                         "Where a head that finds its target by content loses it");
  command->footer(
      "Theorem 6.1: an adversary moves the target away, and one distractor to where rotation "
      "favours "
      "it. lost_at is\nthe nearest target that then gets half of the attention or less, "
      "breaks_at_length the shortest sequence in\nwhich that happens, not_positive_at where the "
      "target's own logit is no longer above 0; later_: content\nevenly in this pair and all after "
      "it. With --pairs: one band, by distance, beside NoPE.\n\n"
      "Examples:\n"
      "  gyre theory semantic-failure --p 1 --p 0.75 -o failure.svg\n"
      "  gyre theory semantic-failure --pairs 48:64 --length 32768 --theta 10000 --theta 500000");
  auto arguments = std::make_shared<SemanticFailureArguments>();
  command->add_option("--length", arguments->length, "N, tokens")->capture_default_str();
  command
      ->add_option("--distractor-norm", arguments->distractor_norm,
                   "Its key's norm, the target's being 1")
      ->capture_default_str();
  auto* angle = command
                    ->add_option("--distractor-angle", arguments->distractor_angle,
                                 "Degrees between its key and the query, in each pair")
                    ->capture_default_str();
  command
      ->add_flag("--random-angles", arguments->random_angles, "Draw them, uniformly, in each pair")
      ->excludes(angle);
  command->add_option("--pairs", arguments->pairs, "Only these, by distance; 0 the fastest")
      ->type_name("FIRST:END");
  command
      ->add_option("--logit", arguments->logit,
                   "The target's unrotated logit, for the attention in rows of --pairs")
      ->capture_default_str();
  AddSeedOption(command, &arguments->seed);
  AddHeadOptions(command, &arguments->head);
  AddTheoryOutput(command, &arguments->output);
  command->callback([arguments, exit_code] {
    *exit_code = FinishTheory(arguments->output, [&] { return Run(*arguments); });
  });
}

}  // namespace gyre
