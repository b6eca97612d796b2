#include "coordinator/convert.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace gyre {
namespace {

AttemptRef Ref(const v1::AttemptRef& attempt, const std::string& incarnation) {
  return {attempt.job_id(), attempt.attempt(), incarnation, attempt.epoch()};
}

DatasetRecord FromProto(const v1::Dataset& dataset) {
  DatasetRecord record;
  record.hash = dataset.hash();
  record.name = dataset.name();
  record.tokens = dataset.tokens();
  record.documents = dataset.documents();
  record.bytes = dataset.bytes();
  record.vocab_size = dataset.vocab_size();
  record.tokenizer = dataset.tokenizer();
  record.license = dataset.license();
  record.source = dataset.source();
  return record;
}

v1::Desire ToProto(WorkerDesire desire) {
  switch (desire) {
    case WorkerDesire::kContinue:
      return v1::DESIRE_CONTINUE;
    case WorkerDesire::kStop:
      return v1::DESIRE_STOP;
    case WorkerDesire::kDrop:
      break;
  }
  return v1::DESIRE_DROP;
}

void ToProto(const FailedJobReply& job, v1::FailedJob* message) {
  message->set_job_id(job.job_id);
  message->set_variant(job.variant);
  message->set_seed(job.seed);
  message->set_error(job.error);
}

void ToProto(const JobCountsReply& reply, v1::JobCounts* message) {
  message->set_queued(reply.queued);
  message->set_running(reply.running);
  message->set_succeeded(reply.succeeded);
  message->set_failed(reply.failed);
  message->set_stopped_early(reply.stopped_early);
  message->set_canceled(reply.canceled);
}

Result<StatisticsRecord> ParseStatistics(const std::string& text) {
  const auto json = nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded())
    return InvalidArgument("statistics of " + std::to_string(text.size()) + " bytes are no JSON");
  Result<StatisticsRecord> record = StatisticsRecordFromJson(json);
  if (!record.ok()) return record.status().WithContext("statistics are no record");
  return record;
}

Result<AttemptOutcome> FromProto(v1::Outcome outcome) {
  switch (outcome) {
    case v1::OUTCOME_SUCCEEDED:
      return AttemptOutcome::kSucceeded;
    case v1::OUTCOME_FAILED:
      return AttemptOutcome::kFailed;
    case v1::OUTCOME_STOPPED:
      return AttemptOutcome::kStopped;
    case v1::OUTCOME_LOST:
      return AttemptOutcome::kLost;
    default:
      return InvalidArgument("an outcome that this coordinator does not know: " +
                             std::to_string(static_cast<int>(outcome)));
  }
}

std::optional<AttemptOutcome> Said(v1::Outcome outcome) {
  const Result<AttemptOutcome> said = FromProto(outcome);
  return said.ok() ? std::optional(*said) : std::nullopt;
}

v1::Superseded::Reason ToProto(Superseded::Reason reason) {
  switch (reason) {
    case Superseded::Reason::kNoSuchJob:
      return v1::Superseded::REASON_NO_SUCH_JOB;
    case Superseded::Reason::kOtherEpoch:
      return v1::Superseded::REASON_OTHER_EPOCH;
    case Superseded::Reason::kOtherIncarnation:
      return v1::Superseded::REASON_OTHER_INCARNATION;
    case Superseded::Reason::kLost:
      return v1::Superseded::REASON_LOST;
    case Superseded::Reason::kEnded:
      break;
  }
  return v1::Superseded::REASON_ENDED;
}

void ToProto(const AttemptRef& attempt, v1::AttemptRef* message) {
  message->set_job_id(attempt.job);
  message->set_attempt(attempt.number);
  message->set_epoch(attempt.epoch);
}

}  // namespace

RegisterCall FromProto(const v1::RegisterRequest& request) {
  RegisterCall call;
  call.name = request.name();
  call.incarnation = request.incarnation();
  call.version = request.version();
  call.protocol = request.protocol();
  call.oldest_protocol = request.oldest_protocol();
  call.slots = request.slots();
  call.cpus = request.cpus();
  call.memory_bytes = request.memory_bytes();
  for (const v1::Device& device : request.devices()) {
    call.devices.push_back({device.name(), device.kind(), device.model(), device.memory_bytes()});
  }
  for (const v1::LeftLease& left : request.left()) {
    call.left.push_back({Ref(left.attempt(), ""), left.step(), Said(left.outcome())});
  }
  return call;
}

AcquireCall FromProto(const v1::AcquireLeaseRequest& request) {
  return {request.incarnation(),
          Millis(request.wait_ms()),
          request.free_slots(),
          request.free_cpus(),
          request.free_memory_bytes(),
          request.device().empty() ? "cpu" : request.device(),
          {request.free_gpus().begin(), request.free_gpus().end()}};
}

HeartbeatCall FromProto(const v1::HeartbeatRequest& request) {
  HeartbeatCall call;
  call.incarnation = request.incarnation();
  call.problem = request.problem();
  for (const v1::HeldLease& held : request.held()) {
    const v1::Progress& progress = held.progress();
    call.held.push_back(
        {held.attempt().job_id(),
         held.attempt().attempt(),
         {progress.step(), progress.tokens(), progress.tokens_per_second(), progress.loss()},
         held.attempt().epoch(),
         Said(held.outcome())});
  }
  return call;
}

Result<ReportPointsCall> FromProto(const v1::ReportPointsRequest& request) {
  ReportPointsCall call;
  call.attempt = Ref(request.attempt(), request.incarnation());
  call.sequence = request.sequence();
  call.fingerprint = request.fingerprint();
  call.points.reserve(static_cast<size_t>(request.points_size()));
  for (const v1::Point& point : request.points()) {
    call.points.push_back({point.metric(), point.step(), point.tokens(), point.value()});
  }
  call.statistics.reserve(static_cast<size_t>(request.statistics_size()));
  for (const std::string& text : request.statistics()) {
    GYRE_ASSIGN_OR_RETURN(StatisticsRecord record, ParseStatistics(text));
    call.statistics.push_back(std::move(record));
  }
  return call;
}

ReportCheckpointCall FromProto(const v1::ReportCheckpointRequest& request) {
  return {Ref(request.attempt(), request.incarnation()),
          request.step(),
          request.tokens(),
          request.hash(),
          request.bytes(),
          request.weights_only(),
          request.sequence()};
}

Result<FinishAttemptCall> FromProto(const v1::FinishAttemptRequest& request) {
  FinishAttemptCall call;
  call.attempt = Ref(request.attempt(), request.incarnation());
  GYRE_ASSIGN_OR_RETURN(call.outcome, FromProto(request.outcome()));
  call.last_sequence = request.last_sequence();
  call.error = request.error();
  call.error_code = request.error_code();
  call.step = request.step();
  call.tokens = request.tokens();
  if (request.has_diverged_at_step()) call.diverged_at_step = request.diverged_at_step();
  call.peak_memory_bytes = request.peak_memory_bytes();
  call.tokens_per_second = request.tokens_per_second();
  call.fingerprint = request.fingerprint();
  call.wants_next = request.wants_next();
  return call;
}

SubmitCall FromProto(const v1::SubmitRequest& request) {
  SubmitCall call;
  call.yaml = request.yaml();
  call.file = request.file();
  call.folder = request.folder();
  call.extended.insert(request.extended().begin(), request.extended().end());
  for (const auto& [key, dataset] : request.datasets()) call.datasets[key] = FromProto(dataset);
  for (const auto& [path, weights] : request.initial_weights()) {
    call.initial_weights[path] = {weights.hash(), weights.bytes(), weights.config()};
  }
  call.replace = request.replace();
  call.fresh = request.fresh();
  call.max_jobs = request.max_jobs();
  call.submitted_by = request.submitted_by();
  return call;
}

void ToProto(const Superseded& superseded, v1::Superseded* message) {
  message->set_reason(ToProto(superseded.reason));
  message->set_current_attempt(superseded.current_attempt);
  message->set_job_state(superseded.job_state);
  message->set_why(superseded.why);
}

void ToProto(const LeaseWord& word, v1::LeaseDesire* message) {
  ToProto(word.attempt, message->mutable_attempt());
  message->set_desire(ToProto(word.desire));
  if (word.superseded) ToProto(*word.superseded, message->mutable_superseded());
}

void ToProto(const RegisterReply& reply, v1::RegisterResponse* message) {
  message->set_worker_id(reply.worker_id);
  message->set_heartbeat_ms(reply.heartbeat.count());
  message->set_lease_ms(reply.lease.count());
  message->set_protocol(reply.protocol);
}

void ToProto(const LeaseReply& reply, v1::Lease* message) {
  message->set_job_id(reply.job_id);
  message->set_attempt(reply.attempt);
  message->set_sweep(reply.sweep);
  message->set_variant(reply.variant);
  message->set_job(reply.job);
  message->set_checkpoint_hash(reply.checkpoint_hash);
  message->set_checkpoint_step(reply.checkpoint_step);
  message->set_cpus(reply.cpus);
  message->set_lease_ms(reply.lease.count());
  message->set_device(reply.device);
  message->set_gpus(reply.gpus);
  message->set_epoch(reply.epoch);
}

void ToProto(const SubmitReply& reply, v1::SubmittedSweep* message) {
  message->set_id(reply.id);
  message->set_name(reply.name);
  message->set_attached(reply.attached);
  message->set_jobs(reply.jobs);
  message->set_reused(reply.reused);
  message->set_finished(reply.finished);
  message->set_requeued(reply.requeued);
  message->set_replaced(reply.replaced);
  for (const std::string& note : reply.notes) message->add_notes(note);
}

void ToProto(const TargetReply& reply, v1::TargetResponse* message) {
  message->set_jobs(reply.jobs);
  message->set_running(reply.running);
  message->set_note(reply.note);
}

void ToProto(const RunningJobReply& reply, v1::RunningJob* message) {
  message->set_job_id(reply.job_id);
  message->set_sweep(reply.sweep);
  message->set_variant(reply.variant);
  message->set_seed(reply.seed);
  message->set_worker(reply.worker);
  message->set_attempt(reply.attempt);
  message->set_step(reply.progress.step);
  message->set_tokens(reply.progress.tokens);
  message->set_tokens_budget(reply.tokens_budget);
  message->set_tokens_per_second(reply.progress.tokens_per_second);
  message->set_loss(reply.progress.loss);
  message->set_suspected_at(reply.suspected_at);
}

void ToProto(const SweepReply& reply, v1::Sweep* message) {
  message->set_id(reply.sweep.id);
  message->set_name(reply.sweep.name);
  message->set_question(reply.sweep.question);
  message->set_intent(std::string(Name(reply.sweep.intent)));
  message->set_baseline(reply.sweep.baseline);
  message->set_submitted_at(reply.sweep.submitted_at);
  ToProto(reply.jobs, message->mutable_jobs());
  message->set_tokens_done(reply.tokens_done);
  message->set_tokens_budget(reply.tokens_budget);
  message->set_last_event_id(reply.last_event_id);
  message->set_waiting(reply.waiting);
  message->set_pause_reason(reply.sweep.pause_reason);
  message->set_problem(reply.problem);
  message->set_differing_points(reply.differing_points);
  for (const VariantReply& variant : reply.variants) {
    v1::VariantProgress* progress = message->add_variants();
    progress->set_variant(variant.variant);
    ToProto(variant.jobs, progress->mutable_jobs());
    progress->set_tokens_done(variant.tokens_done);
    progress->set_tokens_budget(variant.tokens_budget);
  }
  for (const RunningJobReply& job : reply.running) ToProto(job, message->add_running());
  for (const FailedJobReply& job : reply.failures) ToProto(job, message->add_failures());
  for (const FailedJobReply& job : reply.stopped_early) ToProto(job, message->add_stopped_early());
}

void ToProto(const AttemptReply& reply, v1::AttemptReport* message) {
  message->set_number(reply.number);
  message->set_worker(reply.worker);
  message->set_device(reply.device);
  message->set_state(std::string(Name(reply.state)));
  message->set_started_at(reply.started_at);
  message->set_ended_at(reply.ended_at);
  message->set_resumed_from_step(reply.resumed_from_step);
  message->set_error_code(reply.error_code);
  message->set_error(reply.error);
  message->set_peak_memory_bytes(reply.peak_memory_bytes);
  message->set_tokens_per_second(reply.tokens_per_second);
  message->set_after(reply.after);
  message->set_suspected_at(reply.suspected_at);
}

void ToProto(const JobReply& reply, v1::JobReport* message) {
  message->set_job_id(reply.job.id);
  message->set_sweep(reply.sweep);
  message->set_variant(reply.variant);
  message->set_seed(reply.job.seed);
  message->set_state(std::string(Name(reply.job.state)));
  message->set_reused_from(reply.job.reused_from.value_or(0));
  message->set_queued_at(reply.queued_at);
  message->set_ended_at(reply.job.ended_at.value_or(""));
  message->set_tokens_done(reply.job.tokens_done);
  message->set_tokens_budget(reply.job.tokens_budget);
  message->set_error(reply.job.error);
  message->set_why(reply.why);
  for (const std::string& next : reply.next) message->add_next(next);
  for (const AttemptReply& attempt : reply.attempts) ToProto(attempt, message->add_attempts());
  for (const std::string& warning : reply.warnings) message->add_warnings(warning);
}

void ToProto(const ClusterReply& reply, v1::Cluster* message) {
  for (const WorkerReply& worker : reply.workers) {
    v1::WorkerInfo* info = message->add_workers();
    info->set_name(worker.worker.name);
    info->set_state(worker.worker.gone ? "GONE" : "ACTIVE");
    info->set_version(worker.worker.version);
    info->set_slots(worker.worker.slots);
    info->set_busy(worker.busy);
    info->set_cpus(worker.worker.cpus);
    info->set_memory_bytes(worker.worker.memory_bytes);
    info->set_last_seen_at(FormatUtc(worker.worker.last_seen_at));
    info->set_problem(worker.problem);
    for (const DeviceRecord& device : worker.worker.devices) {
      v1::Device* out = info->add_devices();
      out->set_name(device.name);
      out->set_kind(device.kind);
      out->set_model(device.model);
      out->set_memory_bytes(device.memory_bytes);
    }
  }
  for (const SweepReply& sweep : reply.sweeps) ToProto(sweep, message->add_sweeps());
  message->set_queued(reply.queued);
  message->set_version(GYRE_VERSION);
  message->set_problem(reply.problem);
}

void ToProto(const EventRow& row, v1::Event* message) {
  message->set_id(row.event.id);
  message->set_at(row.event.at);
  message->set_kind(row.event.kind);
  message->set_sweep_id(row.event.sweep_id.value_or(0));
  message->set_job_id(row.event.job_id.value_or(0));
  message->set_attempt(static_cast<int32_t>(row.event.attempt.value_or(0)));
  message->set_worker(row.worker);
  message->set_details(row.event.details);
}

}  // namespace gyre
