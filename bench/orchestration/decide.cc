// How long the scheduler takes to decide, by how much is queued and offered. Prints a line for each
// case: microseconds, the median of some and the least. bench/orchestration/run calls it.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <vector>

#include "coordinator/scheduler.h"

namespace gyre {
namespace {

constexpr Millis kNow{1'000'000};
constexpr int kSweeps = 10, kRounds = 31;

/// Sweeps of as many jobs each; workers of one core and slot, each of which runs a job or offers
/// its place.
struct Cluster {
  Cluster(int queued, int workers, bool all_offer, bool blocked) {
    int64_t job = 0;
    for (int s = 0; s < kSweeps; ++s) {
      auto& ready = queues.emplace_back();
      for (int i = 0; i < queued / kSweeps; ++i) ready.insert(ready.end(), ++job);
      view.queues.push_back({.sweep = s + 1,
                             .needs = {.cpus = 1},
                             .delayed = &none,
                             .submitter = s % 3,
                             .expected = Millis(60000)});
    }
    // It needs two cores, which one worker has, and a job runs there.
    auto& wide = queues.emplace_back();
    if (blocked) wide.insert(++job);
    view.queues.push_back(
        {.sweep = kSweeps + 1, .priority = 1, .needs = {.cpus = 2}, .delayed = &none});
    for (size_t i = 0; i < queues.size(); ++i) view.queues[i].ready = &queues[i];
    for (int w = 1; w <= workers; ++w) {
      const int cpus = w == 1 ? 2 : 1;
      const OfferView whole{.worker = w, .slots = cpus, .cpus = cpus};
      view.workers.push_back({.worker = w, .silent_at = kNow + Millis(1000), .whole = whole});
      OfferView offer = whole;
      offer.offer = w;
      offer.slots = offer.cpus = 1;
      offer.ends_at = kNow + Millis(1000);
      if (all_offer) view.offers.push_back(offer);
      if (w > 1 && all_offer) continue;
      view.leases.push_back({.job = ++job,
                             .attempt = 1,
                             .expires_at = kNow + Millis(1000),
                             .sweep = 1,
                             .worker = w,
                             .needs = {.cpus = 1}});
    }
  }

  std::vector<std::set<int64_t>> queues;
  const std::map<int64_t, Millis> none;
  SchedulerView view;
};

void Measure(int queued, int workers, bool all_offer, bool blocked) {
  const Cluster cluster(queued, workers, all_offer, blocked);
  std::vector<double> took;
  size_t grants = 0;
  for (int i = 0; i < kRounds; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    grants = Decide(cluster.view, kNow).grants.size();
    took.push_back(
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin)
            .count());
  }
  std::sort(took.begin(), took.end());
  std::printf("%d queued, %d workers, %zu offers%s: %zu grants, %.0f us (%.0f at least)\n", queued,
              workers, cluster.view.offers.size(), blocked ? ", a job without room" : "", grants,
              took[took.size() / 2], took.front());
}

}  // namespace
}  // namespace gyre

int main() {
  for (const int queued : {1000, 10000, 100000}) {
    for (const bool all_offer : {false, true}) {
      for (const bool blocked : {false, true}) gyre::Measure(queued, 1000, all_offer, blocked);
    }
  }
  return 0;
}
