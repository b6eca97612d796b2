#include "bench/orchestration/simulated_worker.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <utility>

#include "proto/protocol.h"

namespace gyre {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

double MillisSince(SteadyTime begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}

std::unique_ptr<v1::WorkerService::Stub> Connect(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
  arguments.SetInt(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
  return v1::WorkerService::NewStub(
      grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
}

bool MayRepeat(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::UNAVAILABLE ||
         status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED;
}

constexpr int kRepeatAfterMs = 50;
constexpr int kWaitMs = 10000;

}  // namespace

void LoadCount::Took(const char* call, double ms) {
  const std::lock_guard lock(mutex_);
  took_[call].push_back(static_cast<float>(ms));
}

void LoadCount::Finishing(int64_t job) {
  const std::lock_guard lock(mutex_);
  finishing_[job] = std::chrono::steady_clock::now();
}

void LoadCount::Heard(int64_t job) {
  const std::lock_guard lock(mutex_);
  const auto finishing = finishing_.find(job);
  if (finishing == finishing_.end()) return;
  took_["watch"].push_back(static_cast<float>(MillisSince(finishing->second)));
  finishing_.erase(finishing);
}

std::string LoadCount::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void LoadCount::Failed(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (!failed_.exchange(true)) failure_ = why;
}

std::string LoadCount::Summary(double seconds) const {
  const std::lock_guard lock(mutex_);
  std::string line =
      fmt::format(R"({{"jobs": {}, "points": {}, "seconds": {:.3f}, "jobs_per_second": {:.1f}, )"
                  R"("points_per_second": {:.1f}, "repeated": {})",
                  jobs_.load(), points_.load(), seconds, static_cast<double>(jobs_) / seconds,
                  static_cast<double>(points_) / seconds, retried_.load());
  for (auto [call, took] : took_) {
    std::sort(took.begin(), took.end());
    line += fmt::format(R"(, "{}_ms": {{"median": {:.2f}, "p99": {:.2f}, "most": {:.2f}}})", call,
                        took[took.size() / 2], took[took.size() * 99 / 100], took.back());
  }
  return line + "}";
}

/// What has to live as long as a call.
template <typename Request, typename Response>
struct SimulatedWorker::Call {
  grpc::ClientContext context;
  Request request;
  Response response;
  SteadyTime begin = std::chrono::steady_clock::now();
};

SimulatedWorker::SimulatedWorker(const LoadOptions& options, int number, LoadCount* count)
    : options_(options),
      name_(fmt::format("load-{}/1", number)),
      incarnation_(fmt::format("load-{}-{}", number, getpid())),
      count_(count),
      stub_(Connect(options.coordinator)),
      free_(options.slots) {}

SimulatedWorker::~SimulatedWorker() = default;

template <typename Request, typename Response>
void SimulatedWorker::Send(const char* name, Method<Request, Response> method, Request request,
                           std::function<void(const Response&)> done, bool waits) {
  auto call = std::make_shared<Call<Request, Response>>();
  call->request = std::move(request);
  call->context.set_wait_for_ready(true);
  call->context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  ++under_way_;
  if (waits) {
    const std::lock_guard lock(mutex_);
    asking_ = &call->context;
    if (stopped_) call->context.TryCancel();
  }
  auto* context = &call->context;
  auto* sent = &call->request;
  auto* response = &call->response;
  (stub_->async()->*method)(
      context, sent, response,
      [this, name, method, call = std::move(call), done = std::move(done),
       waits](grpc::Status status) {
        if (waits) {
          const std::lock_guard lock(mutex_);
          asking_ = nullptr;
          if (stopped_ && !status.ok()) status = grpc::Status::OK;
        }
        if (status.ok()) {
          if (!waits) count_->Took(name, MillisSince(call->begin));
          done(call->response);
        } else if (MayRepeat(status)) {
          count_->Retried();
          auto alarm = std::make_shared<grpc::Alarm>();
          After(*alarm, kRepeatAfterMs, [this, alarm, name, method, call, done, waits] {
            Send<Request, Response>(name, method, call->request, done, waits);
          });
        } else {
          count_->Failed(fmt::format("{}: {}", name, status.error_message()));
        }
        --under_way_;
      });
}

void SimulatedWorker::After(grpc::Alarm& alarm, int64_t ms, std::function<void()> run) {
  ++under_way_;
  alarm.Set(std::chrono::system_clock::now() + std::chrono::milliseconds(ms),
            [this, run = std::move(run)](bool) {
              run();
              --under_way_;
            });
}

void SimulatedWorker::Start() {
  v1::RegisterRequest request;
  request.set_name(name_);
  request.set_incarnation(incarnation_);
  request.set_protocol(kProtocolVersion);
  request.set_version("simulated");
  request.set_slots(options_.slots);
  request.set_cpus(options_.slots);
  request.set_memory_bytes(int64_t{64} << 30);
  Send<v1::RegisterRequest, v1::RegisterResponse>(
      "register", &v1::WorkerService::Stub::async::Register, std::move(request),
      [this](const v1::RegisterResponse& response) {
        heartbeat_ms_ = response.heartbeat_ms();
        After(heartbeat_, heartbeat_ms_, [this] { Beat(); });
        Ask();
      });
}

void SimulatedWorker::Stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  if (asking_ != nullptr) asking_->TryCancel();
  heartbeat_.Cancel();
  for (const auto& job : held_) {
    if (job->rests) job->alarm.Cancel();
  }
}

bool SimulatedWorker::Ended() const { return under_way_ == 0; }

void SimulatedWorker::Ask() {
  v1::AcquireLeaseRequest request;
  {
    const std::lock_guard lock(mutex_);
    if (stopped_ || asks_ || free_ == 0) return;
    asks_ = true;
    request.set_free_slots(free_);
    request.set_free_cpus(free_);
  }
  request.set_incarnation(incarnation_);
  request.set_wait_ms(kWaitMs);
  request.set_device("cpu");
  Send<v1::AcquireLeaseRequest, v1::AcquireLeaseResponse>(
      "acquire", &v1::WorkerService::Stub::async::AcquireLease, std::move(request),
      [this](const v1::AcquireLeaseResponse& response) {
        {
          const std::lock_guard lock(mutex_);
          asks_ = false;
          if (response.has_lease()) --free_;
        }
        Ask();
        if (response.has_lease()) Leased(response.lease());
      },
      /*waits=*/true);
}

void SimulatedWorker::Leased(const v1::Lease& lease) {
  auto job = std::make_shared<Job>();
  job->attempt.set_job_id(lease.job_id());
  job->attempt.set_attempt(lease.attempt());
  job->attempt.set_epoch(lease.epoch());
  {
    const std::lock_guard lock(mutex_);
    held_.insert(job);
    if (options_.job_ms > 0 && !stopped_) {
      job->rests = true;
      return After(job->alarm, options_.job_ms, [this, job] {
        {
          const std::lock_guard awake(mutex_);
          job->rests = false;
        }
        Report(job);
      });
    }
  }
  Report(job);
}

// A curve that falls, a little different for each job.
void SimulatedWorker::Report(const std::shared_ptr<Job>& job) {
  if (job->sequence == options_.batches) return Finish(job);
  v1::ReportPointsRequest request;
  *request.mutable_attempt() = job->attempt;
  request.set_incarnation(incarnation_);
  request.set_sequence(job->sequence + 1);
  if (job->sequence == 0) request.set_fingerprint(R"({"backend": "none"})");
  const int steps = std::max(options_.points / 2, 1);
  const int64_t last = int64_t{steps} * options_.batches;
  for (int i = 0; i < steps; ++i) {
    const int64_t step = int64_t{job->sequence} * steps + i + 1;
    const double loss = 2 + 1 / static_cast<double>(step) +
                        1e-3 * static_cast<double>(job->attempt.job_id() * 7919 % 97);
    for (const char* metric : {"held/loss", "held/perplexity"}) {
      v1::Point* point = request.add_points();
      point->set_metric(metric);
      point->set_step(step);
      point->set_tokens(options_.tokens * step / last);
      point->set_value(loss);
    }
  }
  const int count = request.points_size();
  Send<v1::ReportPointsRequest, v1::ReportPointsResponse>(
      "report", &v1::WorkerService::Stub::async::ReportPoints, std::move(request),
      [this, job, count](const v1::ReportPointsResponse& response) {
        count_->Points(count);
        ++job->sequence;
        if (response.pause_ms() <= 0) return Report(job);
        After(job->alarm, response.pause_ms(), [this, job] { Report(job); });
      });
}

void SimulatedWorker::Finish(const std::shared_ptr<Job>& job) {
  v1::FinishAttemptRequest request;
  *request.mutable_attempt() = job->attempt;
  request.set_incarnation(incarnation_);
  request.set_outcome(v1::OUTCOME_SUCCEEDED);
  if (options_.watch) count_->Finishing(job->attempt.job_id());
  request.set_last_sequence(job->sequence);
  request.set_step(std::max(1, options_.batches * options_.points / 2));
  request.set_tokens(options_.tokens);
  request.set_tokens_per_second(1000);
  {
    const std::lock_guard lock(mutex_);
    request.set_wants_next(!stopped_);
  }
  request.set_fingerprint(R"({"backend": "none"})");
  Send<v1::FinishAttemptRequest, v1::FinishAttemptResponse>(
      "finish", &v1::WorkerService::Stub::async::FinishAttempt, std::move(request),
      [this, job](const v1::FinishAttemptResponse& response) {
        count_->Job();
        {
          const std::lock_guard lock(mutex_);
          held_.erase(job);
          if (!response.has_next()) ++free_;
        }
        response.has_next() ? Leased(response.next()) : Ask();
      });
}

void SimulatedWorker::Beat() {
  v1::HeartbeatRequest request;
  request.set_incarnation(incarnation_);
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    for (const auto& job : held_) {
      v1::HeldLease* held = request.add_held();
      *held->mutable_attempt() = job->attempt;
      held->mutable_progress()->set_step(job->sequence);
    }
  }
  Send<v1::HeartbeatRequest, v1::HeartbeatResponse>(
      "heartbeat", &v1::WorkerService::Stub::async::Heartbeat, std::move(request),
      [this](const v1::HeartbeatResponse&) {
        After(heartbeat_, heartbeat_ms_, [this] { Beat(); });
      });
}

}  // namespace gyre
