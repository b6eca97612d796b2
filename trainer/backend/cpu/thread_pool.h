#pragma once

// A fixed team of threads, of which the caller is the first, that runs one task at a time. Between
// tasks it spins for a tenth of a millisecond, about as long as waking somebody takes, and then
// sleeps: several trainers share a machine, and a team that spins for long slows all of them. With
// one thread nothing is ever started. One thread at a time may call Run.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/status.h"

namespace gyre::cpu {

/// [begin, end).
struct Range {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};

/// Part `part` of `parts` contiguous ones, nearly equal, in whole multiples of `grain` but for the
/// last.
Range Split(Range whole, int parts, int part, int64_t grain = 1);

class ThreadPool {
 public:
  /// RESOURCE_EXHAUSTED: the system gives no more threads.
  static Result<std::unique_ptr<ThreadPool>> Create(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return static_cast<int>(threads_.size()) + 1; }

  /// Calls task(0) .. task(size() - 1), each on its thread, and waits for all.
  template <typename Task>
  void Run(const Task& task) {
    RunAll([](const void* context, int thread) { (*static_cast<const Task*>(context))(thread); },
           &task);
  }

  /// Calls item(i, thread) for each i of [0, count). A thread begins with its part of them as Split
  /// has it, whose numbers its cache may have, and goes on with what others have left.
  template <typename Item>
  void Share(int64_t count, const Item& item) {
    for (Taken& taken : taken_) taken.count.store(0, std::memory_order_relaxed);
    Run([&](int thread) {
      for (int of = 0; of < size(); ++of) {
        const int whose = (thread + of) % size();
        const Range part = Split({0, count}, size(), whose);
        std::atomic<int64_t>& taken = taken_[static_cast<size_t>(whose)].count;
        for (int64_t i = part.begin + taken++; i < part.end; i = part.begin + taken++) {
          item(i, thread);
        }
      }
    });
  }

 private:
  using Function = void (*)(const void* context, int thread);

  ThreadPool() = default;
  void RunAll(Function function, const void* context);
  void Serve(int thread);
  /// Until the value is another one, which it returns.
  uint32_t AwaitChange(const std::atomic<uint32_t>& value, uint32_t from);
  /// After a value has changed.
  void Wake();

  // On a line of its own: how much of a thread's part is no longer to be had.
  struct alignas(64) Taken {
    std::atomic<int64_t> count{0};
  };

  std::vector<std::thread> threads_;
  std::vector<Taken> taken_;  // by thread
  Function function_ = nullptr;
  const void* context_ = nullptr;
  std::atomic<uint32_t> task_{0};  // counts; the last is kStop
  std::atomic<uint32_t> running_{0};
  // Of those that sleep. (std::atomic's own wait loses wake-ups in libstdc++ 12.)
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace gyre::cpu
