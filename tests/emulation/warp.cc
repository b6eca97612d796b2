// What lanes of a warp do together.

#include <algorithm>
#include <bit>

#include "tests/emulation/block.h"

namespace gyre::emulation {
namespace {

BlockThread* Running() { return static_cast<BlockThread*>(current_thread); }

}  // namespace

WarpMeeting* Block::Join(unsigned mask, WarpOperation operation, Location location) {
  BlockThread* self = Running();
  const unsigned bit = 1u << self->lane;
  if ((mask & bit) == 0) {
    FailThread("a lane is in a warp operation whose mask leaves it out: " + ToString(location));
  }
  const int lanes = std::min(kWarpSize, count_ - self->warp * kWarpSize);
  if (lanes < kWarpSize) mask &= (1u << lanes) - 1;
  WarpMeeting *meeting = nullptr, *free = nullptr;
  for (WarpMeeting& each : warps_[self->warp].meetings) {
    if (each.mask == 0) {
      free = &each;
    } else if (each.arrived != each.mask && (each.mask & mask) != 0) {
      meeting = &each;
    }
  }
  if (meeting == nullptr) {
    if (free == nullptr) FailThread("too many warp operations under way: " + ToString(location));
    meeting = free;
    meeting->mask = mask;
    meeting->arrived = 0;
    meeting->inside = std::popcount(mask);
    meeting->operation = operation;
    meeting->location = location;
  } else if (meeting->mask != mask || meeting->operation != operation ||
             meeting->location != location) {
    FailThread("lanes of a warp are in different warp operations: " + ToString(meeting->location) +
               " and " + ToString(location));
  }
  meeting->arrived |= bit;
  self->meeting = meeting;
  self->waits_at = location;
  return meeting;
}

void Block::WaitForLanes(WarpMeeting* meeting) {
  BlockThread* self = Running();
  self->state = BlockThread::State::kInWarp;
  if (meeting->arrived == meeting->mask) {
    for (int lane = 0; lane < kWarpSize; ++lane) {
      if ((meeting->mask >> lane & 1) != 0) Wake(threads_[self->warp * kWarpSize + lane].get());
    }
  }
  LetOthersRun();
}

void Block::WarpExchange(unsigned mask, const void* value, size_t bytes, WarpOperation operation,
                         Location location) {
  WarpMeeting* meeting = Join(mask, operation, location);
  const auto* from = static_cast<const unsigned char*>(value);
  // Byte by byte and volatile: memcpy would count as an access.
  volatile unsigned char* to = meeting->given[current_thread->lane];
  for (size_t i = 0; i < bytes; ++i) to[i] = from[i];
  WaitForLanes(meeting);
}

void Block::EndWarpExchange() {
  WarpMeeting* meeting = Running()->meeting;
  if (--meeting->inside == 0) meeting->mask = 0;
}

void Block::WarpBarrier(unsigned mask, Location location) {
  WarpMeeting* meeting = Join(mask, WarpOperation::kBarrier, location);
  meeting->edge.Release();
  WaitForLanes(meeting);
  meeting->edge.Acquire();
  EndWarpExchange();
}

void BlockBarrier(Location location) { current_block->Barrier(location); }
void WarpBarrier(unsigned mask, Location location) { current_block->WarpBarrier(mask, location); }
void WarpExchange(unsigned mask, const void* value, size_t bytes, WarpOperation operation,
                  Location location) {
  current_block->WarpExchange(mask, value, bytes, operation, location);
}
const void* GivenBy(int lane) { return Running()->meeting->given[lane]; }
void EndWarpExchange() { current_block->EndWarpExchange(); }

void* SharedArray(const void* declaration, size_t bytes, size_t alignment) {
  return current_block->shared().Array(declaration, bytes, alignment);
}
void* DynamicShared() { return current_block->shared().dynamic(); }

}  // namespace gyre::emulation
