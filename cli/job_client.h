#pragma once

// What the command line asks about one job: its report, and the logs of its attempts. Thread-safe.

#include <memory>
#include <string>

#include "base/status.h"
#include "cli/job_report.h"

namespace gyre {

class CoordinatorChannel;

/// A piece of an attempt's log.
struct LogPiece {
  int64_t offset = 0;  // of its first byte; later than asked for where something was left out
  std::string bytes;

  int64_t end() const { return offset + static_cast<int64_t>(bytes.size()); }
};

/// Where `gyre logs` reads from.
class JobSource {
 public:
  virtual ~JobSource() = default;
  virtual Result<JobReport> GetJob(int64_t id) = 0;
  /// From `offset` on; empty = no more yet.
  virtual Result<LogPiece> ReadLog(int64_t job, int attempt, int64_t offset) = 0;
  virtual Result<LogPiece> ReadLastLines(int64_t job, int attempt, int lines) = 0;
};

class JobClient : public JobSource {
 public:
  /// Over a connection that stands (SweepClient::channel()). UNAVAILABLE: it does not.
  static Result<std::unique_ptr<JobClient>> Open(std::shared_ptr<CoordinatorChannel> channel);
  ~JobClient() override;

  Result<JobReport> GetJob(int64_t id) override;
  Result<LogPiece> ReadLog(int64_t job, int attempt, int64_t offset) override;
  Result<LogPiece> ReadLastLines(int64_t job, int attempt, int lines) override;

 private:
  struct Connection;
  explicit JobClient(std::unique_ptr<Connection> connection);

  std::unique_ptr<Connection> connection_;
};

}  // namespace gyre
