#include "trainer/backend/cpu/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace gyre::cpu {
namespace {

constexpr int64_t kCacheLine = 64, kHugePage = int64_t{1} << 21;

// Lies on the cache line before what is handed out.
struct Block {
  void* memory = nullptr;  // as the system gave it
  size_t mapped = 0;       // bytes; 0: it came from the heap
};

Block* BlockOf(void* memory) {
  return reinterpret_cast<Block*>(static_cast<char*>(memory) - kCacheLine);
}

void* AllocateOnHeap(int64_t bytes) {
  const int64_t size = (kCacheLine + bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
  void* memory = std::aligned_alloc(kCacheLine, static_cast<size_t>(size));
  if (memory == nullptr) return nullptr;
  void* given = static_cast<char*>(memory) + kCacheLine;
  new (BlockOf(given)) Block{memory, 0};
  return std::memset(given, 0, static_cast<size_t>(size - kCacheLine));
}

// A fresh map is zeros already. Its pages come into being at their first use, each on the thread
// that uses it, and not at all where nobody does.
void* Map(int64_t bytes) {
  const auto size = static_cast<size_t>(bytes + 2 * kHugePage);
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  const auto start = reinterpret_cast<uintptr_t>(memory);
  const uintptr_t aligned = (start + kHugePage) / kHugePage * kHugePage;
  void* given = reinterpret_cast<void*>(aligned);
  // Only speed depends on whether it succeeds.
  madvise(given, size - (aligned - start), MADV_HUGEPAGE);
  new (BlockOf(given)) Block{memory, size};
  return given;
}

}  // namespace

void* AllocateZeros(int64_t bytes) {
  // The system promises more memory than there is and kills later; what can never fit is refused
  // here.
  if (bytes < 0 || bytes > sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGE_SIZE)) return nullptr;
  return bytes >= kHugePage ? Map(bytes) : AllocateOnHeap(bytes);
}

void FreeZeros(void* memory) {
  if (memory == nullptr) return;
  const Block block = *BlockOf(memory);
  if (block.mapped > 0) {
    munmap(block.memory, block.mapped);
  } else {
    std::free(block.memory);
  }
}

}  // namespace gyre::cpu
