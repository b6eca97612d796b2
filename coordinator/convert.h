#pragma once

// Between the wire's messages and the coordinator's structs. No meaning here: what a field says
// stands in the .proto.

#include "coordinator/calls.h"
#include "coordinator/store/event_reader.h"
#include "gyre/v1/sweep_service.pb.h"
#include "gyre/v1/worker_service.pb.h"

namespace gyre {

RegisterCall FromProto(const v1::RegisterRequest& request);
AcquireCall FromProto(const v1::AcquireLeaseRequest& request);
HeartbeatCall FromProto(const v1::HeartbeatRequest& request);
/// INVALID_ARGUMENT: statistics that are no record.
Result<ReportPointsCall> FromProto(const v1::ReportPointsRequest& request);
ReportCheckpointCall FromProto(const v1::ReportCheckpointRequest& request);
/// INVALID_ARGUMENT: an outcome that this coordinator does not know.
Result<FinishAttemptCall> FromProto(const v1::FinishAttemptRequest& request);
SubmitCall FromProto(const v1::SubmitRequest& request);

void ToProto(const RegisterReply& reply, v1::RegisterResponse* message);
void ToProto(const LeaseReply& reply, v1::Lease* message);
void ToProto(const LeaseWord& word, v1::LeaseDesire* message);
void ToProto(const Superseded& superseded, v1::Superseded* message);
void ToProto(const SubmitReply& reply, v1::SubmittedSweep* message);
void ToProto(const TargetReply& reply, v1::TargetResponse* message);
void ToProto(const SweepReply& reply, v1::Sweep* message);
void ToProto(const RunningJobReply& reply, v1::RunningJob* message);
void ToProto(const JobReply& reply, v1::JobReport* message);
void ToProto(const ClusterReply& reply, v1::Cluster* message);
void ToProto(const EventRow& row, v1::Event* message);

}  // namespace gyre
