#include "trainer/backend/cpu/workspace.h"

#include <string>

#include "trainer/backend/cpu/memory.h"

namespace gyre::cpu {

Workspace::~Workspace() { FreeZeros(memory_); }

BackendError Workspace::Reserve(int64_t bytes) {
  if (bytes <= bytes_) return {};
  void* memory = AllocateZeros(bytes);
  if (memory == nullptr) {
    return {BackendError::Kind::kOutOfMemory,
            "no memory for " + std::to_string(bytes >> 20) + " MiB of workspace"};
  }
  FreeZeros(memory_);
  memory_ = memory;
  bytes_ = bytes;
  return {};
}

}  // namespace gyre::cpu
