#include "base/random.h"

#include <bit>
#include <cmath>
#include <numbers>

#include "base/philox.h"

namespace gyre {
namespace {

// FNV-1a, then a finalizer (splitmix64's): spreads seed and purpose over the 64-bit key.
uint64_t Key(uint64_t seed, std::string_view purpose) {
  uint64_t hash = 0xcbf29ce484222325u ^ seed * 0x9e3779b97f4a7c15u;
  for (const char c : purpose) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9u;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebu;
  return hash ^ (hash >> 31);
}

}  // namespace

Random::Random(uint64_t seed, std::string_view purpose) : key_(Key(seed, purpose)) {}

uint64_t Random::Bits(uint64_t step, uint64_t index) const {
  const auto words = Philox4x32(key_, step, index);
  return uint64_t{words[1]} << 32 | words[0];
}

double Random::Uniform(uint64_t step, uint64_t index) const {
  return static_cast<double>(Bits(step, index) >> 11) * 0x1p-53;
}

uint64_t Random::Below(uint64_t n, uint64_t step, uint64_t index) const {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(Bits(step, index)) * n) >> 64);
}

double Random::Normal(uint64_t step, uint64_t index) const {
  const auto words = Philox4x32(key_, step, index);
  const double u = (words[0] + 0.5) * 0x1p-32;  // in (0, 1), so the logarithm is finite
  const double v = (words[1] + 0.5) * 0x1p-32;
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

uint64_t PermutedIndex(const Random& random, uint64_t step, uint64_t n, uint64_t index) {
  if (n <= 1) return 0;
  const int half = (std::bit_width(n - 1) + 1) / 2;  // the network permutes 0..4^half-1, a superset
  const uint64_t mask = (uint64_t{1} << half) - 1;
  do {
    uint64_t left = index >> half, right = index & mask;
    for (uint64_t round = 0; round < 4; ++round) {
      const uint64_t mixed = random.Bits(step, round << 56 | right) & mask;
      const uint64_t next = left ^ mixed;
      left = right;
      right = next;
    }
    index = left << half | right;
  } while (index >=
           n);  // walk the cycle until it is back inside; ends, since `index` started inside
  return index;
}

}  // namespace gyre
