#include "coordinator/object_keeper.h"

#include <utility>

#include "base/log.h"

namespace gyre {

ObjectKeeper::ObjectKeeper(ObjectStore store,
                           std::function<Result<bool>(const std::string& hash)> is_needed)
    : store_(std::move(store)), is_needed_(std::move(is_needed)), thread_([this] { Run(); }) {}

ObjectKeeper::~ObjectKeeper() { Stop(); }

void ObjectKeeper::Check(const std::string& hash, std::function<void(const Status&)> then) {
  {
    const MutexLock lock(mutex_);
    if (!stopping_) {
      tasks_.push_back([this, hash, then = std::move(then)] { then(Look(hash)); });
      changed_.NotifyOne();
      return;
    }
  }
  then(Unavailable("the coordinator is shutting down"));
}

void ObjectKeeper::Delete(const std::vector<std::string>& hashes) {
  const MutexLock lock(mutex_);
  if (stopping_) return;  // left to `gyre gc`
  for (const std::string& hash : hashes) tasks_.push_back([this, hash] { DeleteOne(hash); });
  changed_.NotifyOne();
}

void ObjectKeeper::Stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyOne();
  }
  if (thread_.joinable()) thread_.join();
}

void ObjectKeeper::Run() {
  while (true) {
    std::function<void()> task;
    {
      const MutexLock lock(mutex_);
      while (!stopping_ && tasks_.empty()) changed_.Wait(mutex_);
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

Status ObjectKeeper::Look(const std::string& hash) const {
  const ObjectRef ref{ObjectKind::kObject, hash};
  if (!IsObjectHash(hash))
    return InvalidArgument("a checkpoint is named by a hash of 64 lower-case hex digits");
  if (!store_.Has(ref)) {
    return DataLoss("the coordinator does not hold the " + ToString(ref) +
                    "; put it, then report it again");
  }
  store_.Touch(ref);
  return OkStatus();
}

void ObjectKeeper::DeleteOne(const std::string& hash) const {
  const Result<bool> needed = is_needed_(hash);
  if (!needed.ok() || *needed) return;
  if (Status status = store_.Remove({ObjectKind::kObject, hash}); !status.ok())
    LogWarning("an obsolete object stays: " + status.message());
}

}  // namespace gyre
