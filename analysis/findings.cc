#include "analysis/findings.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

namespace gyre {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kClear = 0.4;  // a head's mean attention, to be called by it

using Shares = std::map<std::pair<int, int>, double>;  // by layer and head

// The part of the sum over pairs of `weigh` that high frequencies have.
template <typename Weigh>
double HighPart(const std::vector<double>& values, const LayerPosition& position,
                const Weigh& weigh) {
  double high = 0, all = 0;
  for (size_t k = 0; k < values.size(); ++k) {
    all += weigh(values[k]);
    if (position.rotation.frequencies[k] >= kHighFrequency) high += weigh(values[k]);
  }
  return high / all;
}

double ShareIn(const Shares& shares, const HeadScores& head) {
  const auto found = shares.find({head.layer, head.head});
  return found == shares.end() ? kNone : found->second;
}

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Peak PeakOf(const StatisticsRecord& record, int layer, const std::string& tensor,
            const LayerPosition& position) {
  std::vector<double> sums;
  int heads = 0;
  for (const FrequencyNorms& item : record.frequency_norms) {
    if (item.layer != layer || item.tensor != tensor) continue;
    sums.resize(item.norms.size(), 0);
    for (size_t k = 0; k < sums.size(); ++k) sums[k] += item.norms[k];
    ++heads;
  }
  Peak peak;
  const double sum = std::accumulate(sums.begin(), sums.end(), 0.0);
  if (heads == 0 || !std::isfinite(sum) || sum == 0) return peak;
  const auto largest = std::max_element(sums.begin(), sums.end());
  peak.pair = static_cast<int>(largest - sums.begin());
  peak.frequency = position.rotation.frequencies[static_cast<size_t>(peak.pair)];
  peak.ratio = *largest / Median(sums);
  return peak;
}

// Of equal values each has the mean of their ranks.
std::vector<double> RanksOf(const std::vector<double>& values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (size_t i = begin; i < end; ++i) {
      ranks[order[i]] = (static_cast<double>(begin) + static_cast<double>(end) - 1) / 2;
    }
  }
  return ranks;
}

double MeanOver(const std::vector<HeadFinding>& heads, int layer, double HeadFinding::*part) {
  double sum = 0;
  int count = 0;
  for (const HeadFinding& head : heads) {
    if (head.scores.layer != layer) continue;
    sum += head.*part;
    ++count;
  }
  return sum / count;
}

}  // namespace

std::string KindOf(const HeadScores& scores) {
  const double positional = std::max(scores.diagonal, scores.previous);
  if (!std::isfinite(scores.diagonal + scores.previous + scores.first)) return "";
  if (positional >= std::max(kClear, scores.first)) return "positional";
  return scores.first >= kClear ? "first-token" : "semantic";
}

double HeadFinding::positional() const { return std::max(scores.diagonal, scores.previous); }

double RankCorrelation(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> x, y;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (std::isnan(a[i]) || std::isnan(b[i])) continue;
    x.push_back(a[i]);
    y.push_back(b[i]);
  }
  if (x.size() < 3) return kNone;
  x = RanksOf(x);
  y = RanksOf(y);
  const double mean = (static_cast<double>(x.size()) - 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : kNone;
}

Findings FindIn(const StatisticsRecord& record, const std::vector<LayerPosition>& positions) {
  Shares norms, logits;
  const auto position = [&](int layer) -> const LayerPosition& {
    return positions[static_cast<size_t>(layer)];
  };
  for (const FrequencyNorms& item : record.frequency_norms) {
    if (item.tensor != "q") continue;
    norms[{item.layer, item.head}] =
        HighPart(item.norms, position(item.layer), [](double norm) { return norm * norm; });
  }
  for (const LogitShares& item : record.logit_shares) {
    logits[{item.layer, item.head}] =
        HighPart(item.contributions, position(item.layer), [](double part) { return part; });
  }
  Findings findings;
  std::vector<double> positional, of_norms, of_logits;
  for (const HeadScores& scores : record.head_scores) {
    findings.heads.push_back(
        {scores, KindOf(scores), ShareIn(norms, scores), ShareIn(logits, scores)});
    positional.push_back(findings.heads.back().positional());
    of_norms.push_back(findings.heads.back().high_norms);
    of_logits.push_back(findings.heads.back().high_logits);
  }
  findings.norms_correlation = RankCorrelation(positional, of_norms);
  findings.logits_correlation = RankCorrelation(positional, of_logits);
  for (int layer = 0; layer < static_cast<int>(positions.size()); ++layer) {
    LayerFinding of;
    of.layer = layer;
    for (const HeadFinding& head : findings.heads) {
      if (head.scores.layer != layer) continue;
      of.positional += head.kind == "positional" ? 1 : 0;
      of.first_token += head.kind == "first-token" ? 1 : 0;
      of.semantic += head.kind == "semantic" ? 1 : 0;
    }
    of.queries = PeakOf(record, layer, "q", position(layer));
    of.keys = PeakOf(record, layer, "k", position(layer));
    of.high_norms = MeanOver(findings.heads, layer, &HeadFinding::high_norms);
    of.high_logits = MeanOver(findings.heads, layer, &HeadFinding::high_logits);
    findings.layers.push_back(of);
  }
  return findings;
}

}  // namespace gyre
