#pragma once

// A whole coordinator behind a port: database, scheduler, the gRPC services, and /healthz. `gyre
// coordinator` is one in a process of its own, `gyre run` starts one inside itself. Threads: Start
// and Shutdown are called from one thread; everything inside has its own.

#include <filesystem>
#include <memory>
#include <string>

#include "base/status.h"
#include "coordinator/submission.h"
#include "coordinator/timing.h"

namespace gyre {

struct ServerOptions {
  /// HOST:PORT. What other machines reach (0.0.0.0, [::], an address of the network) is served with
  /// TLS and token only. Port 0 takes a free one.
  std::string listen = "127.0.0.1:7470";
  std::string http;  // HOST:PORT for /healthz, of this machine; empty = none
  std::filesystem::path database = "results.db";
  std::filesystem::path home;  // of data sets, objects, logs, certificates; empty = GyreHome()
  /// Where data sets and objects are kept instead: a folder that workers see, too. Empty = home.
  std::filesystem::path objects;
  Timing timing;
  SweepParser parser;  // what reads submitted files; empty = the sweep language
};

class CoordinatorServer {
 public:
  /// Serves when it returns. INVALID_ARGUMENT: an address that cannot be, or is not of this
  /// machine. UNAVAILABLE: the port is in use, or the database is by another coordinator; the
  /// message names it. FAILED_PRECONDITION: other machines reach the address, and there is no
  /// certificate or no token. DATA_LOSS, FAILED_PRECONDITION: the file is damaged, no database, not
  /// Gyre's, or from a newer version.
  static Result<std::unique_ptr<CoordinatorServer>> Start(const ServerOptions& options);

  /// Shuts down.
  ~CoordinatorServer();

  int port() const;
  int http_port() const;  // 0 = none
  /// "127.0.0.1:PORT", as a client wants it.
  std::string address() const;

  /// Ends open streams, answers what waits, commits, closes the database. A few seconds at most.
  /// Once.
  void Shutdown();

 private:
  CoordinatorServer();
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace gyre
