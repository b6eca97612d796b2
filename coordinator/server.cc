#include "coordinator/server.h"

#include <grpc/support/time.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <optional>
#include <utility>

#include "base/files.h"
#include "base/log.h"
#include "coordinator/commit_loop.h"
#include "coordinator/coordinator.h"
#include "coordinator/event_feed.h"
#include "coordinator/http.h"
#include "coordinator/listen_address.h"
#include "coordinator/log_service.h"
#include "coordinator/object_keeper.h"
#include "coordinator/object_service.h"
#include "coordinator/other_databases.h"
#include "coordinator/server_credentials.h"
#include "coordinator/sweep_parser.h"
#include "coordinator/sweep_service.h"
#include "coordinator/worker_service.h"
#include "objects/database_list.h"
#include "proto/protocol.h"

namespace gyre {
namespace {

constexpr int kMaxThreads = 64;  // of calls that may take their time
constexpr int64_t kShutdownDeadlineMs = 2000;

void Configure(grpc::ServerBuilder* builder) {
  // Else a second coordinator could listen on the same port, and each would get half of the
  // workers.
  builder->AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder->SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder->SetMaxSendMessageSize(kMaxMessageBytes);
  builder->AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
  // Clients ping every 20 s, some of it early: never take that for a flood.
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 10000);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
  // And ping them: a partner that has vanished must not hold a stream for ever.
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 20000);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10000);
  grpc::ResourceQuota quota;
  quota.SetMaxThreads(kMaxThreads);
  builder->SetResourceQuota(quota);
}

std::filesystem::path ObjectFolder(const ServerOptions& options) {
  if (!options.objects.empty()) return std::filesystem::absolute(options.objects);
  return std::filesystem::absolute(options.home.empty() ? GyreHome() : options.home);
}

}  // namespace

// In the order in which they are started; they end in the opposite one.
struct CoordinatorServer::Parts {
  ListenAddress address;
  std::unique_ptr<EventFeed> feed;
  std::unique_ptr<Coordinator> coordinator;
  std::unique_ptr<CommitLoop> loop;
  std::unique_ptr<ObjectKeeper> keeper;
  std::unique_ptr<ObjectServiceAdapter> objects;
  std::unique_ptr<SweepServiceAdapter> sweeps;
  std::unique_ptr<WorkerServiceAdapter> workers;
  std::unique_ptr<LogStore> log_store;
  std::unique_ptr<LogServiceAdapter> logs;
  std::unique_ptr<grpc::Server> server;
  std::unique_ptr<HttpServer> http;
};

CoordinatorServer::CoordinatorServer() : parts_(std::make_unique<Parts>()) {}

CoordinatorServer::~CoordinatorServer() { Shutdown(); }

Result<std::unique_ptr<CoordinatorServer>> CoordinatorServer::Start(const ServerOptions& options) {
  std::unique_ptr<CoordinatorServer> server(new CoordinatorServer);
  Parts& parts = *server->parts_;
  const Clock& clock = Clock::Real();
  GYRE_ASSIGN_OR_RETURN(parts.address, ParseListenAddress(options.listen));
  std::optional<ListenAddress> http;
  if (!options.http.empty()) {
    GYRE_ASSIGN_OR_RETURN(http, ParseListenAddress(options.http));
    if (!http->IsLocal()) {
      return InvalidArgument("--http " + options.http +
                             ": the page has neither TLS nor a token, so it is for this machine "
                             "only; use 127.0.0.1, and reach it from elsewhere through ssh -L");
    }
  }
  GYRE_ASSIGN_OR_RETURN(
      const auto credentials,
      MakeServerCredentials(parts.address, options.home.empty() ? GyreHome() : options.home,
                            clock.WallTime()));
  GYRE_RETURN_IF_ERROR(CheckPortIsFree(parts.address));

  GYRE_ASSIGN_OR_RETURN(std::unique_ptr<Store> store, Store::Open(options.database));
  GYRE_ASSIGN_OR_RETURN(const std::string database_id, store->DatabaseId());
  GYRE_ASSIGN_OR_RETURN(EventReader reader, EventReader::Open(options.database));
  parts.feed = std::make_unique<EventFeed>(std::move(reader));
  GYRE_ASSIGN_OR_RETURN(parts.coordinator,
                        Coordinator::Open(std::move(store), options.timing, parts.feed.get(),
                                          {clock.Now(), clock.WallTime()}));
  parts.loop = std::make_unique<CommitLoop>(*parts.coordinator, clock);
  const ObjectStore objects(ObjectFolder(options));
  GYRE_RETURN_IF_ERROR(NoteDatabase(objects.root(), options.database));
  GYRE_ASSIGN_OR_RETURN(std::string store_id, objects.Identity(/*make=*/true));
  parts.keeper = std::make_unique<ObjectKeeper>(
      objects,
      [&loop = *parts.loop, &coordinator = *parts.coordinator, root = objects.root(),
       database = options.database](const std::string& hash) -> Result<bool> {
        GYRE_ASSIGN_OR_RETURN(bool needed, OtherDatabasesNeed(root, database, hash));
        if (needed) return true;
        GYRE_RETURN_IF_ERROR(loop.Do([&](const Moment&) -> Status {
          GYRE_ASSIGN_OR_RETURN(needed, coordinator.NeedsObject(hash));
          return OkStatus();
        }));
        return needed;
      });
  parts.objects = std::make_unique<ObjectServiceAdapter>(objects);
  parts.sweeps = std::make_unique<SweepServiceAdapter>(
      *parts.coordinator, *parts.loop, *parts.feed, options.parser ? options.parser : FileParser(),
      options.database, objects);
  parts.workers = std::make_unique<WorkerServiceAdapter>(*parts.coordinator, *parts.loop,
                                                         *parts.keeper, std::move(store_id));
  const std::filesystem::path home = options.home.empty() ? GyreHome() : options.home;
  parts.log_store = std::make_unique<LogStore>(home / "logs" / database_id);
  parts.logs =
      std::make_unique<LogServiceAdapter>(*parts.coordinator, *parts.loop, *parts.log_store);

  grpc::ServerBuilder builder;
  Configure(&builder);
  int port = 0;
  builder.AddListeningPort(parts.address.ToString(), credentials, &port);
  builder.RegisterService(parts.sweeps.get());
  builder.RegisterService(parts.workers.get());
  builder.RegisterService(parts.objects.get());
  builder.RegisterService(parts.logs.get());
  parts.server = builder.BuildAndStart();
  if (parts.server == nullptr || port <= 0) {
    return Unavailable("cannot listen on " + parts.address.ToString() + ": the port is in use");
  }
  parts.address.port = port;
  if (http) {
    GYRE_ASSIGN_OR_RETURN(
        parts.http, HttpServer::Start(*http, [loop = parts.loop.get()] { return loop->health(); }));
  }
  LogInfo("coordinator listens on " + parts.address.ToString() +
          (parts.address.IsLocal() ? "" : " with TLS and token") + ", database " +
          options.database.string());
  return server;
}

int CoordinatorServer::port() const { return parts_->address.port; }

int CoordinatorServer::http_port() const {
  return parts_->http != nullptr ? parts_->http->port() : 0;
}

std::string CoordinatorServer::address() const { return parts_->address.ToString(); }

void CoordinatorServer::Shutdown() {
  parts_->http.reset();
  // Streams and waiting calls first: a server with an open one would wait for it.
  if (parts_->feed != nullptr) parts_->feed->Stop();
  if (parts_->objects != nullptr) parts_->objects->Stop();
  if (parts_->keeper != nullptr) parts_->keeper->Stop();
  if (parts_->loop != nullptr) parts_->loop->Stop();
  if (parts_->server != nullptr) {
    parts_->server->Shutdown(gpr_time_from_millis(kShutdownDeadlineMs, GPR_TIMESPAN));
    parts_->server.reset();
  }
  parts_->logs.reset();
  parts_->workers.reset();
  parts_->sweeps.reset();
  parts_->objects.reset();
  parts_->keeper.reset();
  parts_->loop.reset();
  parts_->coordinator.reset();
  parts_->feed.reset();
}

}  // namespace gyre
