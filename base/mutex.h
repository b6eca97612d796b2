#pragma once

// The standard library's mutex and condition variable, with what clang's thread safety analysis
// needs to prove that whatever is guarded is touched under its mutex alone
// (scripts/thread-safety). To other compilers the annotations are nothing.

#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <utility>

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
/// Of a function whose body the analysis cannot follow.
#define GYRE_NOT_ANALYSED GYRE_THREAD_ANNOTATION(no_thread_safety_analysis)

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

/// A predicate says what it looks at: `changed_.Wait(mutex_, [&]() GYRE_REQUIRES(mutex_) { ... });`
class Condition {
 public:
  void Wait(Mutex& mutex) GYRE_REQUIRES(mutex) {
    Held held(mutex);
    changed_.wait(held.lock);
  }
  /// Until the predicate holds.
  template <typename Predicate>
  void Wait(Mutex& mutex, const Predicate& predicate) GYRE_REQUIRES(mutex) GYRE_NOT_ANALYSED {
    Held held(mutex);
    changed_.wait(held.lock, predicate);
  }
  /// Whether it holds, after it does or `stop` is requested.
  template <typename Predicate>
  bool Wait(Mutex& mutex, std::stop_token stop, const Predicate& predicate)
      GYRE_REQUIRES(mutex) GYRE_NOT_ANALYSED {
    Held held(mutex);
    return changed_.wait(held.lock, std::move(stop), predicate);
  }
  /// False if that long has gone by.
  bool WaitFor(Mutex& mutex, Millis longest) GYRE_REQUIRES(mutex) {
    Held held(mutex);
    return changed_.wait_for(held.lock, longest) == std::cv_status::no_timeout;
  }
  template <typename Predicate>
  bool WaitFor(Mutex& mutex, Millis longest, const Predicate& predicate)
      GYRE_REQUIRES(mutex) GYRE_NOT_ANALYSED {
    Held held(mutex);
    return changed_.wait_for(held.lock, longest, predicate);
  }
  template <typename Predicate>
  bool WaitFor(Mutex& mutex, std::stop_token stop, Millis longest, const Predicate& predicate)
      GYRE_REQUIRES(mutex) GYRE_NOT_ANALYSED {
    Held held(mutex);
    return changed_.wait_for(held.lock, std::move(stop), longest, predicate);
  }
  void NotifyOne() { changed_.notify_one(); }
  void NotifyAll() { changed_.notify_all(); }

 private:
  // The mutex, held before and after, as the standard library waits with it.
  struct Held {
    explicit Held(Mutex& mutex) : lock(mutex.mutex_, std::adopt_lock) {}
    ~Held() { lock.release(); }
    std::unique_lock<std::mutex> lock;
  };

  std::condition_variable_any changed_;
};

}  // namespace gyre
