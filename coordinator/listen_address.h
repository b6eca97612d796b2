#pragma once

// HOST:PORT to listen on, checked before anything is started.

#include <string>

#include "base/status.h"

namespace gyre {

struct ListenAddress {
  std::string host;  // a numeric address: "127.0.0.1", "::1", "0.0.0.0"
  int port = 0;      // 0 = a free one

  /// "127.0.0.1:7470", "[::1]:7470".
  std::string ToString() const;
  /// Whether only this machine reaches it.
  bool IsLocal() const;
};

/// INVALID_ARGUMENT: not HOST:PORT, or a name that no address belongs to. A name stands for the
/// first of its addresses.
Result<ListenAddress> ParseListenAddress(const std::string& text);

/// UNAVAILABLE: the port is in use; the message names it. INVALID_ARGUMENT: this machine has no
/// such address. Also finds what else keeps a program from listening there.
Status CheckPortIsFree(const ListenAddress& address);

}  // namespace gyre
