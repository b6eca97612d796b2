#include "cli/log_reader.h"

#include <condition_variable>
#include <mutex>
#include <string>
#include <utility>

#include "cli/output_job.h"

namespace gyre {
namespace {

bool MayPass(const Status& status) {
  return status.code() == StatusCode::kUnavailable ||
         status.code() == StatusCode::kDeadlineExceeded;
}

class Reader {
 public:
  Reader(JobSource& source, int64_t job, const LogOptions& options,
         const std::function<void(std::string_view)>& write,
         const std::function<void(const std::string&)>& say, std::stop_token stop)
      : source_(source),
        job_(job),
        options_(options),
        write_(write),
        say_(say),
        stop_(std::move(stop)) {}

  Status Run() {
    while (true) {
      Result<bool> done = Round();
      if (stop_.stop_requested()) return Cancelled("interrupted");
      if (!done.ok() && !(options_.follow && begun_ && MayPass(done.status()))) {
        return done.status();
      }
      if (done.ok() && *done) return OkStatus();
      if (done.ok() != connected_) say_(done.ok() ? "connected again" : done.status().message());
      connected_ = done.ok();
      std::unique_lock lock(mutex_);
      never_.wait_for(lock, stop_, options_.look_every, [] { return false; });
    }
  }

 private:
  /// All there is now. True: there will be no more.
  Result<bool> Round() {
    GYRE_ASSIGN_OR_RETURN(const JobReport job, source_.GetJob(job_));
    begun_ = true;
    if (job.reused_from > 0) {
      return FailedPrecondition("job " + std::to_string(job_) +
                                " is the same piece of work as job " +
                                std::to_string(job.reused_from) + "; gyre logs " +
                                std::to_string(job.reused_from) + " shows its log");
    }
    if (options_.attempt > 0 && options_.attempt > static_cast<int>(job.attempts.size()) &&
        (!options_.follow || job.ended())) {
      return NotFound("job " + std::to_string(job_) + " has had " +
                      std::to_string(job.attempts.size()) + " attempts");
    }
    for (const AttemptReport& attempt : job.attempts) {
      const bool wanted = options_.attempt == 0 || options_.attempt == attempt.number;
      if (wanted && attempt.number >= current_) GYRE_RETURN_IF_ERROR(Show(job, attempt));
    }
    if (job.attempts.empty() && (!options_.follow || job.ended())) {
      say_("job " + std::to_string(job_) + " has had no attempt: " + job.why);
    }
    const bool own_ended = options_.attempt > 0 && current_ > options_.attempt;
    return !options_.follow || job.ended() || own_ended;
  }

  /// What is new of one attempt, which is the current one or later.
  Status Show(const JobReport& job, const AttemptReport& attempt) {
    if (attempt.number != shown_) {
      EndLine();
      write_(AttemptHeader(job, attempt) + "\n");
      shown_ = attempt.number;
      headed_with_end_ = attempt.ended();
      offset_ = 0;
      if (options_.lines > 0) {
        GYRE_ASSIGN_OR_RETURN(const LogPiece last,
                              source_.ReadLastLines(job_, attempt.number, options_.lines));
        offset_ = last.offset;  // what is before it is not wanted
        Write(last);
      }
    }
    while (!stop_.stop_requested()) {
      GYRE_ASSIGN_OR_RETURN(const LogPiece piece, source_.ReadLog(job_, attempt.number, offset_));
      if (piece.bytes.empty()) break;
      Write(piece);
    }
    if (!attempt.ended()) return OkStatus();
    // It was running when its header was written.
    if (!headed_with_end_) {
      EndLine();
      write_("== attempt " + std::to_string(attempt.number) + " ended: " + AttemptEnding(attempt) +
             "\n");
    }
    current_ = attempt.number + 1;
    return OkStatus();
  }

  void Write(const LogPiece& piece) {
    if (piece.offset > offset_) {
      EndLine();
      write_("[" + std::to_string(piece.offset - offset_) + " bytes left out]\n");
    }
    write_(piece.bytes);
    offset_ = piece.end();
    if (!piece.bytes.empty()) in_line_ = piece.bytes.back() != '\n';
  }

  void EndLine() {
    if (std::exchange(in_line_, false)) write_("\n");
  }

  JobSource& source_;
  const int64_t job_;
  const LogOptions options_;
  const std::function<void(std::string_view)>& write_;
  const std::function<void(const std::string&)>& say_;
  const std::stop_token stop_;
  std::mutex mutex_;
  std::condition_variable_any never_;
  bool begun_ = false, connected_ = true;
  int current_ = 1;  // attempts before it are shown to their end
  int shown_ = 0;    // whose header was written last
  bool headed_with_end_ = false, in_line_ = false;
  int64_t offset_ = 0;  // in the log of shown_
};

}  // namespace

Status ReadLogs(JobSource& source, int64_t job, const LogOptions& options,
                const std::function<void(std::string_view)>& write,
                const std::function<void(const std::string&)>& say, std::stop_token stop) {
  return Reader(source, job, options, write, say, std::move(stop)).Run();
}

}  // namespace gyre
