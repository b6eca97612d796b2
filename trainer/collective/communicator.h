#pragma once

// What the ranks of one job do together: a job on several devices is as many processes (in tests:
// threads), which hold the same weights, train on different rows of the same batch and add up their
// gradients. Every rank makes the same calls in the same order; a call returns when it is done, or
// with kPeer and which rank and why when another is gone, has left, or has not come within the
// communicator's timeout: every later call then fails too. Sums have an order that depends on the
// number of ranks and of values alone, and give every rank the same bits. Standard C++ only. One
// thread at a time uses a Communicator.

#include <cstdint>
#include <span>
#include <string>

#include "trainer/backend/backend.h"

namespace gyre {

class Communicator {
 public:
  /// To the others, a rank whose communicator has ended is gone.
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Of memory as the backend has it: the machine's own and `stream` null, or a device's, with the
  /// stream in whose order it is carried out, which may be after the call returned.
  virtual BackendError Sum(float* values, int64_t count, void* stream) = 0;
  /// Of this process's memory, whatever the backend.
  virtual BackendError Sum(std::span<double> values) = 0;

  /// This rank takes no further part, and the others' calls fail with `why`, which is for people.
  /// Nothing if one of them has left before.
  virtual void Leave(const std::string& why) = 0;
};

}  // namespace gyre
