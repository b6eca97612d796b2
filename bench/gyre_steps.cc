#include "bench/gyre_steps.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <iostream>
#include <numeric>

#include "bench/step_server.h"
#include "bench/timed_backend.h"
#include "trainer/backend/cpu/cpu_backend.h"
#include "trainer/backend/create_backend.h"

namespace gyre {
namespace {

/// Of the precision that a job would get.
Result<std::unique_ptr<Backend>> BenchBackend(const BenchCase& bench_case) {
  GYRE_ASSIGN_OR_RETURN(const Precision wanted, PrecisionFromName(bench_case.precision));
  return CreateBackend("cpu", bench_case.threads, UsablePrecision("cpu", wanted));
}

}  // namespace

Result<std::unique_ptr<GyreSteps>> GyreSteps::Create(const BenchCase& bench_case,
                                                     Backend* backend) {
  const BenchShape& shape = bench_case.shape;
  auto steps = std::make_unique<GyreSteps>();
  GYRE_ASSIGN_OR_RETURN(auto positions, ResolvePositions({}, bench_case.Model(), shape.context));
  GYRE_ASSIGN_OR_RETURN(steps->model_, Model::Create(bench_case.Model(), positions, backend,
                                                     shape.rows, shape.context, /*training=*/true));
  GYRE_RETURN_IF_ERROR(steps->model_->InitializeWeights(1, bench_case.threads));
  for (const Tensor& tensor : steps->model_->parameters()) {
    steps->parameter_count_ +=
        std::accumulate(tensor.shape.begin(), tensor.shape.end(), int64_t{1}, std::multiplies<>());
  }
  steps->batch_ = RandomBatch(shape);
  return steps;
}

Result<double> GyreSteps::Step() {
  const int64_t tokens = static_cast<int64_t>(batch_.tokens.size());
  GYRE_RETURN_IF_ERROR(model_->ZeroGradients());
  GYRE_ASSIGN_OR_RETURN(const double nll, model_->ForwardBackward(batch_));
  GYRE_RETURN_IF_ERROR(model_->OptimizerStep({}, 1e-3, ++step_, tokens).status());
  return nll / static_cast<double>(tokens);
}

int ServeGyreSteps(const BenchCase& bench_case) {
  auto backend = BenchBackend(bench_case);
  if (!backend.ok()) return std::cerr << backend.status() << "\n", 1;
  auto steps = GyreSteps::Create(bench_case, backend->get());
  if (!steps.ok()) return std::cerr << steps.status() << "\n", 1;
  const bool given = bench_case.precision != "bf16" || CpuSupportsBf16();
  const Json about = {{"parameters", (*steps)->parameter_count()},
                      {"note", CpuInstructionSet() + ", " + CpuLibraries() +
                                   (given ? "" : ", in float32: no instructions for bf16")}};
  return ServeSteps(about, [&](int) -> Result<Json> {
    GYRE_ASSIGN_OR_RETURN(const double loss, (*steps)->Step());
    return Json{{"loss", loss}};
  });
}

Status PrintProfile(const BenchCase& bench_case, int steps) {
  GYRE_ASSIGN_OR_RETURN(auto cpu, BenchBackend(bench_case));
  TimedBackend backend(cpu.get());
  GYRE_ASSIGN_OR_RETURN(auto model, GyreSteps::Create(bench_case, &backend));
  double wall = 1e30, processor = 1e30;
  std::map<std::string, double> parts;
  for (int step = 0; step < steps; ++step) {
    backend.TakeSeconds();
    const double processor_start = ProcessSeconds(), wall_start = WallSeconds();
    GYRE_RETURN_IF_ERROR(model->Step().status());
    wall = std::min(wall, WallSeconds() - wall_start);
    const double used = ProcessSeconds() - processor_start;
    if (used < processor) processor = used, parts = backend.TakeSeconds();
  }
  const double tokens = static_cast<double>(bench_case.shape.tokens());
  std::printf("%s, %d threads, %s: %.0f tokens/s by the clock, %.0f by processor time\n",
              bench_case.Name().c_str(), bench_case.threads, CpuInstructionSet().c_str(),
              tokens / wall, tokens / processor * bench_case.threads);
  for (const auto& [part, seconds] : parts) {
    std::printf("  %8.2f ms %4.1f %%  %s\n", 1e3 * seconds, 100 * seconds / processor,
                part.c_str());
  }
  std::printf("  %8.2f ms         the whole step, processor time of all threads\n",
              1e3 * processor);
  return OkStatus();
}

}  // namespace gyre
