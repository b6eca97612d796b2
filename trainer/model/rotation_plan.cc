#include "trainer/model/rotation_plan.h"

#include <cmath>

namespace gyre {
namespace {

// Whether pair k goes on where the run ends. A run of one pair takes its stride from the second.
bool Extend(PairRun* run, int k, int a, int b) {
  if (run->pair + run->count != k) return false;
  const int stride = run->count == 1 ? a - run->a : run->stride;
  if (stride < 1 || a != run->a + run->count * stride || b != run->b + run->count * stride) {
    return false;
  }
  run->stride = stride;
  ++run->count;
  return true;
}

}  // namespace

RotationPlan PlanRotation(const Rotation& rotation, int length) {
  const size_t pairs = rotation.frequencies.size();
  RotationPlan plan;
  std::vector<double> amplitude(pairs, 1.0);
  for (size_t k = 0; k < pairs; ++k) {
    if (rotation.scaled[k]) amplitude[k] = rotation.attention_factor;
    if (rotation.frequencies[k] == 0 && amplitude[k] == 1) continue;
    const auto [a, b] = rotation.pairs[k];
    const int pair = static_cast<int>(k);
    if (plan.runs.empty() || !Extend(&plan.runs.back(), pair, a, b)) {
      plan.runs.push_back({pair, a, b, 1, 1});
    }
  }
  plan.cosine.resize(pairs * length);
  plan.sine.resize(pairs * length);
  for (int t = 0; t < length; ++t) {
    for (size_t k = 0; k < pairs; ++k) {
      const double angle = t * rotation.frequencies[k];
      plan.cosine[t * pairs + k] = amplitude[k] * std::cos(angle);
      plan.sine[t * pairs + k] = amplitude[k] * std::sin(angle);
    }
  }
  return plan;
}

}  // namespace gyre
