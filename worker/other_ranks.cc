#include "worker/other_ranks.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace gyre {
namespace {

constexpr Millis kLookInterval{10};

std::string RankName(int rank) { return "rank " + std::to_string(rank); }

// One log shows the lines of all ranks.
class MarkedLines {
 public:
  MarkedLines(int rank, std::function<void(std::string_view)> hand_on)
      : mark_("[" + RankName(rank) + "] "), hand_on_(std::move(hand_on)) {}
  void operator()(std::string_view bytes) {
    std::string marked;
    for (const char c : bytes) {
      if (std::exchange(at_start_, c == '\n')) marked += mark_;
      marked += c;
    }
    if (hand_on_) hand_on_(marked);
  }

 private:
  const std::string mark_;
  std::function<void(std::string_view)> hand_on_;
  bool at_start_ = true;
};

}  // namespace

int RanksOf(const Lease& lease, int cpu_ranks) {
  return std::max(1, lease.gpus > 0 ? lease.gpus : cpu_ranks);
}

std::filesystem::path LogPathOfRank(const std::filesystem::path& first, int rank) {
  std::filesystem::path path = first;
  return path.replace_extension(".rank-" + std::to_string(rank) + ".log");
}

Result<std::unique_ptr<OtherRanks>> OtherRanks::Start(const OtherRanksOptions& options) {
  std::unique_ptr<OtherRanks> ranks(new OtherRanks(options));
  for (int rank = 1; rank < options.world; ++rank) {
    auto log = std::make_unique<TrainerLog>(LogPathOfRank(options.log, rank),
                                            MarkedLines(rank, options.hand_on));
    GYRE_ASSIGN_OR_RETURN(auto trainer, TrainerProcess::Start(options.program, std::move(log)));
    ranks->trainers_.push_back(std::move(trainer));
  }
  for (const auto& trainer : ranks->trainers_) {
    const auto hello = trainer->Greet(options.greeting);
    if (!hello.ok()) return hello.status();
  }
  return ranks;
}

OtherRanks::~OtherRanks() {
  Kill();
  for (size_t i = 0; i < trainers_.size(); ++i) {
    if (!ended_[i]) trainers_[i]->End(options_.exit_grace);
  }
}

Status OtherRanks::Run(const std::function<std::string(int rank)>& command, Millis timeout) {
  for (int rank = 1; rank < options_.world; ++rank) {
    const auto& trainer = trainers_[static_cast<size_t>(rank - 1)];
    GYRE_RETURN_IF_ERROR(trainer->Say(command(rank), timeout).WithContext(RankName(rank)));
  }
  return OkStatus();
}

std::optional<RankFailure> OtherRanks::Look() {
  for (int rank = 1; rank < options_.world; ++rank) {
    if (auto failure = LookAt(rank)) return failure;
  }
  return std::nullopt;
}

// An UNAVAILABLE error is another rank's fault, which will show.
std::optional<RankFailure> OtherRanks::LookAt(int rank) {
  const auto i = static_cast<size_t>(rank - 1);
  TrainerProcess& trainer = *trainers_[i];
  while (!ended_[i]) {
    const auto message = trainer.Next(Millis(0));
    if (message.status().code() == StatusCode::kDeadlineExceeded) break;
    RankFailure failure{.rank = rank};
    if (message.ok()) {
      const auto* error = std::get_if<TrainerError>(&*message);
      if (error == nullptr || error->status.code() == StatusCode::kUnavailable) continue;
      failure.error = error->status.WithContext(RankName(rank));
      return failure;
    }
    if (message.status().code() != StatusCode::kUnavailable) {
      failure.error = message.status().WithContext(RankName(rank));
      return failure;
    }
    failure.how = trainer.End(options_.exit_grace);
    failure.last_lines = trainer.LastLines();
    ended_[i] = true;
    return failure;
  }
  return std::nullopt;
}

std::optional<RankFailure> OtherRanks::AwaitFailure(Millis patience) {
  const Millis end = Clock::Real().Now() + patience;
  while (true) {
    auto failure = Look();
    if (failure || Clock::Real().Now() >= end) return failure;
    std::this_thread::sleep_for(kLookInterval);
  }
}

void OtherRanks::Kill() {
  for (const auto& trainer : trainers_) trainer->Kill();
}

}  // namespace gyre
