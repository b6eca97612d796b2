#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <memory>
#include <mutex>

#include "base/files.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/positive_integer.h"
#include "cli/signals.h"
#include "coordinator/server.h"

namespace gyre {
namespace {

struct Arguments {
  ServerOptions server;
  int64_t heartbeat_ms = 0, lease_ms = 0, first_grace_ms = 0, suspect_grace_ms = 0;
};

int RunCoordinator(Arguments arguments) {
  Timing& timing = arguments.server.timing;
  if (arguments.heartbeat_ms > 0) timing.heartbeat = Millis(arguments.heartbeat_ms);
  if (arguments.lease_ms > 0) timing.lease = timing.suspect_grace = Millis(arguments.lease_ms);
  if (arguments.first_grace_ms > 0) timing.first_grace = Millis(arguments.first_grace_ms);
  if (arguments.suspect_grace_ms > 0) timing.suspect_grace = Millis(arguments.suspect_grace_ms);

  StopSignals signals;
  auto server = CoordinatorServer::Start(arguments.server);
  if (!server.ok()) {
    const int code = Fail(server.status());
    return code == kExitUnreachable ? kExitFailed
                                    : code;  // it is the coordinator itself that failed
  }
  std::printf("listening on %s\n", (*server)->address().c_str());
  if ((*server)->http_port() > 0) std::printf("http on port %d\n", (*server)->http_port());
  std::fflush(stdout);

  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  stopped.wait(lock, signals.token(), [] { return false; });
  (*server)->Shutdown();
  return signals.signal() == SIGINT ? kExitInterrupted : kExitDone;
}

}  // namespace

void AddCoordinatorCommand(CLI::App& app, int* exit_code) {
  auto* command =
      app.add_subcommand("coordinator", "Serve sweeps to workers, and keep the results");
  command->footer(
      "Everything that it has acknowledged is in the database, so it may be killed and started "
      "again at any\n"
      "time: workers reconnect by themselves and go on.\n\n"
      "To let other machines in, run once 'gyre certificates create --host NAME' and 'gyre token "
      "create', and\n"
      "listen on 0.0.0.0 or an address of the network.\n\n"
      "Examples:\n  gyre coordinator --db results.db\n  gyre coordinator --listen 0.0.0.0:7470");
  auto arguments = std::make_shared<Arguments>();
  arguments->server.database = GyreHome() / "results.db";
  command
      ->add_option("--listen", arguments->server.listen,
                   "HOST:PORT; beyond this machine by TLS and token; port 0 takes a free one")
      ->capture_default_str();
  command->add_option("--http", arguments->server.http,
                      "HOST:PORT for /healthz, this machine only (default: none)");
  command->add_option("--db", arguments->server.database,
                      "The results database (default: $GYRE_HOME/results.db)");
  command
      ->add_option("--objects", arguments->server.objects,
                   "A folder that workers see, too (NFS), for data sets and checkpoints: they are "
                   "then not sent over the network (default: $GYRE_HOME)")
      ->type_name("DIR");
  // For tests and drills: durations of the lease protocol. An empty group hides them.
  command->add_option("--heartbeat-ms", arguments->heartbeat_ms)
      ->group("")
      ->check(PositiveInteger());
  command->add_option("--lease-ms", arguments->lease_ms)->group("")->check(PositiveInteger());
  command->add_option("--first-grace-ms", arguments->first_grace_ms)
      ->group("")
      ->check(PositiveInteger());
  command->add_option("--suspect-grace-ms", arguments->suspect_grace_ms)
      ->group("")
      ->check(PositiveInteger());
  command->callback([arguments, exit_code] { *exit_code = RunCoordinator(*arguments); });
}

}  // namespace gyre
