// What comes over the wire: the first byte says which message, the rest is its bytes. A submission
// is parsed and prepared as a coordinator does.

#include "coordinator/convert.h"
#include "coordinator/submission.h"
#include "coordinator/sweep_parser.h"
#include "tests/fuzz/fuzz.h"

namespace gyre {
namespace {

template <typename Message, typename Use>
void With(const uint8_t* data, size_t size, Use use) {
  Message message;
  if (message.ParseFromArray(data, static_cast<int>(size))) use(message);
}

void Submit(const v1::SubmitRequest& message) {
  SubmitCall call = FromProto(message);
  call.max_jobs = 100;
  const auto prepared = PrepareSubmission(call, FileParser());
  Require(!prepared.ok() || !prepared->sweeps.empty(), "a submission has sweeps");
}

void Run(uint8_t which, const uint8_t* data, size_t size) {
  const auto convert = [](const auto& message) { (void)FromProto(message); };
  switch (which % 7) {
    case 0:
      return With<v1::SubmitRequest>(data, size, Submit);
    case 1:
      return With<v1::ReportPointsRequest>(data, size, convert);
    case 2:
      return With<v1::FinishAttemptRequest>(data, size, convert);
    case 3:
      return With<v1::RegisterRequest>(data, size, convert);
    case 4:
      return With<v1::HeartbeatRequest>(data, size, convert);
    case 5:
      return With<v1::ReportCheckpointRequest>(data, size, convert);
    default:
      return With<v1::AcquireLeaseRequest>(data, size, convert);
  }
}

}  // namespace
}  // namespace gyre

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 0) gyre::Run(data[0], data + 1, size - 1);
  return 0;
}
