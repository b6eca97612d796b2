#pragma once

// What the commit thread must not wait for: looks at and deletes the coordinator's objects, from
// one thread of its own, in the order in which it was asked. Together with the commit loop's order
// that closes the gap between the two: an object that was found to be here stays until the report
// of it is committed, and one that is to be deleted is looked up in the database once more before.
//
// All calls from any thread; none waits.

#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "objects/object_store.h"

namespace gyre {

class ObjectKeeper {
 public:
  /// `is_needed` says whether a database refers to an object; it may wait.
  ObjectKeeper(ObjectStore store, std::function<Result<bool>(const std::string& hash)> is_needed);
  /// Stops.
  ~ObjectKeeper();

  /// Calls `then`, once, from its own thread (after Stop: from this one, with UNAVAILABLE): OK, the
  /// object is here; DATA_LOSS, it is not; INVALID_ARGUMENT, it is no hash.
  void Check(const std::string& hash, std::function<void(const Status&)> then);
  /// Deletes those that nothing refers to at that moment.
  void Delete(const std::vector<std::string>& hashes);
  /// Answers what was asked before, and ends. Idempotent.
  void Stop();

 private:
  void Run();
  Status Look(const std::string& hash) const;
  void DeleteOne(const std::string& hash) const;
  void Add(std::function<void()> task);

  const ObjectStore store_;
  const std::function<Result<bool>(const std::string& hash)> is_needed_;
  Mutex mutex_;
  Condition changed_;
  std::deque<std::function<void()>> tasks_ GYRE_GUARDED_BY(mutex_);
  bool stopping_ GYRE_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace gyre
