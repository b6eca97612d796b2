#pragma once

// What the tests of the CPU kernels have in common: memory that notices a write beside it, and
// what a result may differ by.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "trainer/backend/cpu/processor.h"

namespace gyre::cpu {

/// Sizes below, at and above registers of 4, 8 and 16, and with every kind of rest.
inline constexpr int kOddSizes[] = {1, 15, 16, 17, 31, 100, 257};

inline float Value(float x) { return x; }
inline float Value(Bf16 x) { return std::bit_cast<float>(uint32_t{x.bits} << 16); }

/// Rounded by the definition: the nearer of the two neighbours, the even one if both are; denormal
/// numbers are zeros.
inline void Assign(float x, float* y) { *y = x; }
inline void Assign(float x, Bf16* y) {
  const uint32_t bits = std::bit_cast<uint32_t>(x), below = bits >> 16, rest = bits & 0xffff;
  if (std::isnan(x)) {
    y->bits = static_cast<uint16_t>(below | 0x40);
  } else if (std::abs(x) < std::numeric_limits<float>::min()) {
    y->bits = static_cast<uint16_t>(below & 0x8000);
  } else {
    const bool up = rest > 0x8000 || (rest == 0x8000 && below % 2 == 1);
    y->bits = static_cast<uint16_t>(below + (up ? 1 : 0));
  }
}

/// The largest relative error of one rounding to Narrow.
template <typename Narrow>
constexpr double kRounding = std::is_same_v<Narrow, Bf16> ? 0x1p-8 : 0x1p-23;

/// Numbers with a margin on both sides, and deliberately not at an aligned address.
template <typename T>
class Guarded {
 public:
  explicit Guarded(int64_t count) : numbers_(static_cast<size_t>(count + 2 * kMargin)) {
    std::memset(static_cast<void*>(numbers_.data()), kMark, numbers_.size() * sizeof(T));
  }
  ~Guarded() {
    for (int64_t i = -kMargin; i < size() + kMargin; ++i) {
      EXPECT_TRUE((i >= 0 && i < size()) || Untouched(i)) << "written beside: " << i;
    }
  }
  Guarded(const Guarded&) = default;

  template <typename Number>
  Guarded& Fill(const Number& number) {
    for (int64_t i = 0; i < size(); ++i) Assign(static_cast<float>(number(i)), data() + i);
    return *this;
  }

  T* data() { return numbers_.data() + kMargin; }
  const T* data() const { return numbers_.data() + kMargin; }
  int64_t size() const { return static_cast<int64_t>(numbers_.size()) - 2 * kMargin; }
  float operator[](int64_t i) const { return Value(data()[i]); }
  bool Untouched(int64_t i) const {
    T mark;
    std::memset(static_cast<void*>(&mark), kMark, sizeof(mark));
    return std::memcmp(data() + i, &mark, sizeof(T)) == 0;
  }
  friend bool operator==(const Guarded& a, const Guarded& b) {
    return a.numbers_.size() == b.numbers_.size() &&
           std::memcmp(a.numbers_.data(), b.numbers_.data(), a.numbers_.size() * sizeof(T)) == 0;
  }

 private:
  static constexpr int64_t kMargin = 33;
  static constexpr int kMark = 0xa5;
  std::vector<T> numbers_;
};

template <typename T>
Guarded<T> RandomNumbers(int64_t count, double low = -2, double high = 2) {
  std::mt19937 random(static_cast<unsigned>(count));
  std::uniform_real_distribution<double> number(low, high);
  Guarded<T> numbers(count);
  numbers.Fill([&](int64_t) { return number(random); });
  return numbers;
}

/// `got` is `want` up to `error`, then rounded to Narrow. Denormal numbers are as good as zeros.
template <typename Narrow>
void ExpectNear(double got, double want, double error, const std::string& what) {
  EXPECT_LE(std::abs(got - want), error + (std::abs(want) + error) * kRounding<Narrow> + 0x1p-126)
      << what << ": " << got << " for " << want;
}

template <typename Narrow>
const NarrowKernels<Narrow>& Of(const Kernels& kernels) {
  if constexpr (std::is_same_v<Narrow, float>) {
    return kernels.to_float;
  } else {
    return kernels.to_bf16;
  }
}

/// Each test runs on each table of this processor.
template <typename Narrow>
class NarrowKernelsTest : public testing::Test {
 protected:
  template <typename Check>
  void OnEveryInstructionSet(const Check& check) {
    for (const Kernels* kernels : SupportedKernels()) {
      SCOPED_TRACE(kernels->instruction_set);
      check(Of<Narrow>(*kernels), *kernels);
    }
  }
};
using BothNarrow = testing::Types<float, Bf16>;

}  // namespace gyre::cpu
