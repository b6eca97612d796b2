#include "trainer/backend/cpu/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <new>

namespace gyre::cpu {
namespace {

constexpr int64_t kHugePage = int64_t{1} << 21;

// Before the memory itself.
struct alignas(64) Header {
  void* mapped;
  size_t bytes;
};

}  // namespace

// Pages of the system are zeros already, and are made when they are first touched.
void* AllocateZeros(int64_t bytes) {
  // The system promises more memory than there is and kills later; what can never fit is refused
  // here.
  if (bytes < 0 || bytes > sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGE_SIZE)) return nullptr;
  const int64_t needed = bytes + static_cast<int64_t>(sizeof(Header));
  const bool huge = needed >= kHugePage;
  const auto size = static_cast<size_t>(huge ? needed + kHugePage : needed);
  void* mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  char* start = static_cast<char*>(mapped);
  if (huge) {
    start += (kHugePage - reinterpret_cast<intptr_t>(mapped) % kHugePage) % kHugePage;
    // Only speed depends on whether it succeeds.
    madvise(start, static_cast<size_t>(needed), MADV_HUGEPAGE);
  }
  return new (start) Header{mapped, size} + 1;
}

void FreeZeros(void* memory) {
  if (memory == nullptr) return;
  const Header header = static_cast<Header*>(memory)[-1];
  munmap(header.mapped, header.bytes);
}

}  // namespace gyre::cpu
