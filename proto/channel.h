#pragma once

// How every program of ours reaches a coordinator: one place that decides how fast a lost
// connection is made anew, how large a message may be, and what a client shows to be let in.
//
// An address of this machine (127.0.0.1, [::1], localhost) is spoken to as the coordinator there
// speaks, plainly or by TLS; every other one by TLS, or not at all. By TLS the coordinator has to
// show a certificate of the authority that this machine knows, and every call carries the token
// (access/secrets.h says where both lie). A token never goes over a plain connection.

#include <grpcpp/channel.h>

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>

#include "access/tls_probe.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/status.h"

namespace gyre {

/// Connects in the background and again whenever the connection breaks; until there is one, calls
/// fail with UNAVAILABLE. Thread-safe.
class CoordinatorChannel {
 public:
  /// `address` is HOST:PORT. INVALID_ARGUMENT: it is not, or its machine is another one and this
  /// one has no token or authority for it; FAILED_PRECONDITION: others can read the token.
  static Result<std::shared_ptr<CoordinatorChannel>> Open(
      const std::string& address, const std::filesystem::path& home = GyreHome());

  /// What the next call goes through; ask for each call anew (a stub is cheap): after a failure, a
  /// coordinator on this machine is asked again how it speaks. Errors as Open's.
  Result<std::shared_ptr<grpc::Channel>> Get();

  /// The status of a call, as Status. Where there is no connection, UNAVAILABLE says why in words:
  /// a certificate that has expired, another authority, a host that is not in it.
  Status Explain(const grpc::Status& status);

  /// Looks anew, without gRPC. OK: it could connect. UNAVAILABLE: nothing answers there, and why.
  /// FAILED_PRECONDITION: something does, and what is wrong with it.
  Status Look();

  const std::string& address() const { return address_; }

 private:
  CoordinatorChannel(std::string address, HostAndPort target, std::filesystem::path home)
      : address_(std::move(address)),
        target_(std::move(target)),
        home_(std::move(home)),
        is_local_(IsLoopbackHost(target_.host)) {}

  Status Connect(Speech speech);
  Status LookLocked() const;

  const std::string address_;
  const HostAndPort target_;
  const std::filesystem::path home_;
  const bool is_local_;

  std::mutex mutex_;
  Speech speech_ = Speech::kUnknown;        // of channel_; guarded by mutex_, as all below
  std::shared_ptr<grpc::Channel> channel_;  // null before the first
  std::string authority_;                   // PEM; empty = none is needed so far
  bool ask_again_ = true;                   // how a coordinator on this machine speaks
  Millis explained_at_{0};
  Status explanation_;
};

}  // namespace gyre
