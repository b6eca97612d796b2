#include "trainer/collective/thread_communicator.h"

#include <condition_variable>
#include <mutex>
#include <string>
#include <utility>

#include "trainer/collective/rank_order.h"

namespace gyre {
namespace {

std::string RankName(int rank) { return "rank " + std::to_string(rank); }

// Where the ranks meet. Once somebody has failed, nobody passes any more.
class Meeting {
 public:
  Meeting(int ranks, Millis timeout)
      : timeout_(timeout), parts_(static_cast<size_t>(ranks)), here_(static_cast<size_t>(ranks)) {}

  struct Part {
    void* values = nullptr;
    int64_t count = 0;
    size_t width = 0;  // bytes a number
  };

  // Of this rank; waits until all ranks' parts are here. OK: they stay as they are until Part ways.
  BackendError Arrive(int rank, const Part& part) {
    std::unique_lock lock(mutex_);
    parts_[static_cast<size_t>(rank)] = part;
    return Await(rank, lock);
  }

  // Waits until all ranks have done what they wanted with the others' parts.
  BackendError PartWays(int rank) {
    std::unique_lock lock(mutex_);
    return Await(rank, lock);
  }

  void Leave(const std::string& why) {
    const std::lock_guard lock(mutex_);
    Fail(why);
  }

  const Part& PartOf(int rank) const { return parts_[static_cast<size_t>(rank)]; }
  int ranks() const { return static_cast<int>(parts_.size()); }

 private:
  // A round in which all have met is over for everybody, whatever becomes of the others then.
  BackendError Await(int rank, std::unique_lock<std::mutex>& lock) {
    if (!failure_.empty()) return Failure();
    here_[static_cast<size_t>(rank)] = true;
    const int64_t round = round_;
    if (++arrived_ < ranks()) {
      const bool came =
          changed_.wait_for(lock, timeout_, [&] { return round_ != round || !failure_.empty(); });
      if (!came)
        Fail(Missing() + " did not come within " + std::to_string(timeout_.count()) + " ms");
    } else if (AllOfOneShape()) {
      arrived_ = 0;
      std::fill(here_.begin(), here_.end(), false);
      ++round_;
      changed_.notify_all();
    }
    return round_ != round ? BackendError{} : Failure();
  }

  bool AllOfOneShape() {
    for (int rank = 1; rank < ranks(); ++rank) {
      const Part &part = PartOf(rank), &first = PartOf(0);
      if (part.count == first.count && part.width == first.width) continue;
      Fail(RankName(rank) + " sums " + std::to_string(part.count) + " numbers where rank 0 sums " +
           std::to_string(first.count));
      return false;
    }
    return true;
  }

  std::string Missing() const {
    std::string names;
    for (int rank = 0; rank < ranks(); ++rank) {
      if (!here_[static_cast<size_t>(rank)]) names += (names.empty() ? "" : ", ") + RankName(rank);
    }
    return names;
  }

  void Fail(const std::string& why) {
    if (failure_.empty()) failure_ = why;
    changed_.notify_all();
  }
  BackendError Failure() const { return {BackendError::Kind::kPeer, failure_}; }

  const Millis timeout_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Part> parts_;
  std::vector<bool> here_;  // in this round
  int arrived_ = 0;
  int64_t round_ = 0;
  std::string failure_;  // the first one's
};

class ThreadCommunicator : public Communicator {
 public:
  ThreadCommunicator(int rank, std::shared_ptr<Meeting> meeting)
      : rank_(rank), meeting_(std::move(meeting)) {}
  ~ThreadCommunicator() override { meeting_->Leave(RankName(rank_) + " is gone"); }

  int rank() const override { return rank_; }
  int size() const override { return meeting_->ranks(); }
  BackendError Sum(float* values, int64_t count, void* /*stream*/) override {
    return SumOf(values, count);
  }
  BackendError Sum(std::span<double> values) override {
    return SumOf(values.data(), static_cast<int64_t>(values.size()));
  }
  void Leave(const std::string& why) override {
    meeting_->Leave(RankName(rank_) + " has left: " + why);
  }

 private:
  // Each rank sums its share of the numbers and gives it to everybody.
  template <typename T>
  BackendError SumOf(T* values, int64_t count) {
    BackendError error = meeting_->Arrive(rank_, {values, count, sizeof(T)});
    if (!error.ok()) return error;
    const int64_t begin = ShareBegin(count, rank_, size());
    const int64_t length = ShareBegin(count, rank_ + 1, size()) - begin;
    std::vector<const T*> parts;
    const auto share_of = [&](int rank) {
      return static_cast<T*>(meeting_->PartOf(rank).values) + begin;
    };
    for (int rank = 0; rank < size(); ++rank) parts.push_back(share_of(rank));
    SumInRankOrder(parts, length, values + begin);
    for (int rank = 0; rank < size(); ++rank) {
      if (rank != rank_) std::copy_n(values + begin, length, share_of(rank));
    }
    return meeting_->PartWays(rank_);
  }

  const int rank_;
  const std::shared_ptr<Meeting> meeting_;
};

}  // namespace

std::vector<std::unique_ptr<Communicator>> ThreadCommunicators(int ranks, Millis timeout) {
  const auto meeting = std::make_shared<Meeting>(ranks, timeout);
  std::vector<std::unique_ptr<Communicator>> communicators;
  for (int rank = 0; rank < ranks; ++rank) {
    communicators.push_back(std::make_unique<ThreadCommunicator>(rank, meeting));
  }
  return communicators;
}

}  // namespace gyre
