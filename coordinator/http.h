#pragma once

// What the coordinator says over plain HTTP: /healthz, 200 "ok" or 503 with the reason.

#include <functional>
#include <memory>

#include "base/status.h"
#include "coordinator/listen_address.h"

namespace gyre {

class HttpServer {
 public:
  /// Serves on a thread of its own when it returns. `health` is called from any thread.
  /// UNAVAILABLE: the port is in use.
  static Result<std::unique_ptr<HttpServer>> Start(const ListenAddress& address,
                                                   std::function<Status()> health);
  /// Stops.
  ~HttpServer();

  int port() const;

 private:
  HttpServer();
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace gyre
