#include "trainer/data/byte_pairs.h"

#include <queue>
#include <tuple>

namespace gyre {

BytePairs::BytePairs(const std::vector<std::array<int32_t, 3>>& merges) {
  pairs_.reserve(merges.size());
  for (uint32_t rank = 0; rank < merges.size(); ++rank) {
    const auto& [left, right, id] = merges[rank];
    pairs_.try_emplace(uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right),
                       Merged{rank, id});
  }
}

void BytePairs::Merge(std::vector<int>* symbols) const {
  constexpr int kGone = -1;
  struct Candidate {
    uint32_t rank;
    int at;  // of the left one
    int left, right;
    bool operator<(const Candidate& other) const {  // the queue's top is the least
      return std::tie(other.rank, other.at) < std::tie(rank, at);
    }
  };
  const int count = static_cast<int>(symbols->size());
  std::vector<int> next(symbols->size()), before(symbols->size());
  std::priority_queue<Candidate> queue;
  const auto offer = [&](int at) {
    if (at < 0 || next[at] >= count) return;
    const int left = (*symbols)[at], right = (*symbols)[next[at]];
    if (const Merged* merged = Find(left, right)) queue.push({merged->rank, at, left, right});
  };
  for (int i = 0; i < count; ++i) next[i] = i + 1, before[i] = i - 1;
  for (int i = 0; i < count; ++i) offer(i);
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    const int right = next[best.at];
    if ((*symbols)[best.at] != best.left || right >= count || (*symbols)[right] != best.right) {
      continue;  // one of them has become something else
    }
    (*symbols)[best.at] = Find(best.left, best.right)->id;
    (*symbols)[right] = kGone;
    next[best.at] = next[right];
    if (next[right] < count) before[next[right]] = best.at;
    offer(before[best.at]);
    offer(best.at);
  }
  std::erase(*symbols, kGone);
}

}  // namespace gyre
