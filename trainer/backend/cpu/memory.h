#pragma once

#include <cstdint>

namespace gyre::cpu {

/// Zeros on a cache line of their own (on huge pages where they fill some and the system has them),
/// or nullptr.
void* AllocateZeros(int64_t bytes);
void FreeZeros(void* memory);

}  // namespace gyre::cpu
