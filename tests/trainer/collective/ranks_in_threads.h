#pragma once

// The ranks of a test, each on a thread with a communicator of its kind.

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "trainer/collective/gloo_communicator.h"
#include "trainer/collective/thread_communicator.h"

namespace gyre {

/// Long for a machine that is busy with other tests, and not for ever.
inline constexpr Millis kTestTimeout{60'000};

/// Whether this build has gloo. `folder` must be new.
inline bool HasGloo(const std::filesystem::path& folder) {
  auto alone = Rendezvous::Join({0, 1, folder, "is there gloo?"});
  return alone.ok() &&
         ConnectByGloo(*std::move(alone)).status().code() != StatusCode::kUnimplemented;
}

/// "threads" or "gloo" (over sockets; `folder` must be new). The communicator is gone when
/// `body` returns.
inline void RunRanks(const std::string& kind, int ranks, const std::filesystem::path& folder,
                     const std::function<void(std::unique_ptr<Communicator>)>& body,
                     Millis timeout = kTestTimeout) {
  std::vector<std::unique_ptr<Communicator>> made;
  if (kind == "threads") made = ThreadCommunicators(ranks, timeout);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      if (kind == "threads") return body(std::move(made[static_cast<size_t>(rank)]));
      auto rendezvous = Rendezvous::Join({rank, ranks, folder, "test", timeout});
      if (!rendezvous.ok()) throw std::runtime_error(rendezvous.status().message());
      auto communicator = ConnectByGloo(*std::move(rendezvous));
      if (!communicator.ok()) throw std::runtime_error(communicator.status().message());
      body(*std::move(communicator));
    });
  }
}

}  // namespace gyre
