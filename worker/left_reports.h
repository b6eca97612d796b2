#pragma once

// What an earlier process of this worker has left on disk because its coordinator was away
// (spool.h): offered with every registration, and delivered where the coordinator wants it; dropped
// where the job has gone on without it. An attempt whose outcome is among it ends so, any other is
// LOST: its trainer ended with the process.
//
// Threads: calls from any; one of its own delivers, one attempt after another, once Start() was
// called.

#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "worker/coordinator_client.h"
#include "worker/job_files.h"
#include "worker/spool.h"
#include "worker/uploader.h"

namespace gyre {

struct LeftReportsOptions {
  std::filesystem::path folder;           // of spools
  int64_t spool_bytes = 0;                // of each
  JobFiles* files = nullptr;              // outlives this; keeps the checkpoints
  std::function<void()> on_unregistered;  // see uploader.h
};

class LeftReports {
 public:
  /// Looks into the folder. A file that cannot be read is put aside under another name.
  LeftReports(LeftReportsOptions options, CoordinatorClient& client);
  /// What is not delivered stays on disk.
  ~LeftReports();

  void Start();

  std::vector<LeftBehind> Offer() const;
  /// The coordinator's answer to Offer().
  void Told(const std::vector<LeaseDesire>& desires);
  /// Those that are to be delivered.
  std::vector<HeldLease> Held() const;
  void Obey(const LeaseDesire& desire);

 private:
  struct Left {
    std::shared_ptr<Spool> spool;
    SpoolSummary summary;  // as it was found
    bool wanted = false, dropped = false;
    std::unique_ptr<Uploader> uploader;  // while it is delivered
  };

  void Find();
  void Run(std::stop_token stop);
  Left* Next(std::stop_token stop);
  void Deliver(Left& left);

  const LeftReportsOptions options_;
  CoordinatorClient& client_;
  mutable Mutex mutex_;
  Condition changed_;
  std::deque<Left> left_ GYRE_GUARDED_BY(mutex_);  // elements go by the thread alone
  std::jthread thread_;
};

}  // namespace gyre
