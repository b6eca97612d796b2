#pragma once

// The disk under SQLite, as a test wants it: an operation fails, the disk is full, the process that
// wrote is gone without a last word, the machine loses its power and with it what no sync had
// reached. It stands between SQLite and the real disk from the first Get() on, for every database
// that the program opens from then on. One thread at a time.

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace gyre {

class FailingDisk {
 public:
  static FailingDisk& Get();

  /// The n-th operation from now on fails, and those after it until `count` have. Whatever SQLite
  /// asks of a disk is an operation: opening, reading, writing, syncing, cutting, deleting.
  void FailAt(int64_t n, int64_t count = 1);
  /// Whether all of those have failed.
  bool HasFailed() const { return until_failure_ <= 0 && failures_ == 0; }
  /// Nothing that is arranged happens any more.
  void Heal();
  void SetFull(bool full) { full_ = full; }
  /// Nothing is written or deleted any more, until Revive: a process was killed and its files are
  /// closed.
  void Kill() { dead_ = true; }
  void Revive() { dead_ = false; }
  /// While it is suspended everything works: for those who look on.
  void Suspend(bool suspended) { suspended_ = suspended; }
  /// From now on CutPower knows what to take back.
  void RememberWrites() { remembers_ = true; }
  /// With every file closed: of what was written since the last sync of its file, a random part was
  /// never written.
  void CutPower(std::mt19937_64* random);

  // Of the files themselves.
  /// True: this operation fails.
  bool Fails();
  bool full() const { return full_ && !suspended_; }
  bool dead() const { return dead_; }
  bool remembers() const { return remembers_; }
  void Wrote(const std::string& path, int64_t offset, std::string before);
  void Synced(const std::string& path) { unsynced_.erase(path); }

 private:
  FailingDisk();
  struct Unsynced {
    int64_t offset = 0;
    std::string before;
  };

  int64_t until_failure_ = 0, failures_ = 0;
  bool full_ = false, dead_ = false, remembers_ = false, suspended_ = false;
  std::map<std::string, std::vector<Unsynced>> unsynced_;  // by path
};

}  // namespace gyre
