#pragma once

// The standard library's mutex and condition variable, with what clang's thread safety analysis
// needs to prove that whatever is guarded is touched under its mutex alone
// (scripts/thread-safety). To other compilers the annotations are nothing.

#include <condition_variable>
#include <mutex>

#include "base/clock.h"

#ifdef __clang__
#define GYRE_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define GYRE_THREAD_ANNOTATION(x)
#endif

/// Of a member: read and written under that mutex alone.
#define GYRE_GUARDED_BY(mutex) GYRE_THREAD_ANNOTATION(guarded_by(mutex))
/// Of a function: called under that mutex, and returns under it.
#define GYRE_REQUIRES(...) GYRE_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
/// Of a function: takes that mutex itself, so nobody calls it under it.
#define GYRE_EXCLUDES(...) GYRE_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))

namespace gyre {

class GYRE_THREAD_ANNOTATION(capability("mutex")) Mutex {
 public:
  void Lock() GYRE_THREAD_ANNOTATION(acquire_capability()) { mutex_.lock(); }
  void Unlock() GYRE_THREAD_ANNOTATION(release_capability()) { mutex_.unlock(); }

 private:
  friend class Condition;
  std::mutex mutex_;
};

/// Holds a mutex as long as it lives, but for the time between Unlock and Lock.
class GYRE_THREAD_ANNOTATION(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) GYRE_THREAD_ANNOTATION(acquire_capability(mutex))
      : mutex_(mutex) {
    mutex_.Lock();
  }
  ~MutexLock() GYRE_THREAD_ANNOTATION(release_capability()) {
    if (held_) mutex_.Unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void Unlock() GYRE_THREAD_ANNOTATION(release_capability()) {
    held_ = false;
    mutex_.Unlock();
  }
  void Lock() GYRE_THREAD_ANNOTATION(acquire_capability()) {
    mutex_.Lock();
    held_ = true;
  }

 private:
  Mutex& mutex_;
  bool held_ = true;
};

/// Waits are in loops that look at the condition, since the analysis cannot look into a predicate:
/// `while (!done_) changed_.Wait(mutex_);`
class Condition {
 public:
  void Wait(Mutex& mutex) GYRE_REQUIRES(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    changed_.wait(lock);
    lock.release();
  }
  /// False if that long has gone by.
  bool WaitFor(Mutex& mutex, Millis longest) GYRE_REQUIRES(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    const bool woken = changed_.wait_for(lock, longest) == std::cv_status::no_timeout;
    lock.release();
    return woken;
  }
  void NotifyOne() { changed_.notify_one(); }
  void NotifyAll() { changed_.notify_all(); }

 private:
  std::condition_variable changed_;
};

}  // namespace gyre
