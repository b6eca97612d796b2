#include "bench/gyre_steps.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <iostream>
#include <numeric>

#include "bench/bench_device.h"
#include "bench/step_server.h"
#include "bench/timed_backend.h"
#include "trainer/backend/cpu/cpu_backend.h"
#include "trainer/backend/create_backend.h"

namespace gyre {
namespace {

// Of a GPU: kernels are loaded, products have chosen their algorithms, memory is at its peak.
constexpr int kWarmUpSteps = 3;

/// Of the precision that a job would get.
Result<std::unique_ptr<Backend>> BenchBackend(const BenchCase& bench_case) {
  GYRE_ASSIGN_OR_RETURN(const Precision wanted, PrecisionFromName(bench_case.precision));
  return CreateBackend(bench_case.backend, bench_case.threads,
                       UsablePrecision(bench_case.backend, wanted));
}

Result<Json> AboutCpuSteps(const BenchCase& bench_case) {
  const bool given = bench_case.precision != "bf16" || CpuSupportsBf16();
  return Json{{"note", CpuInstructionSet() + ", " + CpuLibraries() +
                           (given ? "" : ", in float32: no instructions for bf16")}};
}

/// After the first steps. `before` is of the device without the model.
Result<Json> AboutGpuSteps(const BenchCase& bench_case, const BenchDevice& before,
                           GyreSteps* steps) {
  GYRE_ASSIGN_OR_RETURN(const double first_loss, steps->Step());
  for (int i = 1; i < kWarmUpSteps; ++i) GYRE_RETURN_IF_ERROR(steps->Step().status());
  GYRE_ASSIGN_OR_RETURN(const BenchDevice now, LookAtDevice(bench_case.backend));
  return Json{{"note", now.name + ", " + now.libraries},
              {"device", now.name},
              {"device_memory", before.free_bytes - now.free_bytes},
              {"first_loss", first_loss}};
}

/// The exit code.
Result<int> Serve(const BenchCase& bench_case) {
  BenchDevice before;
  if (bench_case.on_gpu()) {
    GYRE_ASSIGN_OR_RETURN(before, LookAtDevice(bench_case.backend));
  }
  GYRE_ASSIGN_OR_RETURN(const auto backend, BenchBackend(bench_case));
  GYRE_ASSIGN_OR_RETURN(const auto steps, GyreSteps::Create(bench_case, backend.get()));
  GYRE_ASSIGN_OR_RETURN(Json about, bench_case.on_gpu()
                                        ? AboutGpuSteps(bench_case, before, steps.get())
                                        : AboutCpuSteps(bench_case));
  about["parameters"] = steps->parameter_count();
  return ServeSteps(about, [&](int) -> Result<Json> {
    GYRE_ASSIGN_OR_RETURN(const double loss, steps->Step());
    return Json{{"loss", loss}};
  });
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
  const Result<int> code = Serve(bench_case);
  if (code.ok()) return *code;
  // What does not fit on a device is left out, with the numbers.
  if (code.status().code() == StatusCode::kResourceExhausted) {
    return ServeAbsence(code.status().message());
  }
  std::cerr << code.status() << "\n";
  return 1;
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
