#include <utility>

#include "base/log.h"
#include "base/mutex.h"
#include "worker/backoff.h"
#include "worker/object_client.h"

namespace gyre {
namespace {

// What a try comes to is asked again in a while.
bool IsPassing(StatusCode code) {
  return code == StatusCode::kUnavailable || code == StatusCode::kDeadlineExceeded ||
         code == StatusCode::kCancelled;
}

/// Tries again for as long as it may help.
class Persistence {
 public:
  Persistence(std::string what, std::stop_token stop)
      : what_(std::move(what)), stop_(std::move(stop)) {}

  /// After a try that failed: true when it is time for the next one.
  bool Wait(const Status& status) {
    if (stop_.stop_requested() || !IsPassing(status.code())) return false;
    // Once is nothing: another slot brings the same, a connection was lost.
    if (++failures_ == 2) LogWarning(what_ + ": trying again (" + status.message() + ")");
    Mutex mutex;
    MutexLock lock(mutex);
    Condition never;
    never.WaitFor(mutex, stop_, backoff_.Next(), [] { return false; });
    return !stop_.stop_requested();
  }
  Status End(const Status& status) const {
    if (stop_.stop_requested() && !status.ok()) return Cancelled(what_ + ": broken off");
    if (failures_ >= 2 && status.ok()) LogInfo(what_ + ": done");
    return status;
  }

 private:
  const std::string what_;
  const std::stop_token stop_;
  Backoff backoff_;
  int failures_ = 0;
};

// One try; DATA_LOSS and FAILED_PRECONDITION come from the other side.
Status SendOnce(ObjectClient& client, const ObjectRef& ref, const ObjectStore& from,
                const TransferProgress& progress, const std::stop_token& stop) {
  GYRE_ASSIGN_OR_RETURN(const auto missing, client.FindMissing({ref}, /*verify=*/false, stop));
  return missing.empty() ? OkStatus() : client.Put(missing[0], from, progress, stop);
}

// What is here is read, also where somebody else has brought it since the last try.
Status FetchOnce(ObjectClient& client, const ObjectRef& ref, const ObjectStore& into,
                 const TransferProgress& progress, const std::stop_token& stop) {
  if (into.Has(ref)) {
    const Status here = into.Verify(ref, stop);
    if (here.code() != StatusCode::kDataLoss) return here;
    LogWarning(here.message() + "; it is fetched anew");
    GYRE_RETURN_IF_ERROR(into.Remove(ref));
  }
  return client.Get(ref, into, progress, stop);
}

}  // namespace

Status SendObject(ObjectClient& client, const ObjectRef& ref, const ObjectStore& from,
                  const TransferProgress& progress, std::stop_token stop) {
  Persistence persistence("sending the " + ToString(ref), stop);
  bool damaged_before = false;
  while (true) {
    Status status = SendOnce(client, ref, from, progress, stop);
    if (status.code() == StatusCode::kFailedPrecondition) {
      status = Unavailable(status.message());  // somebody else has sent a part of it meanwhile
    } else if (status.code() == StatusCode::kDataLoss && !std::exchange(damaged_before, true)) {
      // What the other side had of it was, or what is here is.
      if (Status here = from.Verify(ref); !here.ok()) return persistence.End(here);
      status = Unavailable(status.message());
    }
    if (!persistence.Wait(status)) return persistence.End(status);
  }
}

Status FetchObject(ObjectClient& client, const ObjectRef& ref, const ObjectStore& into,
                   const TransferProgress& progress, std::stop_token stop) {
  Persistence persistence("fetching the " + ToString(ref), stop);
  bool damaged_before = false;
  while (true) {
    Status status = FetchOnce(client, ref, into, progress, stop);
    if (status.code() == StatusCode::kFailedPrecondition) {
      status = Unavailable(status.message());
    } else if (status.code() == StatusCode::kDataLoss) {
      // On the way, or at the coordinator: the second time it is to look at its own.
      if (std::exchange(damaged_before, true)) {
        const auto missing = client.FindMissing({ref}, /*verify=*/true, stop);
        // Not DATA_LOSS: that would be the coordinator's, which then gives it up.
        if (missing.ok() && missing->empty()) {
          return persistence.End(
              Internal("the " + ToString(ref) +
                       " is whole at the coordinator and has arrived damaged twice; look at this "
                       "machine's disk and memory (" +
                       status.message() + ")"));
        }
        if (!missing.ok() && !IsPassing(missing.status().code())) return missing.status();
      }
      status = Unavailable(status.message());
    }
    if (!persistence.Wait(status)) return persistence.End(status);
  }
}

}  // namespace gyre
