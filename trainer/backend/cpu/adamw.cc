#include <array>
#include <cmath>

#include "trainer/backend/cpu/device.h"

namespace gyre::cpu {

// In 64 parts whatever the number of threads, added in order.
void Device::Norm2(Reals x, int64_t count, Reals norm) {
  constexpr int64_t kParts = 64;
  std::array<double, kParts> sums{};
  Split(kParts, [&](int, Range parts) {
    for (int64_t part = parts.begin; part < parts.end; ++part) {
      const int64_t begin = count * part / kParts, end = count * (part + 1) / kParts;
      sums[static_cast<size_t>(part)] = kernels_.sum_of_squares(end - begin, Data(x) + begin);
    }
  });
  double squares = 0;
  for (const double sum : sums) squares += sum;
  *Data(norm) = static_cast<float>(std::sqrt(squares));
}

void Device::AdamWStep(const AdamW& op) {
  const double norm = *Data(op.gradient_norm) * op.gradient_scale;
  double scale = op.gradient_scale;
  if (op.clip_norm > 0 && norm > op.clip_norm) scale *= op.clip_norm / norm;
  if (!std::isfinite(norm)) scale = NAN;
  const double step = static_cast<double>(op.step);
  AdamWFactors factors;
  factors.gradient_scale = static_cast<float>(scale);
  factors.beta1 = static_cast<float>(op.beta1);
  factors.beta2 = static_cast<float>(op.beta2);
  factors.epsilon = static_cast<float>(op.epsilon);
  factors.step_size = static_cast<float>(op.lr / (1 - std::pow(op.beta1, step)));
  factors.second_scale = static_cast<float>(1 / std::sqrt(1 - std::pow(op.beta2, step)));
  factors.decay = static_cast<float>(op.lr * op.weight_decay);
  Split(op.count, [&](int, Range range) {
    kernels_.adamw(range.size(), factors, Data(op.gradient) + range.begin,
                   Data(op.weight) + range.begin, Data(op.first_moment) + range.begin,
                   Data(op.second_moment) + range.begin);
  });
}

}  // namespace gyre::cpu
