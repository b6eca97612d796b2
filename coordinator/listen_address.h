#pragma once

// HOST:PORT to listen on, checked before anything is started.

#include <string>

#include "base/status.h"

namespace gyre {

struct ListenAddress {
  std::string host;  // a numeric address of this machine: "127.0.0.1", "::1"
  int port = 0;      // 0 = a free one

  /// "127.0.0.1:7470", "[::1]:7470".
  std::string ToString() const;
};

/// INVALID_ARGUMENT: not HOST:PORT, or an address that other machines reach: that needs TLS and
/// tokens, which do not exist yet. "localhost" is 127.0.0.1.
Result<ListenAddress> ParseListenAddress(const std::string& text);

/// UNAVAILABLE: the port is in use; the message names it. Also finds what else keeps a program from
/// listening there.
Status CheckPortIsFree(const ListenAddress& address);

}  // namespace gyre
