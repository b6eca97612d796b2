#include "trainer/backend/cpu/thread_pool.h"

#include <algorithm>
#include <string>
#include <system_error>

#include "trainer/backend/cpu/processor.h"

namespace gyre::cpu {
namespace {

constexpr uint32_t kStop = UINT32_MAX;
constexpr int kSpins = 2000;  // some hundred microseconds

}  // namespace

Range Split(Range whole, int parts, int part, int64_t grain) {
  const int64_t grains = (whole.size() + grain - 1) / grain;
  const auto start = [&](int p) {
    return std::min(whole.begin + grains * p / parts * grain, whole.end);
  };
  return {start(part), start(part + 1)};
}

Result<std::unique_ptr<ThreadPool>> ThreadPool::Create(int threads) {
  std::unique_ptr<ThreadPool> pool(new ThreadPool);
  try {
    pool->taken_ = std::vector<Taken>(static_cast<size_t>(threads));
    for (int thread = 1; thread < threads; ++thread) {
      pool->threads_.emplace_back([pool = pool.get(), thread] { pool->Serve(thread); });
    }
  } catch (const std::system_error& error) {
    return ResourceExhausted("cannot start thread " + std::to_string(pool->size() + 1) + " of " +
                             std::to_string(threads) + ": " + error.what() + "; use fewer threads");
  }
  return pool;
}

ThreadPool::~ThreadPool() {
  task_.store(kStop, std::memory_order_release);
  Wake();
  for (std::thread& thread : threads_) thread.join();
}

uint32_t ThreadPool::AwaitChange(const std::atomic<uint32_t>& value, uint32_t from) {
  for (int i = 0; i < kSpins; ++i) {
    const uint32_t now = value.load(std::memory_order_acquire);
    if (now != from) return now;
    Pause();
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return value.load(std::memory_order_acquire) != from; });
  return value.load(std::memory_order_acquire);
}

// Whoever has seen the old value under the mutex sleeps by now.
void ThreadPool::Wake() {
  { const std::lock_guard lock(mutex_); }
  changed_.notify_all();
}

void ThreadPool::RunAll(Function function, const void* context) {
  const FlushDenormals flush;
  if (!threads_.empty()) {
    function_ = function;
    context_ = context;
    running_.store(static_cast<uint32_t>(threads_.size()), std::memory_order_relaxed);
    const uint32_t next = (task_.load(std::memory_order_relaxed) + 1) % kStop;
    task_.store(next, std::memory_order_release);
    Wake();
  }
  function(context, 0);
  for (uint32_t left = running_.load(std::memory_order_acquire); left != 0;) {
    left = AwaitChange(running_, left);
  }
}

void ThreadPool::Serve(int thread) {
  const FlushDenormals flush;
  for (uint32_t done = 0;;) {
    done = AwaitChange(task_, done);
    if (done == kStop) return;
    function_(context_, thread);
    if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) Wake();
  }
}

}  // namespace gyre::cpu
