#pragma once

// Random values without a state: each is a function of (seed, purpose, step, index), so nothing
// that draws can disturb anything else that draws, and a resumed run needs no generator to be
// restored. The bits are those of philox.h.

#include <cstdint>
#include <span>
#include <string_view>

namespace gyre {

/// The random values of one purpose under one seed. A cheap value: copy it freely.
class Random {
 public:
  /// `purpose` names what is drawn, e.g. "weights/model.norm.weight".
  Random(uint64_t seed, std::string_view purpose);

  /// 64 uniform bits.
  uint64_t Bits(uint64_t step, uint64_t index) const;
  /// Uniform in [0, 1), 53 bits.
  double Uniform(uint64_t step, uint64_t index) const;
  /// Uniform in 0..n-1 without bias worth naming (multiply-high of 64 bits); n > 0.
  uint64_t Below(uint64_t n, uint64_t step, uint64_t index) const;
  /// Standard normal (Box-Muller on two 32-bit uniforms).
  double Normal(uint64_t step, uint64_t index) const;
  /// out[i] = scale * Normal(step, first + i) as a float, to the bit, but several times as fast.
  void ScaledNormals(uint64_t step, uint64_t first, double scale, std::span<float> out) const {
    ScaledNormals(step, first, scale, out, NormalsLevels() - 1);
  }
  /// The same with a level of instructions: 0 = those that every processor has, and up.
  void ScaledNormals(uint64_t step, uint64_t first, double scale, std::span<float> out,
                     int level) const;
  /// How many levels this processor has.
  static int NormalsLevels();

 private:
  uint64_t key_;
};

/// Where place `index` of 0..n-1 goes under the permutation of 0..n-1 that `random` and `step`
/// name: a bijection computed place by place in constant memory (a four-round Feistel network with
/// cycle walking).
uint64_t PermutedIndex(const Random& random, uint64_t step, uint64_t n, uint64_t index);

}  // namespace gyre
