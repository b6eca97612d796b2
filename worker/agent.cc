#include "worker/agent.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/ids.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/mutex.h"
#include "worker/devices.h"
#include "worker/lease_keeper.h"
#include "worker/left_reports.h"
#include "worker/processors.h"
#include "worker/slot.h"
#include "worker/trainer_process.h"
#include "worker/worker_name.h"

namespace gyre {
namespace {

// How long the coordinator may hold a request for work. With a job running it is short: more
// becomes free when that ends, and what was asked for is then out of date.
constexpr Millis kIdleWait{30000};
constexpr Millis kBusyWait{2000};
constexpr int kMaxSlots = 1024;
constexpr Millis kLookForRoom{500};  // while the disk is full

// "4 slots, 8 cores, 31.2 GiB of memory: cuda:0 (NVIDIA H200)"
std::string Offer(const Registration& registration, const GpuReport& report) {
  char memory[32];
  std::snprintf(memory, sizeof memory, "%.1f",
                static_cast<double>(registration.memory_bytes) / (1 << 30));
  const auto count = [](int number, const char* what) {
    return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
  };
  return count(registration.slots, "slot") + ", " + count(registration.cpus, "core") + ", " +
         memory + " GiB of memory: " + DescribeChoice(registration.devices, report);
}

// The name is part of the folder's, because a home may have several workers.
std::filesystem::path SpoolFolder(const std::filesystem::path& home, std::string worker) {
  std::replace(worker.begin(), worker.end(), '/', '@');
  return home / "workers" / (worker + ".spool");
}

class Agent : public Worker, public LeaseHolder {
 public:
  Agent(const WorkerOptions& options, std::unique_ptr<CoordinatorClient> client,
        std::unique_ptr<ObjectClient> objects, WorkerName name, const Registration& registration,
        const SlotPlan& plan, std::vector<int> processors)
      : client_(std::move(client)),
        name_(std::move(name)),
        cpus_(registration.cpus),
        trainer_(options.trainer),
        devices_(registration.devices),
        plan_(plan),
        files_(options.home, options.objects, name_.name, std::move(objects)) {
    SlotOptions slot{.trainer = options.trainer,
                     .home = options.home,
                     .files = &files_,
                     .spools = SpoolFolder(options.home, name_.name),
                     .spool_bytes = options.spool_bytes,
                     .processors = std::move(processors),
                     .affinity = options.affinity,
                     .cpu_ranks = options.cpu_ranks,
                     .stop_grace = options.stop_grace,
                     .exit_grace = options.exit_grace};
    slot.on_free = [this] {
      const MutexLock lock(mutex_);
      changed_.NotifyAll();
    };
    slot.may_go_on = [this] {
      const MutexLock lock(mutex_);
      return !stopping_ && !files_.room().full();
    };
    slot.on_unregistered = [this] { keeper_->RegisterAgain(); };
    slot.on_lost_gpu = [this] {
      const MutexLock lock(mutex_);
      gpu_lost_ = true;
    };
    for (int i = 0; i < registration.slots; ++i)
      slots_.push_back(std::make_unique<Slot>(slot, *client_));
    left_ = std::make_unique<LeftReports>(
        LeftReportsOptions{slot.spools, slot.spool_bytes, &files_, slot.on_unregistered}, *client_);
    keeper_ = std::make_unique<LeaseKeeper>(*client_, registration, *this, options.coordinator);
    left_->Start();
    acquirer_ = std::jthread([this](std::stop_token stop) { AcquireLeases(std::move(stop)); });
  }
  ~Agent() override { Shutdown(Millis(0)); }

  const std::string& name() const override { return name_.name; }
  Status Wait(std::stop_token stop) override { return keeper_->Wait(std::move(stop)); }
  void Shutdown(Millis deadline) override;
  void Abandon() override;

 private:
  std::vector<HeldLease> Held() override;
  void Obey(const LeaseDesire& desire) override;
  std::string Problem() override;
  std::vector<LeftBehind> Left() override { return left_->Offer(); }
  Status OnRegistered(const Registered& registered) override {
    GYRE_RETURN_IF_ERROR(files_.SetStore(registered.store));
    left_->Told(registered.left);
    return OkStatus();
  }

  bool LookedForGpus();
  bool AwaitWork(std::stop_token stop);
  void AcquireLeases(std::stop_token stop);
  Slot* SlotFor(const std::string& device) const;
  Slot* Start(Lease lease);
  Capacity FreeCapacity() const;

  const std::unique_ptr<CoordinatorClient> client_;
  const WorkerName name_;
  const int cpus_;
  const std::filesystem::path trainer_;
  std::vector<DeviceInfo> devices_;  // of the thread that asks for jobs
  const SlotPlan plan_;
  JobFiles files_;
  Mutex mutex_;
  Condition changed_;  // a slot became free, or abandoned_
  bool abandoned_ GYRE_GUARDED_BY(mutex_) = false;
  bool stopping_ GYRE_GUARDED_BY(mutex_) = false;  // no job is taken any more
  bool gpu_lost_ GYRE_GUARDED_BY(mutex_) = false;  // what there is has to be looked for again
  std::string gone_ GYRE_GUARDED_BY(mutex_);       // which GPUs are not there any more, for people
  std::unique_ptr<LeftReports> left_;
  std::unique_ptr<LeaseKeeper> keeper_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::jthread acquirer_;
};

std::vector<HeldLease> Agent::Held() {
  std::vector<HeldLease> held = left_->Held();
  for (const auto& slot : slots_) {
    if (auto lease = slot->Held()) held.push_back(*lease);
  }
  return held;
}

void Agent::Obey(const LeaseDesire& desire) {
  left_->Obey(desire);
  for (const auto& slot : slots_) slot->Obey(desire);
}

// A free one: with a trainer that is there already, else with none, which then starts there.
Slot* Agent::SlotFor(const std::string& device) const {
  Slot* best = nullptr;
  for (const auto& slot : slots_) {
    if (!slot->Free()) continue;
    const std::string at = slot->TrainerDevice();
    if (at == device) return slot.get();
    if (best == nullptr || at.empty()) best = slot.get();
  }
  return best;
}

Slot* Agent::Start(Lease lease) {
  Slot* const slot =
      SlotFor(lease.device.substr(0, lease.device.find(',')));  // only this thread takes slots
  if (lease.gpus > 0) {
    const std::vector<std::string> gpus = DeviceNames(lease.device);
    for (const auto& other : slots_) {
      if (other.get() != slot &&
          std::find(gpus.begin(), gpus.end(), other->TrainerDevice()) != gpus.end()) {
        other->LeaveDevice();
      }
    }
  }
  slot->Assign(std::move(lease));
  return slot;
}

Capacity Agent::FreeCapacity() const {
  Capacity capacity{.free_cpus = cpus_};
  // 0 would say that it is not known.
  if (MemoryBytes() > 0) capacity.free_memory_bytes = std::max<int64_t>(AvailableMemoryBytes(), 1);
  std::vector<Occupied> jobs;
  for (const auto& slot : slots_) {
    const auto job = slot->InUse();
    if (!job) continue;
    capacity.free_cpus -= job->cpus;
    jobs.push_back(*job);
  }
  Room room = RoomBeside(jobs, devices_, plan_);
  capacity.free_slots = room.slots;
  capacity.device = std::move(room.device);
  capacity.free_gpus = std::move(room.free_gpus);
  return capacity;
}

std::string Agent::Problem() {
  for (const auto& slot : slots_) {
    if (std::string problem = slot->Problem(); !problem.empty()) return problem;
  }
  const MutexLock lock(mutex_);
  return gone_.empty() ? files_.room().Problem() : gone_;
}

// A GPU that is gone would fail one job after another, faster than any that works.
bool Agent::LookedForGpus() {
  {
    const MutexLock lock(mutex_);
    if (!std::exchange(gpu_lost_, false)) return false;
  }
  std::string gone = RemoveLost(AskForGpus(trainer_, kGpuReportLimit), &devices_);
  if (gone.empty()) return true;
  gone += "; no job is trained there until this worker is started anew";
  LogError(gone);
  const MutexLock lock(mutex_);
  gone_ += (gone_.empty() ? "" : "; ") + gone;
  return true;
}

// Until this worker could take a job. False: it is shutting down.
bool Agent::AwaitWork(std::stop_token stop) {
  MutexLock lock(mutex_);
  const auto can_work = [&] {
    const Capacity capacity = FreeCapacity();
    return capacity.free_slots > 0 && capacity.free_cpus > 0;
  };
  while (changed_.Wait(mutex_, stop, can_work)) {
    if (!files_.room().full()) return true;
    changed_.WaitFor(mutex_, stop, kLookForRoom, [] { return false; });
    if (stop.stop_requested()) return false;  // the wait above doesn't, while it can work
  }
  return false;
}

void Agent::AcquireLeases(std::stop_token stop) {
  Backoff backoff;
  while (keeper_->AwaitRegistered(stop).ok()) {
    if (!AwaitWork(stop)) return;
    if (LookedForGpus()) continue;
    const Capacity capacity = FreeCapacity();
    const bool idle =
        std::all_of(slots_.begin(), slots_.end(), [](const auto& slot) { return slot->Free(); });
    const Millis asked = Clock::Real().Now(), wait = idle ? kIdleWait : kBusyWait;
    auto lease = client_->AcquireLease(capacity, wait, stop);
    if (lease.ok() && *lease) {
      backoff.Reset();
      Slot* const slot = Start(**std::move(lease));
      if (stop.stop_requested()) slot->StopAttempt();
      continue;
    }
    if (stop.stop_requested()) return;
    if (lease.status().code() == StatusCode::kNotFound) keeper_->RegisterAgain();
    if (lease.ok() && Clock::Real().Now() - asked >= wait / 2) continue;
    MutexLock lock(mutex_);
    changed_.WaitFor(mutex_, stop, backoff.Next(), [] { return false; });
  }
}

void Agent::Shutdown(Millis deadline) {
  if (!acquirer_.joinable()) return;
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  acquirer_.request_stop();
  acquirer_.join();
  for (const auto& slot : slots_) slot->StopAttempt();
  {
    MutexLock lock(mutex_);
    const auto all_free = [&] {
      return std::all_of(slots_.begin(), slots_.end(),
                         [](const auto& slot) { return slot->Free(); });
    };
    changed_.WaitFor(mutex_, deadline,
                     [&]() GYRE_REQUIRES(mutex_) { return abandoned_ || all_free(); });
  }
  for (const auto& slot : slots_) slot->Abandon();
  keeper_->Stop();  // before the slots that it asks; they may still call it
  slots_.clear();
  left_.reset();
}

void Agent::Abandon() {
  const MutexLock lock(mutex_);
  abandoned_ = true;
  changed_.NotifyAll();
}

}  // namespace

Result<std::unique_ptr<Worker>> Worker::Start(const WorkerOptions& options) {
  const std::filesystem::path home = options.home.empty() ? GyreHome() : options.home;
  GYRE_ASSIGN_OR_RETURN(auto client, ConnectToCoordinator(options.coordinator, home, NewId()));
  GYRE_ASSIGN_OR_RETURN(auto objects, ConnectToObjects(options.coordinator, home));
  return Start(options, std::move(client), std::move(objects));
}

Result<std::unique_ptr<Worker>> Worker::Start(const WorkerOptions& given,
                                              std::unique_ptr<CoordinatorClient> client,
                                              std::unique_ptr<ObjectClient> objects) {
  WorkerOptions options = given;
  if (options.slots < 0 || options.slots > kMaxSlots || options.slots_per_gpu < 0 ||
      options.slots_per_gpu > kMaxSlots || options.cpus < 0) {
    return InvalidArgument("a worker has 1 to " + std::to_string(kMaxSlots) +
                           " slots and at least one cpu");
  }
  if (options.home.empty()) options.home = GyreHome();
  options.home = std::filesystem::absolute(options.home);
  if (!options.objects.empty()) options.objects = std::filesystem::absolute(options.objects);
  GYRE_ASSIGN_OR_RETURN(options.trainer, FindTrainer(options.trainer));
  GYRE_ASSIGN_OR_RETURN(WorkerName name, ClaimWorkerName(options.home, options.name));
  const Machine machine = ReadMachine();
  if (!options.gpus) options.gpus = AskIfWanted(options.devices, options.trainer);
  const GpuReport& gpus = *options.gpus;
  GYRE_ASSIGN_OR_RETURN(auto devices, ChooseDevices(options.devices, machine.cpu, gpus));
  GYRE_ASSIGN_OR_RETURN(const SlotPlan plan,
                        PlanSlots(devices, options.slots, options.slots_per_gpu, machine.cores));
  Registration registration{.name = name.name,
                            .version = GYRE_VERSION,
                            .slots = plan.slots,
                            .cpus = options.cpus > 0 ? options.cpus : machine.cores,
                            .memory_bytes = machine.memory_bytes,
                            .devices = std::move(devices)};
  registration.cpus = std::max(registration.cpus, registration.slots);
  LogInfo(registration.name + " offers " + Offer(registration, gpus));
  std::vector<int> processors = ProcessorsForJobs();
  if (options.affinity.empty() || registration.cpus > static_cast<int>(processors.size())) {
    processors.clear();
  }
  return std::unique_ptr<Worker>(
      std::make_unique<Agent>(options, std::move(client), std::move(objects), std::move(name),
                              registration, plan, std::move(processors)));
}

}  // namespace gyre
