#pragma once

// Between what a worker reports and the wire's messages, both ways: a report goes to the
// coordinator as it is, or to a spool on disk and from there. No meaning here. `incarnation` is the
// sender's to fill in.

#include <string>

#include "gyre/v1/worker_service.pb.h"
#include "worker/coordinator_client.h"
#include "worker/spool.h"

namespace gyre {

/// A trainer's last words and the names of files may be any bytes; as a text they have to be UTF-8,
/// or the call is refused.
std::string AsText(const std::string& bytes);

v1::Outcome ToProto(Outcome outcome);
void ToProto(const AttemptId& attempt, v1::AttemptRef* message);
void ToProto(const PointBatch& batch, v1::ReportPointsRequest* message);
void ToProto(const CheckpointReport& report, v1::ReportCheckpointRequest* message);
void ToProto(const AttemptEnd& end, v1::FinishAttemptRequest* message);

AttemptId Read(const v1::AttemptRef& message);
PointBatch Read(const v1::ReportPointsRequest& message);
CheckpointReport Read(const v1::ReportCheckpointRequest& message);
AttemptEnd Read(const v1::FinishAttemptRequest& message);

// Records of a spool (gyre/v1/spool.proto).
std::string EncodeOwner(const AttemptId& attempt);
std::string EncodeReport(const Report& report);
/// DATA_LOSS: the record is none, or of another kind.
Result<AttemptId> DecodeOwner(const std::string& record);
Result<Report> DecodeReport(const std::string& record);

}  // namespace gyre
