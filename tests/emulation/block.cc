#include "tests/emulation/block.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <utility>

#include "tests/emulation/options.h"

thread_local constinit uint3 threadIdx = {}, blockIdx = {}, blockDim = {}, gridDim = {};

namespace gyre::emulation {

thread_local constinit Thread* current_thread = nullptr;
thread_local constinit Block* current_block = nullptr;

namespace {

using State = BlockThread::State;

BlockThread* Running() { return static_cast<BlockThread*>(current_thread); }

void GoOnIn(BlockThread* from, BlockThread* to, bool last = false) {
  if (from == to) return;
  current_thread = to;
  threadIdx = to->index;
  SwitchContext(from, to, last);
}

}  // namespace

void Block::Prepare(dim3 threads, size_t dynamic_shared) {
  count_ = static_cast<int>(threads.x * threads.y * threads.z);
  while (static_cast<int>(threads_.size()) < count_) {
    threads_.push_back(std::make_unique<BlockThread>());
  }
  for (Warp& warp : warps_) {
    warp.ready = 0;
    for (WarpMeeting& meeting : warp.meetings) meeting.mask = 0;
  }
  const int warps = (count_ + kWarpSize - 1) / kWarpSize;
  for (int i = 0; i < kMostWarps; ++i) preference_[i] = i;
  if (TheOptions().order == Order::kRandom) {
    std::shuffle(preference_.begin(), preference_.begin() + warps, runner_->random);
  }
  shared_.Begin(dynamic_shared);
  warps_ready_ = 0;
  alive_ = count_;
  at_barrier_ = 0;
  for (int i = 0; i < count_; ++i) {
    BlockThread& thread = *threads_[i];
    if (thread.state != State::kDone) Unpoison(thread.stack, thread.stack_bytes);
    const auto number = static_cast<unsigned>(i);
    thread.index = {number % threads.x, number / threads.x % threads.y,
                    number / (threads.x * threads.y)};
    thread.number = i;
    thread.lane = i % kWarpSize;
    thread.warp = i / kWarpSize;
    thread.copies = thread.copy_groups = 0;
    thread.Begin(&ThreadMain);
    Wake(&thread);
  }
}

void Block::Run(dim3 grid, dim3 threads, uint3 index, size_t dynamic_shared,
                const std::function<void()>& body) {
  body_ = &body;
  failure_.clear();
  current_block = this;
  Prepare(threads, dynamic_shared);
  runner_->begin.Release();
  ++blocks_;
  blockIdx = index;
  blockDim = {threads.x, threads.y, threads.z};
  gridDim = {grid.x, grid.y, grid.z};
  BlockThread* first = Pick();
  current_thread = first;
  threadIdx = first->index;
  SwitchContext(&runner_->context, first);
  if (!failure_.empty()) throw Error(failure_);
}

void Block::ThreadMain() {
  Block& block = *current_block;
  BlockThread* self = Running();
  self->Entered();
  block.runner_->begin.Acquire();
  block.reuse_[block.blocks_ % 2].Acquire();
  (*block.body_)();
  block.runner_->end.Release();
  block.reuse_[(block.blocks_ + 1) % 2].Release();
  self->state = State::kDone;
  --block.alive_;
  if (block.at_barrier_ > 0) {
    block.FailThread("a thread returned while others wait at __syncthreads " +
                     ToString(block.barrier_location_));
  }
  if (block.alive_ > 0) {
    BlockThread* next = block.Pick();
    if (next == nullptr) block.FailThread(block.Deadlock());
    GoOnIn(self, next, true);
  } else {
    current_thread = nullptr;
    SwitchContext(self, &block.runner_->context, true);
  }
  std::abort();  // a thread that is done was gone on in
}

void Block::FailThread(const std::string& what) {
  BlockThread* self = Running();
  failure_ = what + " [block " + std::to_string(blockIdx.x) + "," + std::to_string(blockIdx.y) +
             "," + std::to_string(blockIdx.z) + " thread " + std::to_string(self->number) + "]";
  current_thread = nullptr;
  SwitchContext(self, &runner_->context, true);
  std::abort();
}

void Block::Wake(BlockThread* thread) {
  thread->state = State::kReady;
  warps_[thread->warp].ready |= 1u << thread->lane;
  warps_ready_ |= 1u << thread->warp;
}

BlockThread* Block::TakeReady(int warp, int lane) {
  uint32_t& ready = warps_[warp].ready;
  ready &= ~(1u << lane);
  if (ready == 0) warps_ready_ &= ~(1u << warp);
  return threads_[warp * kWarpSize + lane].get();
}

BlockThread* Block::Pick() {
  if (warps_ready_ == 0) return nullptr;
  switch (TheOptions().order) {
    case Order::kForward: {
      const int warp = std::countr_zero(warps_ready_);
      return TakeReady(warp, std::countr_zero(warps_[warp].ready));
    }
    case Order::kReverse: {
      const int warp = 31 - std::countl_zero(warps_ready_);
      return TakeReady(warp, 31 - std::countl_zero(warps_[warp].ready));
    }
    case Order::kRandom:
      break;
  }
  return PickRandom();
}

BlockThread* Block::PickRandom() {
  const uint64_t bits = runner_->random();
  const auto warps = static_cast<uint64_t>((count_ + kWarpSize - 1) / kWarpSize);
  if (bits % 64 == 0) {
    std::swap(preference_[(bits >> 8) % warps], preference_[(bits >> 16) % warps]);
  }
  int place = 0;
  while ((warps_ready_ >> preference_[place] & 1) == 0) ++place;
  const int warp = preference_[place];
  uint32_t ready = warps_[warp].ready;
  for (uint64_t skip = (bits >> 24) % std::popcount(ready); skip > 0; --skip) ready &= ready - 1;
  return TakeReady(warp, std::countr_zero(ready));
}

void Block::LetOthersRun() {
  BlockThread* next = Pick();
  if (next == nullptr) FailThread(Deadlock());
  GoOnIn(Running(), next);
}

std::string Block::Deadlock() const {
  constexpr int kMostShown = 4;
  std::string what = "the threads of a block wait for each other:";
  int shown = 0;
  for (int i = 0; i < count_ && shown < kMostShown; ++i) {
    const BlockThread& thread = *threads_[i];
    if (thread.state == State::kDone) continue;
    what +=
        "\n  thread " + std::to_string(i) +
        (thread.state == State::kAtBlockBarrier ? " at __syncthreads " : " in a warp operation ") +
        ToString(thread.waits_at);
    ++shown;
  }
  return what;
}

void Block::OpenBarrier() {
  at_barrier_ = 0;
  ++barriers_;
  for (int i = 0; i < count_; ++i) {
    if (threads_[i]->state == State::kAtBlockBarrier) Wake(threads_[i].get());
  }
}

void Block::Barrier(Location location) {
  BlockThread* self = Running();
  if (at_barrier_ == 0) {
    barrier_location_ = location;
  } else if (location != barrier_location_) {
    FailThread("threads of a block are at different __syncthreads: " + ToString(barrier_location_) +
               " and " + ToString(location));
  }
  if (alive_ < count_) {
    FailThread("__syncthreads after threads of the block have returned: " + ToString(location));
  }
  Edge& edge = barrier_edges_[barriers_ % 2];
  edge.Release();
  self->state = State::kAtBlockBarrier;
  self->waits_at = location;
  if (++at_barrier_ == alive_) OpenBarrier();
  LetOthersRun();
  edge.Acquire();
}

}  // namespace gyre::emulation
