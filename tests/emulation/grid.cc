#include "tests/emulation/grid.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "tests/emulation/block.h"
#include "tests/emulation/memory.h"
#include "tests/emulation/options.h"

namespace gyre::emulation {
namespace {

/// For ThreadSanitizer two sets of threads alternate, so that nothing orders neighbouring blocks.
struct Blocks {
  BlockRunner runner;
  Block blocks[2] = {Block(&runner), Block(&runner)};
  uint64_t launches = 0;

  Blocks() { InitThreadContext(&runner.context); }
};

std::vector<uint64_t> BlockOrder(uint64_t count, std::mt19937_64* random) {
  std::vector<uint64_t> order(count);
  std::iota(order.begin(), order.end(), uint64_t{0});
  if (TheOptions().order == Order::kReverse) std::reverse(order.begin(), order.end());
  if (TheOptions().order == Order::kRandom) std::shuffle(order.begin(), order.end(), *random);
  return order;
}

}  // namespace

void RunGrid(dim3 grid, dim3 threads, size_t dynamic_shared, const std::function<void()>& body) {
  thread_local Blocks here;
  const DeviceMemoryOpen open;
  here.runner.random.seed(TheOptions().seed + here.launches++);
  const uint64_t count = uint64_t{grid.x} * grid.y * grid.z;
  const std::vector<uint64_t> order = BlockOrder(count, &here.runner.random);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t number = order[i];
    const uint3 index = {static_cast<unsigned>(number % grid.x),
                         static_cast<unsigned>(number / grid.x % grid.y),
                         static_cast<unsigned>(number / grid.x / grid.y)};
    here.blocks[RacesAreWatched() ? i % 2 : 0].Run(grid, threads, index, dynamic_shared, body);
  }
  here.runner.end.Acquire();
}

}  // namespace gyre::emulation
