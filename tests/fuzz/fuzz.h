#pragma once

// The entry point that each fuzzer defines: libFuzzer's own, so that clang's fuzzer drives it as
// well as driver.cc. It must not crash, hang or keep more than the input asks for, whatever the
// bytes; what it promises beyond that it checks with Require().

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace gyre {

inline void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "this should hold: %s\n", what);
  std::abort();
}

}  // namespace gyre
