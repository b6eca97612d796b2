// Puts a load on a coordinator: simulated workers that take jobs, report points and end. Prints one
// line of JSON. bench/orchestration/run drives it.

#include <grpcpp/grpcpp.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include "bench/orchestration/simulated_worker.h"
#include "gyre/v1/sweep_service.grpc.pb.h"

namespace gyre {
namespace {

// From the present on, until it is canceled.
void Watch(v1::SweepService::Stub& stub, grpc::ClientContext& context, LoadCount& count) {
  v1::WatchEventsRequest request;
  request.set_after_id(-1);
  const auto stream = stub.WatchEvents(&context, request);
  v1::Event event;
  while (stream->Read(&event)) {
    if (event.kind() == "job_succeeded") count.Heard(event.job_id());
  }
}

}  // namespace
}  // namespace gyre

int main(int argc, char** argv) {
  using namespace gyre;
  LoadOptions options;
  CLI::App app("Simulated workers for a coordinator, e.g. gyre-load --coordinator 127.0.0.1:7470");
  app.add_option("--coordinator", options.coordinator, "HOST:PORT")->required();
  app.add_option("--workers", options.workers, "How many")->check(CLI::PositiveNumber);
  app.add_option("--slots", options.slots, "Of each")->check(CLI::PositiveNumber);
  app.add_option("--batches", options.batches, "Of points that each job reports");
  app.add_option("--points", options.points, "Of each batch; two metrics")
      ->check(CLI::PositiveNumber);
  app.add_option("--job-ms", options.job_ms, "How long a job lasts");
  app.add_option("--jobs", options.jobs, "End after so many");
  app.add_option("--seconds", options.seconds, "End after so long");
  app.add_option("--tokens", options.tokens, "That each job says it was trained on");
  app.add_flag("--watch", options.watch, "Measure how soon a watcher hears that a job has ended");
  CLI11_PARSE(app, argc, argv);

  using Steady = std::chrono::steady_clock;
  LoadCount count;
  std::vector<std::unique_ptr<SimulatedWorker>> workers;
  for (int i = 0; i < options.workers; ++i) {
    workers.push_back(std::make_unique<SimulatedWorker>(options, i, &count));
  }
  grpc::ClientContext watching;
  const auto sweeps = v1::SweepService::NewStub(
      grpc::CreateChannel(options.coordinator, grpc::InsecureChannelCredentials()));
  std::thread watcher;
  if (options.watch) watcher = std::thread([&] { Watch(*sweeps, watching, count); });
  const auto begin = Steady::now();
  const auto passed = [&] { return std::chrono::duration<double>(Steady::now() - begin).count(); };
  for (const auto& worker : workers) worker->Start();
  while (!count.failed() && (options.jobs == 0 || count.jobs() < options.jobs) &&
         (options.seconds == 0 || passed() < options.seconds)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const std::string summary = count.Summary(passed());
  for (const auto& worker : workers) worker->Stop();
  const auto limit = Steady::now() + std::chrono::seconds(20);
  for (const auto& worker : workers) {
    while (!worker->Ended() && Steady::now() < limit) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  watching.TryCancel();
  if (watcher.joinable()) watcher.join();
  std::printf("%s\n", summary.c_str());
  std::fflush(stdout);
  if (const std::string failure = count.failure(); !failure.empty()) {
    std::fprintf(stderr, "gyre-load: %s\n", failure.c_str());
    return 1;
  }
  return 0;
}
