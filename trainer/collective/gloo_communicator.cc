#include "trainer/collective/gloo_communicator.h"

#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "trainer/collective/rank_order.h"

namespace gyre {
namespace {

// Everybody has come and connects at once.
constexpr Millis kConnectTimeout{30'000};
// A piece of a sum, so that what others send needs little room.
constexpr int64_t kPieceBytes = int64_t{4} << 20;

std::string RankName(int rank) { return "rank " + std::to_string(rank); }

// gloo writes to sockets whose other end may be gone, and a SIGPIPE would end the process without
// a word. Threads that are started meanwhile never see one.
class WithoutBrokenPipes {
 public:
  WithoutBrokenPipes() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~WithoutBrokenPipes() {
    if (sigismember(&before_, SIGPIPE) == 1) return;
    const timespec now{};
    while (sigtimedwait(&pipe_, nullptr, &now) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutBrokenPipes(const WithoutBrokenPipes&) = delete;
  WithoutBrokenPipes& operator=(const WithoutBrokenPipes&) = delete;

 private:
  sigset_t pipe_, before_;
};

// Where gloo's ranks leave their addresses. Throws, as gloo wants it.
class RendezvousStore : public gloo::rendezvous::Store {
 public:
  explicit RendezvousStore(Rendezvous* rendezvous) : rendezvous_(rendezvous) {}
  void set(const std::string& key, const std::vector<char>& data) override {
    const Status put = rendezvous_->Put(Name(key), {data.data(), data.size()});
    if (!put.ok()) throw std::runtime_error(put.message());
  }
  std::vector<char> get(const std::string& key) override {
    const auto content = rendezvous_->Get(Name(key));
    if (!content.ok()) throw std::runtime_error(content.status().message());
    return {content->begin(), content->end()};
  }
  void wait(const std::vector<std::string>& keys) override {
    for (const std::string& key : keys) get(key);
  }
  void wait(const std::vector<std::string>& keys, const Millis& /*timeout*/) override {
    wait(keys);
  }

 private:
  static std::string Name(const std::string& key) { return "gloo-" + key; }
  Rendezvous* const rendezvous_;
};

class GlooCommunicator : public Communicator {
 public:
  explicit GlooCommunicator(std::shared_ptr<Rendezvous> rendezvous)
      : rendezvous_(std::move(rendezvous)),
        rank_(rendezvous_->options().rank),
        size_(rendezvous_->options().world) {}
  ~GlooCommunicator() override {
    const WithoutBrokenPipes guard;
    context_ = nullptr;
  }

  Status Connect() {
    const WithoutBrokenPipes guard;
    try {
      auto device = gloo::transport::tcp::CreateDevice("127.0.0.1");
      const auto context = std::make_shared<gloo::rendezvous::Context>(rank_, size_);
      context->setTimeout(kConnectTimeout);
      RendezvousStore store(rendezvous_.get());
      context->connectFullMesh(store, device);
      context_ = context;
    } catch (const std::exception& error) {
      for (const std::string& end : {rendezvous_->Failure(), rendezvous_->WhoIsGone()}) {
        if (!end.empty()) return Unavailable(end);
      }
      return Unavailable("the ranks cannot connect: " + std::string(error.what()));
    }
    // A connection is made on one side before the other: nobody leaves before all are connected.
    double one = 1;
    const BackendError met = Sum({&one, 1});
    return met.ok() ? OkStatus() : Unavailable(met.message);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  BackendError Sum(float* values, int64_t count, void* /*stream*/) override {
    return SumOf(values, count);
  }
  BackendError Sum(std::span<double> values) override {
    return SumOf(values.data(), static_cast<int64_t>(values.size()));
  }
  void Leave(const std::string& why) override { Close(RankName(rank_) + " has left: " + why); }

 private:
  using Buffer = std::unique_ptr<gloo::transport::UnboundBuffer>;

  template <typename T>
  BackendError SumOf(T* values, int64_t count) {
    const WithoutBrokenPipes guard;
    const int64_t piece = kPieceBytes / static_cast<int64_t>(sizeof(T));
    for (int64_t from = 0; from < count && failure_.empty(); from += piece) {
      SumPiece(values + from, std::min(piece, count - from));
    }
    if (failure_.empty()) return {};
    return {BackendError::Kind::kPeer, failure_};
  }

  template <typename T>
  void SumPiece(T* values, int64_t count) {
    const auto share = [&](int rank) { return values + ShareBegin(count, rank, size_); };
    const auto bytes = [&](int rank) {
      return static_cast<size_t>(share(rank + 1) - share(rank)) * sizeof(T);
    };
    const int64_t own = share(rank_ + 1) - share(rank_);
    received_.resize(bytes(rank_) * static_cast<size_t>(size_));
    const auto theirs = [&](int rank) {
      return reinterpret_cast<T*>(received_.data()) + rank * own;
    };
    Exchange(
        [&](int rank) {
          return Message{share(rank), bytes(rank)};
        },
        [&](int rank) {
          return Message{theirs(rank), bytes(rank_)};
        });
    if (!failure_.empty()) return;
    std::vector<const T*> parts;
    for (int rank = 0; rank < size_; ++rank) {
      parts.push_back(rank == rank_ ? share(rank) : theirs(rank));
    }
    SumInRankOrder(parts, own, share(rank_));
    Exchange(
        [&](int) {
          return Message{share(rank_), bytes(rank_)};
        },
        [&](int rank) {
          return Message{share(rank), bytes(rank)};
        });
  }

  struct Message {
    void* at;
    size_t bytes;
  };

  // Sends one message to each other rank and takes one of each.
  template <typename Outgoing, typename Incoming>
  void Exchange(const Outgoing& outgoing, const Incoming& incoming) {
    const uint64_t slot = slot_++;
    std::vector<Buffer> sent(static_cast<size_t>(size_)), taken(static_cast<size_t>(size_));
    ForOthers([&](int rank) {
      const Message in = incoming(rank), out = outgoing(rank);
      const auto at = static_cast<size_t>(rank);
      if (in.bytes > 0) {
        taken[at] = context_->createUnboundBuffer(in.at, in.bytes);
        taken[at]->recv(rank, slot);
      }
      if (out.bytes > 0) {
        sent[at] = context_->createUnboundBuffer(out.at, out.bytes);
        sent[at]->send(rank, slot);
      }
    });
    const Millis timeout = rendezvous_->options().timeout;
    ForOthers([&](int rank) {
      if (Buffer& buffer = taken[static_cast<size_t>(rank)]) buffer->waitRecv(timeout);
    });
    ForOthers([&](int rank) {
      if (Buffer& buffer = sent[static_cast<size_t>(rank)]) buffer->waitSend(timeout);
    });
  }

  template <typename Action>
  void ForOthers(const Action& action) {
    for (int rank = 0; rank < size_ && failure_.empty(); ++rank) {
      if (rank == rank_) continue;
      const Millis start = Clock::Real().Now();
      try {
        action(rank);
      } catch (const std::exception& error) {
        const Millis waited = Clock::Real().Now() - start;
        const bool late = waited >= rendezvous_->options().timeout;
        Close(
            RankName(rank) +
            (late ? " did not come within " + std::to_string(waited.count()) + " ms" : " is gone"));
      }
    }
  }

  // The connections break, so that nobody waits for this rank; what the first has said is why.
  void Close(const std::string& why) {
    if (!failure_.empty()) return;
    const WithoutBrokenPipes guard;
    rendezvous_->Fail(why);
    const std::string first = rendezvous_->Failure();
    failure_ = first.empty() ? why : first;
    context_->closeConnections();
  }

  const std::shared_ptr<Rendezvous> rendezvous_;
  const int rank_, size_;
  std::shared_ptr<gloo::rendezvous::Context> context_;
  uint64_t slot_ = 0;
  std::vector<char> received_;  // everybody's share of what this rank sums
  std::string failure_;
};

}  // namespace

Result<std::unique_ptr<Communicator>> ConnectByGloo(std::shared_ptr<Rendezvous> rendezvous) {
  auto communicator = std::make_unique<GlooCommunicator>(std::move(rendezvous));
  GYRE_RETURN_IF_ERROR(communicator->Connect());
  return std::unique_ptr<Communicator>(std::move(communicator));
}

}  // namespace gyre
