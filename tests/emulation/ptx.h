#pragma once

// What the instructions of trainer/backend/cuda/kernels/ptx.h do, lane by lane, under the same
// names. GPU_PTX tells that file to leave them to this one.

#include <bit>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "tests/emulation/thread.h"

#define GPU_PTX

namespace gyre::cuda::ptx {

using emulation::Location;

/// The lower or upper bfloat16 of a register.
inline float Half(uint32_t pair, int half) {
  return std::bit_cast<float>(half == 0 ? pair << 16 : pair & 0xffff0000u);
}

/// mma.sync m16n8k16: d (16, 8) += a (16, 16, by rows) b (16, 8, by columns).
inline void MultiplyAdd(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                        Location location = Location::Here()) {
  struct Registers {
    uint32_t a[4], b[2];
  } registers;
  std::memcpy(registers.a, a, sizeof(a));
  std::memcpy(registers.b, b, sizeof(b));
  emulation::WarpExchange(~0u, &registers, sizeof(registers), emulation::WarpOperation::kMultiply,
                          location);
  const int row = emulation::current_thread->lane / 4;
  const int column = emulation::current_thread->lane % 4 * 2;
  float rows[2][16];     // row, row + 8 of a
  float columns[2][16];  // column, column + 1 of b
  for (int q = 0; q < 4; ++q) {
    for (int half = 0; half < 2; ++half) {
      std::memcpy(&registers, emulation::GivenBy(row * 4 + q), sizeof(registers));
      for (int r = 0; r < 2; ++r) {
        rows[r][q * 2 + half] = Half(registers.a[r], half);
        rows[r][q * 2 + 8 + half] = Half(registers.a[r + 2], half);
      }
      for (int c = 0; c < 2; ++c) {
        std::memcpy(&registers, emulation::GivenBy((column + c) * 4 + q), sizeof(registers));
        columns[c][q * 2 + half] = Half(registers.b[0], half);
        columns[c][q * 2 + 8 + half] = Half(registers.b[1], half);
      }
    }
  }
  emulation::EndWarpExchange();
  for (int r = 0; r < 2; ++r) {
    for (int c = 0; c < 2; ++c) {
      float sum = 0;
      for (int k = 0; k < 16; ++k) sum += rows[r][k] * columns[c][k];
      d[r * 2 + c] += sum;
    }
  }
}

/// Lane l gives row l % 8 of matrix l / 8; each lane reads all of what it takes itself, so that the
/// sanitizers see it.
inline void LoadMatrices(uint32_t (&matrices)[4], const void* row, bool transposed,
                         Location location) {
  if (reinterpret_cast<uintptr_t>(row) % 16 != 0) {
    emulation::Fail("ldmatrix: misaligned row: " + ToString(location));
  }
  emulation::WarpExchange(
      ~0u, &row, sizeof(row),
      transposed ? emulation::WarpOperation::kLoadTransposed : emulation::WarpOperation::kLoad,
      location);
  const int major = emulation::current_thread->lane / 4;
  const int minor = emulation::current_thread->lane % 4 * 2;
  for (int i = 0; i < 4; ++i) {
    uint16_t halves[2];
    for (int half = 0; half < 2; ++half) {
      const int r = transposed ? minor + half : major;
      const int c = transposed ? major : minor + half;
      const char* source = nullptr;
      std::memcpy(&source, emulation::GivenBy(i * 8 + r), sizeof(source));
      std::memcpy(&halves[half], source + c * sizeof(uint16_t), sizeof(uint16_t));
    }
    matrices[i] = halves[0] | uint32_t{halves[1]} << 16;
  }
  emulation::EndWarpExchange();
}
inline void LoadMatrix(uint32_t (&matrices)[4], const void* row,
                       Location location = Location::Here()) {
  LoadMatrices(matrices, row, false, location);
}
inline void LoadMatrixTransposed(uint32_t (&matrices)[4], const void* row,
                                 Location location = Location::Here()) {
  LoadMatrices(matrices, row, true, location);
}

/// cp.async of 16 bytes, or of zeros if not `valid`. They move in WaitForCopies and no sooner: who
/// does not wait reads what was there.
inline void CopyAsync(void* target, const void* source, bool valid,
                      Location location = Location::Here()) {
  emulation::Thread& thread = *emulation::current_thread;
  if ((reinterpret_cast<uintptr_t>(target) | reinterpret_cast<uintptr_t>(source)) % 16 != 0) {
    emulation::Fail("cp.async: misaligned: " + ToString(location));
  }
  if (thread.copies == std::ssize(thread.copy)) {
    emulation::Fail("cp.async: too many copies under way: " + ToString(location));
  }
  thread.copy[thread.copies++] = {target, valid ? source : nullptr};
}
inline void CommitCopies(Location location = Location::Here()) {
  emulation::Thread& thread = *emulation::current_thread;
  if (thread.copy_groups == std::ssize(thread.group_copies)) {
    emulation::Fail("cp.async: too many groups under way: " + ToString(location));
  }
  int copies = thread.copies;
  for (int i = 0; i < thread.copy_groups; ++i) copies -= thread.group_copies[i];
  thread.group_copies[thread.copy_groups++] = copies;
}
/// Until at most `kGroups` groups are still under way.
template <int kGroups>
void WaitForCopies() {
  emulation::Thread& thread = *emulation::current_thread;
  const int groups = thread.copy_groups - kGroups;
  if (groups <= 0) return;
  int done = 0;
  for (int i = 0; i < groups; ++i) done += thread.group_copies[i];
  for (int i = 0; i < done; ++i) {
    const auto* source = static_cast<const uint32_t*>(thread.copy[i].source);
    auto* target = static_cast<uint32_t*>(thread.copy[i].target);
    for (int j = 0; j < 4; ++j) target[j] = source == nullptr ? 0 : source[j];
  }
  for (int i = done; i < thread.copies; ++i) thread.copy[i - done] = thread.copy[i];
  for (int i = groups; i < thread.copy_groups; ++i) {
    thread.group_copies[i - groups] = thread.group_copies[i];
  }
  thread.copies -= done;
  thread.copy_groups -= groups;
}

}  // namespace gyre::cuda::ptx
