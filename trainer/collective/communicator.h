#pragma once

// What the ranks of one job do together: a job on several devices is as many processes (in tests:
// threads), which hold the same weights, train on different rows of the same batch and add up their
// gradients. Every rank makes the same calls in the same order; a call returns when it is done, or
// when a rank is gone: every later call then fails too. Sums have an order that depends on the
// number of ranks and of values alone, and give every rank the same bits. Standard C++ only. One
// thread at a time uses a Communicator.

#include <cstdint>
#include <span>

#include "trainer/backend/backend.h"

namespace gyre {

class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Of memory as the backend has it: the machine's own and `stream` null, or a device's, with the
  /// stream in whose order it is carried out, which may be after the call returned.
  virtual BackendError Sum(float* values, int64_t count, void* stream) = 0;
  /// Of this process's memory, whatever the backend.
  virtual BackendError Sum(std::span<double> values) = 0;
};

}  // namespace gyre
