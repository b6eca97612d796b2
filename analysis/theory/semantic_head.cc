#include "analysis/theory/semantic_head.h"

#include <cmath>

namespace gyre {
namespace {

/// The two largest of what it has seen, and where; the first of equal ones.
class LargestTwo {
 public:
  struct Seen {
    int at = -1;
    double value = -INFINITY;
  };
  void See(int at, double value) {
    if (value > first_.value) {
      second_ = first_;
      first_ = {at, value};
    } else if (value > second_.value) {
      second_ = {at, value};
    }
  }
  const Seen& first() const { return first_; }
  /// The largest that stands elsewhere.
  const Seen& Except(int at) const { return first_.at == at ? second_ : first_; }

 private:
  Seen first_, second_;
};

/// The weakest target and the strongest distractor that stand in different places.
std::optional<SemanticLoss> WorstOf(const LargestTwo& weakest, const LargestTwo& strongest) {
  // `weakest` has the negatives of the targets' logits.
  std::optional<SemanticLoss> worst;
  for (const auto& target : {weakest.first(), weakest.Except(weakest.first().at)}) {
    const auto& distractor = strongest.Except(target.at);
    if (target.at < 0 || distractor.at < 0) continue;
    const SemanticLoss loss{target.at, distractor.at, -target.value, distractor.value};
    if (!worst || loss.distractor - loss.target > worst->distractor - worst->target) worst = loss;
  }
  return worst;
}

/// Adds a pair with this share to both logits.
void AddPair(const SemanticHead& head, size_t k, double share, SemanticLogits* logits) {
  for (size_t m = 0; m < logits->target.size(); ++m) {
    const double turned = static_cast<double>(m) * head.frequencies[k];
    logits->target[m] += share * std::cos(turned);
    logits->distractor[m] += share * head.distractor_norm * std::cos(head.angles[k] - turned);
  }
}

}  // namespace

SemanticHead EvenSemanticHead(std::vector<double> frequencies, double distractor_norm,
                              double angle) {
  const size_t count = frequencies.size();
  return {std::move(frequencies), std::vector<double>(count, 1 / static_cast<double>(count)),
          std::vector<double>(count, angle), distractor_norm};
}

Status CheckTellsApart(const SemanticHead& head) {
  double at_rest = 0;
  for (size_t k = 0; k < head.shares.size(); ++k) {
    at_rest += head.distractor_norm * head.shares[k] * std::cos(head.angles[k]);
  }
  if (at_rest < 1) return OkStatus();
  return InvalidArgument(
      "without any rotation the distractor's logit is already as large as the target's: make the "
      "distractor shorter, or turn it further away");
}

SemanticLogits LogitsByDistance(const SemanticHead& head, int length) {
  const auto count = static_cast<size_t>(length);
  SemanticLogits logits{std::vector<double>(count), std::vector<double>(count)};
  for (size_t k = 0; k < head.frequencies.size(); ++k) AddPair(head, k, head.shares[k], &logits);
  return logits;
}

SemanticFailure FindFailure(const SemanticLogits& logits) {
  SemanticFailure failure;
  LargestTwo weakest, strongest;
  const auto length = static_cast<int>(logits.target.size());
  for (int m = 0; m < length; ++m) {
    const double target = logits.target[static_cast<size_t>(m)];
    if (!failure.not_positive_at && target <= 0) failure.not_positive_at = m;
    weakest.See(m, -target);
    strongest.See(m, logits.distractor[static_cast<size_t>(m)]);
    if (failure.shortest) continue;
    const auto worst = WorstOf(weakest, strongest);
    if (worst && worst->target <= worst->distractor) failure.shortest = worst;
  }
  for (int m = 0; m < length && !failure.nearest; ++m) {
    const auto& other = strongest.Except(m);
    const double target = logits.target[static_cast<size_t>(m)];
    if (other.at >= 0 && target <= other.value) {
      failure.nearest = SemanticLoss{m, other.at, target, other.value};
    }
  }
  return failure;
}

std::vector<SemanticMargin> MarginsByDistance(const SemanticLogits& logits) {
  LargestTwo strongest;
  const auto length = static_cast<int>(logits.target.size());
  for (int m = 0; m < length; ++m) strongest.See(m, logits.distractor[static_cast<size_t>(m)]);
  std::vector<SemanticMargin> margins;
  for (int m = 0; m < length; ++m) {
    const auto& other = strongest.Except(m);
    margins.push_back({logits.target[static_cast<size_t>(m)], other.value, other.at});
  }
  return margins;
}

std::vector<PairFailure> FailuresByPair(const SemanticHead& head, int length) {
  const auto distances = static_cast<size_t>(length);
  const size_t pairs = head.frequencies.size();
  std::vector<PairFailure> failures(pairs);
  // Sums over this and all later pairs.
  SemanticLogits later{std::vector<double>(distances), std::vector<double>(distances)};
  for (size_t k = pairs; k-- > 0;) {
    SemanticLogits alone{std::vector<double>(distances), std::vector<double>(distances)};
    AddPair(head, k, 1, &alone);
    failures[k].alone = FindFailure(alone);
    SemanticLogits mean = later;
    const double count = static_cast<double>(pairs - k);
    for (size_t m = 0; m < distances; ++m) {
      later.target[m] += alone.target[m];
      later.distractor[m] += alone.distractor[m];
      mean.target[m] = later.target[m] / count;
      mean.distractor[m] = later.distractor[m] / count;
    }
    failures[k].with_later = FindFailure(mean);
  }
  return failures;
}

}  // namespace gyre
