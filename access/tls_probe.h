#pragma once

// Asks a coordinator how it speaks, without gRPC: whose own errors say neither that the other side
// speaks without TLS nor what is wrong with its certificate. Blocks, for `timeout` at most (and as
// long as it takes to look the name up). Thread-safe.

#include <string>

#include "base/clock.h"
#include "base/status.h"

namespace gyre {

enum class Speech {
  kUnknown,  // nothing answers, or not in time
  kPlain,
  kTls,
};

struct ProbeAnswer {
  Speech speech = Speech::kUnknown;
  /// Unknown: why nothing was heard. TLS: OK if `authority` vouches for its certificate, else what
  /// is wrong with it, in words for whoever started a client.
  Status status;
};

/// `authority` is a PEM text; if it is empty, certificates are not looked at.
ProbeAnswer AskHowItSpeaks(const std::string& host, int port, const std::string& authority,
                           Millis timeout);

struct HostAndPort {
  std::string host;  // without brackets
  int port = 0;      // 1 to 65535
};
/// INVALID_ARGUMENT: not HOST:PORT or [ADDRESS]:PORT.
Result<HostAndPort> SplitHostPort(const std::string& address);

/// 127.0.0.0/8, ::1 and the name localhost; other names are not, whatever they stand for.
bool IsLoopbackHost(const std::string& host);

}  // namespace gyre
