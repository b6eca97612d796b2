#pragma once

// A worker: takes jobs from a coordinator, trains each in a child process (`gyre-trainer serve`),
// reports points, checkpoints and outcomes. `gyre worker` is one of these and a signal handler;
// `gyre run` holds one in its own process.
//
// Threads: one renews leases and never does anything else (lease_keeper.h), one asks for jobs, and
// each slot has one that follows its trainer (slot.h), with another for reports while there is an
// attempt (uploader.h). Trainers outlive every failure of the coordinator: while it is away they go
// on, and what they say waits on disk, from where also the next process of this worker delivers it
// (left_reports.h).

#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "worker/coordinator_client.h"
#include "worker/gpu_report.h"
#include "worker/object_client.h"

namespace gyre {

struct WorkerOptions {
  std::string coordinator = "127.0.0.1:7470";  // HOST:PORT
  std::string devices = "auto";                // see ChooseDevices (devices.h)
  std::optional<GpuReport> gpus;               // absent: the trainer is asked
  int slots = 0;                               // jobs at a time; 0 = see PlanSlots (placement.h)
  int slots_per_gpu = 0;                       // jobs that share a GPU; 0 = likewise
  int cpus = 0;                // cores to share among jobs; 0 = all, at least one a slot
  std::string name;            // empty = host/N, N the first that no other worker here has
  std::filesystem::path home;  // empty = GyreHome()
  /// A folder that the coordinator sees, too, for data sets and checkpoints: they are then not sent
  /// over the network. Empty = none.
  std::filesystem::path objects;
  std::filesystem::path trainer;  // empty = gyre-trainer beside this program
  /// Each job gets processors of its own (processors.h), as long as no more cpus are offered than
  /// there are. Workers with the same word here stay out of each other's way; empty = jobs run
  /// wherever the system puts them.
  std::string affinity = "gyre";
  /// In how many processes a job runs that needs no GPU: more than one is for tests of what jobs on
  /// several GPUs do.
  int cpu_ranks = 1;
  /// What each attempt may keep on disk of its reports while the coordinator is away; then its
  /// training waits.
  int64_t spool_bytes = int64_t{256} << 20;
  Millis stop_grace{30000};  // a trainer told to stop that takes longer is killed
  Millis exit_grace{2000};   // as is one that has not exited this long after its input ended
};

class Worker {
 public:
  /// Begins to work in the background, whether or not the coordinator can be reached already.
  /// INVALID_ARGUMENT: options that make no sense, a device that isn't there, or no token for a
  /// coordinator on another machine. NOT_FOUND: no trainer. ALREADY_EXISTS: the name is taken by a
  /// living worker of the same home. FAILED_PRECONDITION: others can read the token. Others: the
  /// home cannot be written.
  static Result<std::unique_ptr<Worker>> Start(const WorkerOptions& options);

  /// The same with clients of the caller's (which then need not be connected to
  /// options.coordinator). Without one for objects, none are sent.
  static Result<std::unique_ptr<Worker>> Start(const WorkerOptions& options,
                                               std::unique_ptr<CoordinatorClient> client,
                                               std::unique_ptr<ObjectClient> objects = nullptr);

  /// Shutdown(0) if it has not been called.
  virtual ~Worker() = default;

  virtual const std::string& name() const = 0;

  /// Until `stop` is requested (OK), or the worker cannot go on (FAILED_PRECONDITION: the
  /// coordinator speaks another version of the protocol, another worker has taken the name, or
  /// options.objects is not its folder;
  /// INVALID_ARGUMENT: it does not take this worker's token).
  virtual Status Wait(std::stop_token stop) = 0;

  /// Takes no more jobs, has running ones write a checkpoint and reports them as STOPPED, ends the
  /// trainers. What has not ended within `deadline` is killed, and what is not reported by then
  /// stays on disk for the next process of this name. Returns when no child is left.
  virtual void Shutdown(Millis deadline) = 0;

  /// Ends a Shutdown that is under way at once. From any thread.
  virtual void Abandon() = 0;
};

}  // namespace gyre
