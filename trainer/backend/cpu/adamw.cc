#include <cmath>

#include "trainer/backend/cpu/operations.h"
#include "trainer/backend/cpu/scratch.h"

namespace gyre::cpu {
namespace {

// What a gradient is multiplied with before it enters AdamW.
double ClippedScale(const AdamW& op, double unscaled_norm) {
  const double norm = unscaled_norm * op.gradient_scale;
  if (!std::isfinite(norm)) return NAN;
  const bool clips = op.clip_norm > 0 && norm > op.clip_norm;
  return clips ? op.gradient_scale * op.clip_norm / norm : op.gradient_scale;
}

}  // namespace

void Norm2(Device& device, Reals x, int64_t count, Reals norm) {
  const Norm2Scratch scratch(device.workspace.Carve(), device.threads());
  device.pool.Run([&](int thread) {
    const Range mine = Split({0, count}, device.threads(), thread, kLanes);
    *scratch.totals.Of(thread) = device.kernels.sum_of_squares(Data(x) + mine.begin, mine.size());
  });
  double squares = 0;
  for (int thread = 0; thread < device.threads(); ++thread) squares += *scratch.totals.Of(thread);
  *Data(norm) = static_cast<float>(std::sqrt(squares));
}

void AdamWStep(Device& device, const AdamW& op) {
  const AdamWRows all{
      .gradient_scale = static_cast<float>(ClippedScale(op, *Data(op.gradient_norm))),
      .beta1 = static_cast<float>(op.beta1),
      .beta2 = static_cast<float>(op.beta2),
      .rest1 = static_cast<float>(1 - op.beta1),
      .rest2 = static_cast<float>(1 - op.beta2),
      .correction1 = static_cast<float>(1 / (1 - std::pow(op.beta1, op.step))),
      .correction2 = static_cast<float>(1 / (1 - std::pow(op.beta2, op.step))),
      .lr = static_cast<float>(op.lr),
      .epsilon = static_cast<float>(op.epsilon),
      .weight_decay = static_cast<float>(op.weight_decay)};
  device.pool.Run([&](int thread) {
    const Range mine = Split({0, op.count}, device.threads(), thread, kLanes);
    AdamWRows rows = all;
    rows.count = mine.size();
    rows.gradient = Data(op.gradient) + mine.begin;
    rows.weight = Data(op.weight) + mine.begin;
    rows.first_moment = Data(op.first_moment) + mine.begin;
    rows.second_moment = Data(op.second_moment) + mine.begin;
    device.kernels.adamw(rows);
  });
}

}  // namespace gyre::cpu
