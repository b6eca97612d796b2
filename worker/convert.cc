#include "worker/convert.h"

#include <nlohmann/json.hpp>

#include "gyre/v1/spool.pb.h"

namespace gyre {
namespace {

Outcome OutcomeOf(v1::Outcome outcome) {
  switch (outcome) {
    case v1::OUTCOME_SUCCEEDED:
      return Outcome::kSucceeded;
    case v1::OUTCOME_STOPPED:
      return Outcome::kStopped;
    case v1::OUTCOME_LOST:
      return Outcome::kLost;
    default:
      return Outcome::kFailed;
  }
}

StatusCode CodeNamed(const std::string& name) {
  for (int code = 0; code <= static_cast<int>(StatusCode::kInternal); ++code) {
    if (StatusCodeName(static_cast<StatusCode>(code)) == name) return static_cast<StatusCode>(code);
  }
  return StatusCode::kInternal;
}

}  // namespace

std::string AsText(const std::string& bytes) {
  using nlohmann::json;
  return json::parse(json(bytes).dump(-1, ' ', false, json::error_handler_t::replace));
}

v1::Outcome ToProto(Outcome outcome) {
  switch (outcome) {
    case Outcome::kSucceeded:
      return v1::OUTCOME_SUCCEEDED;
    case Outcome::kFailed:
      return v1::OUTCOME_FAILED;
    case Outcome::kStopped:
      return v1::OUTCOME_STOPPED;
    case Outcome::kLost:
      return v1::OUTCOME_LOST;
  }
  return v1::OUTCOME_UNSPECIFIED;
}

void ToProto(const AttemptId& attempt, v1::AttemptRef* message) {
  message->set_job_id(attempt.job_id);
  message->set_attempt(attempt.number);
  message->set_epoch(attempt.epoch);
}

void ToProto(const PointBatch& batch, v1::ReportPointsRequest* message) {
  ToProto(batch.attempt, message->mutable_attempt());
  message->set_sequence(batch.sequence);
  message->set_fingerprint(batch.fingerprint);
  for (const Point& point : batch.points) {
    v1::Point* out = message->add_points();
    out->set_metric(point.metric);
    out->set_step(point.step);
    out->set_tokens(point.tokens);
    out->set_value(point.value);
  }
  for (const StatisticsText& statistics : batch.statistics)
    message->add_statistics(statistics.json);
}

void ToProto(const CheckpointReport& report, v1::ReportCheckpointRequest* message) {
  ToProto(report.attempt, message->mutable_attempt());
  message->set_step(report.checkpoint.step);
  message->set_tokens(report.checkpoint.tokens);
  message->set_hash(report.checkpoint.hash);
  message->set_bytes(report.checkpoint.bytes);
  message->set_weights_only(report.checkpoint.weights_only);
  message->set_sequence(report.sequence);
}

void ToProto(const AttemptEnd& end, v1::FinishAttemptRequest* message) {
  ToProto(end.attempt, message->mutable_attempt());
  message->set_outcome(ToProto(end.outcome));
  message->set_last_sequence(end.last_sequence);
  if (!end.error.ok()) {
    message->set_error(AsText(end.error.message()));
    message->set_error_code(std::string(StatusCodeName(end.error.code())));
  }
  message->set_step(end.step);
  message->set_tokens(end.tokens);
  if (end.diverged_at_step) message->set_diverged_at_step(*end.diverged_at_step);
  message->set_peak_memory_bytes(end.peak_memory_bytes);
  message->set_tokens_per_second(end.tokens_per_second);
  message->set_fingerprint(end.fingerprint);
}

AttemptId Read(const v1::AttemptRef& message) {
  return {message.job_id(), message.attempt(), message.epoch()};
}

PointBatch Read(const v1::ReportPointsRequest& message) {
  PointBatch batch{.attempt = Read(message.attempt()),
                   .sequence = message.sequence(),
                   .fingerprint = message.fingerprint()};
  for (const v1::Point& point : message.points()) {
    batch.points.push_back({point.metric(), point.step(), point.tokens(), point.value()});
  }
  for (const std::string& json : message.statistics()) batch.statistics.push_back({json});
  return batch;
}

CheckpointReport Read(const v1::ReportCheckpointRequest& message) {
  return {
      Read(message.attempt()),
      {message.step(), message.tokens(), message.hash(), message.bytes(), message.weights_only()},
      message.sequence()};
}

AttemptEnd Read(const v1::FinishAttemptRequest& message) {
  AttemptEnd end{.attempt = Read(message.attempt()),
                 .outcome = OutcomeOf(message.outcome()),
                 .last_sequence = message.last_sequence(),
                 .step = message.step(),
                 .tokens = message.tokens(),
                 .peak_memory_bytes = message.peak_memory_bytes(),
                 .tokens_per_second = message.tokens_per_second(),
                 .fingerprint = message.fingerprint()};
  if (!message.error_code().empty()) {
    end.error = Status(CodeNamed(message.error_code()), message.error());
  }
  if (message.has_diverged_at_step()) end.diverged_at_step = message.diverged_at_step();
  return end;
}

std::string EncodeOwner(const AttemptId& attempt) {
  v1::SpooledReport record;
  ToProto(attempt, record.mutable_attempt());
  return record.SerializeAsString();
}

std::string EncodeReport(const Report& report) {
  v1::SpooledReport record;
  if (const auto* batch = std::get_if<PointBatch>(&report))
    ToProto(*batch, record.mutable_points());
  if (const auto* saved = std::get_if<CheckpointReport>(&report))
    ToProto(*saved, record.mutable_checkpoint());
  if (const auto* end = std::get_if<AttemptEnd>(&report)) ToProto(*end, record.mutable_finish());
  return record.SerializeAsString();
}

Result<AttemptId> DecodeOwner(const std::string& record) {
  v1::SpooledReport message;
  if (message.ParseFromString(record) && message.has_attempt()) return Read(message.attempt());
  return DataLoss("a spool does not begin with whose it is");
}

Result<Report> DecodeReport(const std::string& record) {
  v1::SpooledReport message;
  if (message.ParseFromString(record)) {
    if (message.has_points()) return Report(Read(message.points()));
    if (message.has_checkpoint()) return Report(Read(message.checkpoint()));
    if (message.has_finish()) return Report(Read(message.finish()));
  }
  return DataLoss("a record of a spool is no report");
}

}  // namespace gyre
