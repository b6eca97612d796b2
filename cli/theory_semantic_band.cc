#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/random.h"
#include "cli/theory_semantic.h"

namespace gyre {
namespace {

struct BandMargins {
  std::string name;
  std::vector<SemanticMargin> margins;  // by distance
};

double Attention(const SemanticFailureArguments& arguments, const SemanticMargin& margin) {
  return 1 / (1 + std::exp(arguments.logit * (margin.distractor - margin.target)));
}

QueryTable BandRows(const SemanticFailureArguments& arguments,
                    const std::vector<BandMargins>& bands, const std::vector<int>& distances) {
  QueryTable table{
      {"encoding", "distance", "target", "distractor", "distractor_at", "margin", "attention"}, {}};
  for (const BandMargins& band : bands) {
    for (const int distance : distances) {
      const SemanticMargin& margin = band.margins[static_cast<size_t>(distance)];
      table.rows.push_back({band.name, int64_t{distance}, margin.target, margin.distractor,
                            int64_t{margin.distractor_at}, margin.target - margin.distractor,
                            Attention(arguments, margin)});
    }
  }
  return table;
}

std::string BandSentence(const BandMargins& band) {
  const auto lost =
      std::find_if(band.margins.begin(), band.margins.end(),
                   [](const SemanticMargin& margin) { return margin.target <= margin.distractor; });
  if (lost == band.margins.end()) {
    return band.name + ": the target is never lost within " + std::to_string(band.margins.size()) +
           " tokens.";
  }
  return band.name + ": the target is lost from distance " +
         std::to_string(lost - band.margins.begin()) + " on to a distractor at distance " +
         std::to_string(lost->distractor_at) + ".";
}

LinePlot BandLines(const SemanticFailureArguments& arguments,
                   const std::vector<BandMargins>& bands) {
  LinePlot lines;
  lines.words.title = "Margin of the target over the best placed distractor";
  lines.words.subtitle = "d = " + std::to_string(arguments.head.head_dim) + ", content in pairs " +
                         arguments.pairs + "; below 0 the target gets at most 1/2";
  lines.x_label = "distance of the target";
  lines.y_label = "margin, 1 = target's logit unrotated";
  lines.zero_line = true;
  lines.x_range = {0, arguments.length - 1.0};
  int style = 0;
  for (const BandMargins& band : bands) {
    PlottedLine line{.name = band.name, .style = style++};
    for (size_t m = 0; m < band.margins.size(); ++m) {
      line.places.push_back(
          {1.0 * m, band.margins[m].target - band.margins[m].distractor, NAN, NAN});
    }
    lines.lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace

SemanticHead SemanticHeadOf(const SemanticFailureArguments& arguments,
                            const std::vector<double>& frequencies) {
  SemanticHead head = EvenSemanticHead(frequencies, arguments.distractor_norm,
                                       arguments.distractor_angle * std::numbers::pi / 180);
  if (!arguments.random_angles) return head;
  const Random random(arguments.seed, "theory/distractor-angles");
  for (size_t k = 0; k < head.angles.size(); ++k) {
    head.angles[k] = 2 * std::numbers::pi * random.Uniform(0, k);
  }
  return head;
}

Result<TheoryResult> ComputeSemanticBand(const SemanticFailureArguments& arguments,
                                         const std::vector<TheoryHead>& heads) {
  GYRE_ASSIGN_OR_RETURN(const auto band,
                        ReadPairs("--pairs", arguments.pairs, arguments.head.head_dim / 2));
  std::vector<BandMargins> bands;
  const auto add = [&](const std::string& name, const std::vector<double>& frequencies) -> Status {
    SemanticHead all = SemanticHeadOf(arguments, frequencies);
    const auto cut = [&](const std::vector<double>& values) {
      return std::vector<double>(values.begin() + band.first, values.begin() + band.second);
    };
    SemanticHead head = EvenSemanticHead(cut(frequencies), arguments.distractor_norm, 0);
    head.angles = cut(all.angles);
    GYRE_RETURN_IF_ERROR(CheckTellsApart(head));
    bands.push_back({name, MarginsByDistance(LogitsByDistance(head, arguments.length))});
    return OkStatus();
  };
  bool nope = false;
  for (const TheoryHead& head : heads) {
    GYRE_RETURN_IF_ERROR(add(head.name, head.rotation.frequencies));
    nope = nope || head.p == 0;
  }
  if (!nope) {
    const auto pairs = static_cast<size_t>(arguments.head.head_dim / 2);
    GYRE_RETURN_IF_ERROR(add("NoPE", std::vector<double>(pairs, 0.0)));
  }
  TheoryResult result;
  std::vector<int> all;
  for (int m = 0; m < arguments.length; ++m) all.push_back(m);
  result.shown = BandRows(arguments, bands, RoundPlaces(arguments.length - 1));
  result.plot.rows = BandRows(arguments, bands, all);
  for (const BandMargins& margins : bands) result.sentences.push_back(BandSentence(margins));
  DrawTheory(BandLines(arguments, bands), &result.plot);
  return result;
}

}  // namespace gyre
