#include "base/hash.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#include <algorithm>
#include <bit>
#include <cstring>

namespace gyre {
namespace {

constexpr uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

// One block after another into the state, in plain arithmetic.
void TakeBlocks(uint32_t* state, const uint8_t* data, size_t blocks) {
  for (; blocks > 0; --blocks, data += 64) {
    uint32_t w[64];
    for (int i = 0; i < 16; ++i) {
      w[i] = uint32_t{data[4 * i]} << 24 | uint32_t{data[4 * i + 1]} << 16 |
             uint32_t{data[4 * i + 2]} << 8 | uint32_t{data[4 * i + 3]};
    }
    for (int i = 16; i < 64; ++i) {
      const uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
      const uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
      w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (int i = 0; i < 64; ++i) {
      const uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
      const uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + kRound[i] + w[i];
      const uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
      const uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
      h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
    }
    const uint32_t added[8] = {a, b, c, d, e, f, g, h};
    for (int i = 0; i < 8; ++i) state[i] += added[i];
  }
}

#if defined(__x86_64__)
// The same with the processor's own instructions, four times as fast. They want the state as the
// words a b e f and c d g h, the first of each the highest.
[[gnu::target("sha,sse4.1")]] void TakeBlocksWithInstructions(uint32_t* state, const uint8_t* data,
                                                              size_t blocks) {
  const __m128i bytes_of_words = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  auto* const words = reinterpret_cast<__m128i*>(state);
  const __m128i cdab = _mm_shuffle_epi32(_mm_loadu_si128(words), 0xB1);
  const __m128i efgh = _mm_shuffle_epi32(_mm_loadu_si128(words + 1), 0x1B);
  __m128i abef = _mm_alignr_epi8(cdab, efgh, 8), cdgh = _mm_blend_epi16(efgh, cdab, 0xF0);
  for (; blocks > 0; --blocks, data += 64) {
    const __m128i abef_before = abef, cdgh_before = cdgh;
    __m128i w[4];  // the last 16 words of the schedule
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {
      if (i < 4) {
        const auto* const piece = reinterpret_cast<const __m128i*>(data + 16 * i);
        w[i] = _mm_shuffle_epi8(_mm_loadu_si128(piece), bytes_of_words);
      } else {
        const __m128i last = w[(i + 3) % 4];
        const __m128i seven_back = _mm_alignr_epi8(last, w[(i + 2) % 4], 4);
        const __m128i sum =
            _mm_add_epi32(_mm_sha256msg1_epu32(w[i % 4], w[(i + 1) % 4]), seven_back);
        w[i % 4] = _mm_sha256msg2_epu32(sum, last);
      }
      const auto* const constants = reinterpret_cast<const __m128i*>(kRound + 4 * i);
      const __m128i added = _mm_add_epi32(w[i % 4], _mm_loadu_si128(constants));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, added);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(added, 0x0E));
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  const __m128i feba = _mm_shuffle_epi32(abef, 0x1B), dchg = _mm_shuffle_epi32(cdgh, 0xB1);
  _mm_storeu_si128(words, _mm_blend_epi16(feba, dchg, 0xF0));
  _mm_storeu_si128(words + 1, _mm_alignr_epi8(dchg, feba, 8));
}

// Leaf 7, EBX, bit 29; __builtin_cpu_supports does not know it.
bool HasInstructions() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __builtin_cpu_supports("sse4.1") && __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 &&
         (b >> 29 & 1) != 0;
}
#endif

Sha256::BlockFunction FastestBlocks() {
#if defined(__x86_64__)
  if (HasInstructions()) return TakeBlocksWithInstructions;
#endif
  return TakeBlocks;
}

}  // namespace

Sha256::Sha256() {
  static const BlockFunction fastest = FastestBlocks();
  take_blocks_ = fastest;
}

Sha256 Sha256::InPlainArithmetic() {
  Sha256 hash;
  hash.take_blocks_ = TakeBlocks;
  return hash;
}

void Sha256::Update(const void* data, size_t bytes) {
  if (bytes == 0) return;  // data may be null
  const auto* p = static_cast<const uint8_t*>(data);
  total_ += bytes;
  if (buffered_ > 0) {
    const size_t take = std::min(bytes, buffer_.size() - buffered_);
    std::memcpy(buffer_.data() + buffered_, p, take);
    buffered_ += take, p += take, bytes -= take;
    if (buffered_ < buffer_.size()) return;
    take_blocks_(state_.data(), buffer_.data(), 1);
    buffered_ = 0;
  }
  const size_t blocks = bytes / buffer_.size();
  take_blocks_(state_.data(), p, blocks);
  p += blocks * buffer_.size(), bytes -= blocks * buffer_.size();
  if (bytes > 0) std::memcpy(buffer_.data(), p, bytes);
  buffered_ = bytes;
}

std::string Sha256::Finish() {
  const uint64_t bits = total_ * 8;
  const uint8_t one = 0x80, zero = 0;
  Update(&one, 1);
  while (buffered_ != 56) Update(&zero, 1);
  uint8_t length[8];
  for (int i = 0; i < 8; ++i) length[i] = static_cast<uint8_t>(bits >> (56 - 8 * i));
  Update(length, sizeof length);
  std::string hex;
  for (const uint32_t word : state_) {
    for (int shift = 28; shift >= 0; shift -= 4) hex += "0123456789abcdef"[(word >> shift) & 15];
  }
  return hex;
}

std::string Sha256Hex(std::string_view text) {
  Sha256 hash;
  hash.Update(text);
  return hash.Finish();
}

}  // namespace gyre
