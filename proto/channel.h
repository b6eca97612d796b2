#pragma once

// How every program of ours reaches a coordinator: one place that decides how fast a lost
// connection is made anew, how large a message may be, and what a client shows to be let in.

#include <grpcpp/channel.h>

#include <memory>
#include <string>

namespace gyre {

/// Connects in the background and again whenever the connection breaks; until there is one, calls
/// fail with UNAVAILABLE. `address` is HOST:PORT.
std::shared_ptr<grpc::Channel> OpenChannel(const std::string& address);

}  // namespace gyre
