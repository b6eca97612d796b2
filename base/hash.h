#pragma once

// SHA-256 (FIPS 180-4), the name of everything that is named by its content: data sets,
// checkpoints, jobs.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gyre {

class Sha256 {
 public:
  /// Takes `blocks` blocks of 64 bytes into the state of 8 words.
  using BlockFunction = void (*)(uint32_t* state, const uint8_t* data, size_t blocks);

  /// With the processor's own instructions for it, where it has them.
  Sha256();
  static Sha256 InPlainArithmetic();

  void Update(const void* data, size_t bytes);
  void Update(std::string_view text) { Update(text.data(), text.size()); }
  /// 64 lower-case hexadecimal digits. Call once.
  std::string Finish();

 private:
  BlockFunction take_blocks_;
  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<uint8_t, 64> buffer_{};
  size_t buffered_ = 0;
  uint64_t total_ = 0;
};

std::string Sha256Hex(std::string_view text);

}  // namespace gyre
