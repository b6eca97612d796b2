#include "trainer/backend/cpu/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace gyre::cpu {

void* AllocateZeros(int64_t bytes) {
  constexpr int64_t kCacheLine = 64, kHugePage = int64_t{1} << 21;
  // The system promises more memory than there is and kills later; what can never fit is refused
  // here.
  if (bytes < 0 || bytes > sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGE_SIZE)) return nullptr;
  const int64_t alignment = bytes >= kHugePage ? kHugePage : kCacheLine;
  const int64_t size = (bytes / alignment + 1) * alignment;
  void* memory = std::aligned_alloc(static_cast<size_t>(alignment), static_cast<size_t>(size));
  if (memory == nullptr) return nullptr;
  // Only speed depends on whether it succeeds.
  if (alignment == kHugePage) madvise(memory, static_cast<size_t>(size), MADV_HUGEPAGE);
  std::memset(memory, 0, static_cast<size_t>(size));
  return memory;
}

void FreeZeros(void* memory) { std::free(memory); }

}  // namespace gyre::cpu
