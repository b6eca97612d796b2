#include "tests/emulation/shared_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

#include "tests/emulation/error.h"
#include "tests/emulation/sanitizers.h"

namespace gyre::emulation {
namespace {

constexpr size_t kBytes = 512 << 10;  // more than any device has, for the bytes between
constexpr size_t kBetween = 64;
constexpr size_t kMostArrays = 64;

}  // namespace

SharedMemory::SharedMemory() {
  void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  memory_ = static_cast<char*>(memory);
  arrays_.reserve(kMostArrays);  // nothing is allocated while threads of a kernel run
}

SharedMemory::~SharedMemory() {
  Unpoison(memory_, kBytes);
  munmap(memory_, kBytes);
}

void SharedMemory::Begin(size_t dynamic_bytes) {
  constexpr size_t kAlignment = 1024;
  Poison(memory_, kBytes);
  used_ = kBetween;
  arrays_.clear();
  dynamic_ = Take(dynamic_bytes, kAlignment);
}

void* SharedMemory::Array(const void* declaration, size_t bytes, size_t alignment) {
  for (const auto& [known, array] : arrays_) {
    if (known == declaration) return array;
  }
  if (arrays_.size() == kMostArrays) Fail("too many shared arrays in a kernel");
  void* array = Take(bytes, std::max<size_t>(alignment, 16));
  arrays_.emplace_back(declaration, array);
  return array;
}

void* SharedMemory::Take(size_t bytes, size_t alignment) {
  used_ = (used_ + alignment - 1) / alignment * alignment;
  if (used_ + bytes + kBetween > kBytes) Fail("a block's shared arrays are larger than any device");
  void* taken = memory_ + used_;
  used_ += (bytes + 7) / 8 * 8 + kBetween;
  Unpoison(taken, bytes);
  FillWithNaN(taken, bytes);
  return taken;
}

}  // namespace gyre::emulation
