#include "coordinator/explain.h"

#include <algorithm>
#include <cstdio>

#include "coordinator/scheduler.h"
#include "trainer/model/memory_estimate.h"

namespace gyre {
namespace {

std::string Gib(int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f GiB", static_cast<double>(bytes) / (1 << 30));
  return text;
}

}  // namespace

std::string WhyNoneFits(const Resources& needs, const std::vector<const WorkerRecord*>& workers) {
  int cpus = 0, active = 0;
  int64_t memory = 0;
  for (const WorkerRecord* worker : workers) {
    if (worker->gone) continue;
    ++active;
    cpus = std::max(cpus, worker->cpus);
    memory = std::max(memory, worker->memory_bytes);
    const OfferView whole{0, worker->id, worker->slots, worker->cpus, worker->memory_bytes, {}};
    if (Fits(needs, whole)) return "";
  }
  if (active == 0) return "no worker is connected";
  if (needs.gpus > 0) return "a job needs a GPU, and no worker has one";
  if (needs.cpus > cpus) {
    return "a job needs " + std::to_string(needs.cpus) + " cpus, and the largest worker has " +
           std::to_string(cpus);
  }
  if (needs.memory_bytes > memory) {
    if (needs.memory_parts.empty()) {
      return "a job needs " + Gib(needs.memory_bytes) + " of memory, and the largest worker has " +
             Gib(memory);
    }
    return "a job needs " + Gib(needs.memory_bytes) + " of memory (" + needs.memory_parts +
           "), and the largest worker has " + Gib(memory) + "; " + HowToNeedLess();
  }
  return "no single worker has both the cpus and the memory that a job needs";
}

}  // namespace gyre
