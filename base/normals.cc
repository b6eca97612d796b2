// Random::ScaledNormals: the numbers of Normal(), several at a time.
//
// Each is computed with polynomials that a compiler can vectorize, to within a bound that is far
// below what a float resolves but above what polynomials and library can differ by. Where the bound
// leaves open which float it is (some thirty in a million), Normal() decides. So the bits are
// Normal()'s on every processor. Compiled with options of its own: see CMakeLists.txt.

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <vector>

#include "base/philox.h"
#include "base/random.h"

namespace gyre {
namespace {

constexpr int kBlock = 256;

// The absolute error of radius * cosine, in radii. Rounding the angle costs the library and us
// 1e-15 each, the polynomials' ends and all other roundings less.
constexpr double kError = 1e-13;

struct Block {
  float below[kBlock], above[kBlock];  // one of them is the number; mostly they are equal
};

struct Words {
  uint32_t w0[kBlock], w1[kBlock], w2[kBlock], w3[kBlock];
};

struct Keys {
  uint64_t key, step, first;
};

// ln u for u of 2^-33 to 1.
inline double Log(double u) {
  constexpr uint64_t kOne = uint64_t{1} << 52, kBias = 64 * kOne;
  const uint64_t bits = std::bit_cast<uint64_t>(u);
  // u = m 2^e with m from sqrt(1/2) to sqrt(2).
  const uint64_t biased = bits - std::bit_cast<uint64_t>(std::numbers::sqrt2 / 2) + kBias;
  const double m = std::bit_cast<double>(bits + kBias - (biased & ~(kOne - 1)));
  const double e = std::bit_cast<double>(0x4330000000000000 | biased >> 52) - (0x1p52 + 64);
  // ln m = 2 artanh((m - 1) / (m + 1))
  const double s = (m - 1) / (m + 1), z = s * s;
  double sum = 1.0 / 17;
  for (int n = 15; n >= 1; n -= 2) sum = sum * z + 1.0 / n;
  return e * std::numbers::ln2 + 2 * s * sum;
}

// cos(2 pi v) for v = (word + 1/2) / 2^32.
inline double CosineOfTurn(uint32_t word) {
  const uint32_t quarter = (word + (uint32_t{1} << 29)) >> 30;
  const auto rest = static_cast<int32_t>(word - (quarter << 30));  // an eighth of a turn at most
  const double y = (rest + 0.5) * (2 * std::numbers::pi * 0x1p-32), z = y * y;
  double cosine = 1, sine = 1;
  for (int n = 16; n >= 2; n -= 2) {
    cosine = 1 - cosine * z * (1.0 / (n * (n - 1)));
    sine = 1 - sine * z * (1.0 / (n * (n + 1)));
  }
  const double turned = (quarter & 1) != 0 ? -y * sine : cosine;
  return (quarter & 2) != 0 ? -turned : turned;
}

// The first two words of Philox4x32 for every place of a block, round by round over all of them:
// the compiler then uses the instructions for products of 32 bits.
[[gnu::always_inline]] inline void Draw(const Keys& keys, Words* words) {
  auto& [w0, w1, w2, w3] = *words;
  for (int i = 0; i < kBlock; ++i) {
    const uint64_t place = keys.first + static_cast<uint64_t>(i);
    w0[i] = static_cast<uint32_t>(place);
    w1[i] = static_cast<uint32_t>(place >> 32);
    w2[i] = static_cast<uint32_t>(keys.step);
    w3[i] = static_cast<uint32_t>(keys.step >> 32);
  }
  uint64_t key = keys.key;
  for (int round = 0; round < kPhiloxRounds; ++round, key = NextPhiloxKey(key)) {
    for (int i = 0; i < kBlock; ++i) PhiloxRound(key, &w0[i], &w1[i], &w2[i], &w3[i]);
  }
}

[[gnu::always_inline]] inline void Fill(const Keys& keys, double scale, Block* block) {
  Words words;
  Draw(keys, &words);
  for (int i = 0; i < kBlock; ++i) {
    const double radius = std::sqrt(-2 * Log((words.w0[i] + 0.5) * 0x1p-32)) * scale;
    const double value = radius * CosineOfTurn(words.w1[i]), error = std::abs(radius) * kError;
    block->below[i] = static_cast<float>(value - error);
    block->above[i] = static_cast<float>(value + error);
  }
}

using Filler = void (*)(const Keys& keys, double scale, Block* block);

void FillAnywhere(const Keys& keys, double scale, Block* block) { Fill(keys, scale, block); }

#if defined(__x86_64__)
[[gnu::target("arch=x86-64-v3")]] void FillV3(const Keys& keys, double scale, Block* block) {
  Fill(keys, scale, block);
}
[[gnu::target("arch=x86-64-v4,prefer-vector-width=512")]] void FillV4(const Keys& keys,
                                                                      double scale, Block* block) {
  Fill(keys, scale, block);
}

// clang 14 cannot ask for a level by its name.
bool HasV3() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
         __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
}
bool HasV4() {
  return HasV3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}

#endif

// From the slowest to the fastest.
const std::vector<Filler>& Fillers() {
  static const std::vector<Filler> fillers = [] {
    std::vector<Filler> supported = {FillAnywhere};
#if defined(__x86_64__)
    if (HasV3()) supported.push_back(FillV3);
    if (HasV4()) supported.push_back(FillV4);
#endif
    return supported;
  }();
  return fillers;
}

}  // namespace

int Random::NormalsLevels() { return static_cast<int>(Fillers().size()); }

void Random::ScaledNormals(uint64_t step, uint64_t first, double scale, std::span<float> out,
                           int level) const {
  const Filler fill = Fillers()[static_cast<size_t>(level)];
  Block block;
  for (size_t done = 0; done < out.size(); done += kBlock) {
    fill({key_, step, first + done}, scale, &block);
    const size_t count = std::min<size_t>(kBlock, out.size() - done);
    for (size_t i = 0; i < count; ++i) {
      // By their bits: around zero, they may be two zeros.
      out[done + i] =
          std::bit_cast<uint32_t>(block.below[i]) == std::bit_cast<uint32_t>(block.above[i])
              ? block.below[i]
              : static_cast<float>(scale * Normal(step, first + done + i));
    }
  }
}

}  // namespace gyre
