#pragma once

// One block of a kernel: its threads as fibers, their barriers, warps and shared memory.
//
// Between barriers a preferred warp runs as far ahead as it can, since that is what exposes a
// missing barrier; uniformly random threads hardly ever do. For ThreadSanitizer there is an edge of
// "happens before" at barriers and nowhere else.
//
// This code is never instrumented for ThreadSanitizer, and allocates nothing while threads of a
// kernel run.

#include <cuda_runtime.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/emulation/fiber.h"
#include "tests/emulation/sanitizers.h"
#include "tests/emulation/shared_memory.h"
#include "tests/emulation/thread.h"

namespace gyre::emulation {

constexpr int kWarpSize = 32;
constexpr int kMostThreads = 1024;
constexpr int kMostWarps = kMostThreads / kWarpSize;

/// An operation of several lanes of a warp, from the first that comes to the last that leaves.
struct WarpMeeting {
  unsigned mask = 0;  // 0: free
  unsigned arrived = 0;
  int inside = 0;  // who has not left yet
  WarpOperation operation = WarpOperation::kBarrier;
  Location location;
  alignas(16) unsigned char given[kWarpSize][32];
  Edge edge;
};

struct BlockThread : Thread, Fiber {
  enum class State { kReady, kAtBlockBarrier, kInWarp, kDone };
  State state = State::kDone;
  Location waits_at;
  WarpMeeting* meeting = nullptr;
};

struct Warp {
  static constexpr int kMostMeetings = 8;
  uint32_t ready = 0;  // by lane
  std::array<WarpMeeting, kMostMeetings> meetings;
};

/// What the blocks that one thread of the operating system runs have in common.
struct BlockRunner {
  Context context;  // where blocks are started from
  std::mt19937_64 random;
  Edge begin, end;  // of a block, and of the launch
};

class Block {
 public:
  explicit Block(BlockRunner* runner) : runner_(runner) {}

  /// Runs `body` in every thread. Throws Error if one failed.
  void Run(dim3 grid, dim3 threads, uint3 index, size_t dynamic_shared,
           const std::function<void()>& body);

  // What the running thread calls.
  void Barrier(Location location);
  void WarpBarrier(unsigned mask, Location location);
  void WarpExchange(unsigned mask, const void* value, size_t bytes, WarpOperation operation,
                    Location location);
  void EndWarpExchange();
  SharedMemory& shared() { return shared_; }
  [[noreturn]] void FailThread(const std::string& what);

 private:
  static void ThreadMain();
  void Prepare(dim3 threads, size_t dynamic_shared);
  void Wake(BlockThread* thread);
  BlockThread* TakeReady(int warp, int lane);
  BlockThread* Pick();        // null: nobody is ready
  BlockThread* PickRandom();  // somebody is ready
  void LetOthersRun();
  void OpenBarrier();
  std::string Deadlock() const;
  WarpMeeting* Join(unsigned mask, WarpOperation operation, Location location);
  void WaitForLanes(WarpMeeting* meeting);

  BlockRunner* const runner_;
  const std::function<void()>* body_ = nullptr;
  std::vector<std::unique_ptr<BlockThread>> threads_;
  std::vector<Warp> warps_ = std::vector<Warp>(kMostWarps);  // before any thread runs
  std::array<int, kMostWarps> preference_;  // of kRandom: warps, the first runs ahead
  uint32_t warps_ready_ = 0;
  int count_ = 0, alive_ = 0;
  SharedMemory shared_;
  std::string failure_;

  int at_barrier_ = 0;
  unsigned barriers_ = 0;  // passed
  Location barrier_location_;
  // Alternate, since who leaves late must not inherit from those who are at the next one.
  Edge barrier_edges_[2];
  // Shared memory is used again: a block comes after the one before it here, not after its own.
  Edge reuse_[2];
  unsigned blocks_ = 0;
};

/// The one whose threads run in this thread of the operating system.
extern thread_local constinit Block* current_block;

}  // namespace gyre::emulation
