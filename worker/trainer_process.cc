#include "worker/trainer_process.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "proto/protocol.h"

namespace gyre {
namespace {

constexpr int kTrainerProtocol = 2;  // trainer/serve.h
// Statistics are the longest; what is said in one line goes in one message to the coordinator.
constexpr size_t kMaxLineBytes = size_t{kMaxMessageBytes} / 4 * 3;

}  // namespace

Result<std::filesystem::path> FindTrainer(const std::filesystem::path& wanted) {
  std::error_code error;
  std::filesystem::path trainer = wanted;
  if (trainer.empty())
    trainer = std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / "gyre-trainer";
  if (access(trainer.c_str(), X_OK) != 0) {
    return NotFound("there is no program " + trainer.string() +
                    "; it stands beside gyre where both were built");
  }
  return trainer;
}

Result<std::unique_ptr<TrainerProcess>> TrainerProcess::Start(const std::filesystem::path& program,
                                                              std::unique_ptr<TrainerLog> log) {
  GYRE_ASSIGN_OR_RETURN(auto child, ChildProcess::Spawn({program, {"serve"}, {}}));
  return std::unique_ptr<TrainerProcess>(new TrainerProcess(std::move(child), std::move(log)));
}

TrainerProcess::TrainerProcess(std::unique_ptr<ChildProcess> child, std::unique_ptr<TrainerLog> log)
    : child_(std::move(child)), log_(std::move(log)) {}

Result<TrainerHello> TrainerProcess::Greet(Millis timeout) {
  auto message = Next(timeout);
  if (!message.ok()) return message.status();
  const auto* hello = std::get_if<TrainerHello>(&*message);
  if (hello == nullptr) return InvalidArgument("the trainer did not begin with hello");
  if (hello->protocol != kTrainerProtocol) {
    return FailedPrecondition("the trainer (version " + hello->version + ") speaks protocol " +
                              std::to_string(hello->protocol) + ", this worker " +
                              std::to_string(kTrainerProtocol) + "; build both from one source");
  }
  return *hello;
}

Result<TrainerMessage> TrainerProcess::Next(Millis timeout) {
  const Millis end = Clock::Real().Now() + timeout;
  while (true) {
    if (auto message = TakeLine()) return *std::move(message);
    pollfd wanted[] = {{child_->output(), POLLIN, 0},
                       {errors_open_ ? child_->errors() : -1, POLLIN, 0},
                       {child_->exit_signal(), POLLIN, 0}};
    const Millis left = std::max(Millis(0), end - Clock::Real().Now());
    const int ready = poll(wanted, 3, static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0)
      return DeadlineExceeded("the trainer said nothing for " + std::to_string(timeout.count()) +
                              " ms");
    if (wanted[1].revents != 0) ReadErrors();
    if (wanted[0].revents != 0) {
      if (!ReadOutput()) return Unavailable("the trainer has closed its output");
    } else if (wanted[2].revents != 0) {
      return Unavailable("the trainer has ended");
    }
  }
}

// The next whole line of the buffer, if there is one.
std::optional<Result<TrainerMessage>> TrainerProcess::TakeLine() {
  const size_t line_end = buffer_.find('\n', std::max(position_, searched_));
  if (line_end != std::string::npos) {
    const std::string_view line = std::string_view(buffer_).substr(position_, line_end - position_);
    position_ = searched_ = line_end + 1;
    return ParseTrainerMessage(line);
  }
  buffer_.erase(0, position_);
  position_ = 0;
  searched_ = buffer_.size();
  if (buffer_.size() > kMaxLineBytes) {
    return InvalidArgument("the trainer said a line longer than " + std::to_string(kMaxLineBytes) +
                           " bytes; if it has statistics, statistics.collect may ask for less");
  }
  return std::nullopt;
}

bool TrainerProcess::ReadOutput() {
  char bytes[1 << 16];
  const ssize_t got = read(child_->output(), bytes, sizeof bytes);
  if (got > 0) buffer_.append(bytes, static_cast<size_t>(got));
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

void TrainerProcess::ReadErrors() {
  char bytes[1 << 14];
  const ssize_t got = read(child_->errors(), bytes, sizeof bytes);
  if (got > 0) log_->Append({bytes, static_cast<size_t>(got)});
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) errors_open_ = false;
}

void TrainerProcess::Kill() {
  killed_ = true;
  child_->Kill();
}

// A killed one may take a moment to be gone, and must not be given a job meanwhile.
bool TrainerProcess::Running() const {
  if (killed_) return false;
  pollfd ended{child_->exit_signal(), POLLIN, 0};
  return poll(&ended, 1, 0) == 0;
}

void TrainerProcess::DrainLog() {
  // Bounded: it may write on and on.
  for (int reads = 0; errors_open_ && reads < 64; ++reads) {
    pollfd more{child_->errors(), POLLIN, 0};
    if (poll(&more, 1, 0) <= 0) break;
    ReadErrors();
  }
}

ChildEnd TrainerProcess::End(Millis grace) {
  child_->EndOffspring();  // as long as it lives they are known to be its own
  child_->CloseInput();
  const ChildEnd end = child_->Wait(grace);
  DrainLog();  // what it wrote last is what explains its end
  return end;
}

}  // namespace gyre
