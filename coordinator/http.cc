#include "coordinator/http.h"

#include <httplib.h>

#include <thread>
#include <utility>

namespace gyre {

struct HttpServer::Parts {
  httplib::Server server;
  int port = 0;
  std::thread thread;
};

HttpServer::HttpServer() : parts_(std::make_unique<Parts>()) {}

Result<std::unique_ptr<HttpServer>> HttpServer::Start(const ListenAddress& address,
                                                      std::function<Status()> health) {
  GYRE_RETURN_IF_ERROR(CheckPortIsFree(address));
  std::unique_ptr<HttpServer> http(new HttpServer);
  httplib::Server& server = http->parts_->server;
  // Its own choice is SO_REUSEPORT, with which a second program could take half of the requests.
  server.set_socket_options([](socket_t socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  server.Get("/healthz",
             [health = std::move(health)](const httplib::Request&, httplib::Response& response) {
               const Status status = health();
               response.status = status.ok() ? 200 : 503;
               response.set_content(status.ok() ? "ok\n" : status.ToString() + "\n",
                                    "text/plain; charset=utf-8");
             });
  if (address.port == 0) {
    http->parts_->port = server.bind_to_any_port(address.host.c_str());
  } else if (server.bind_to_port(address.host.c_str(), address.port)) {
    http->parts_->port = address.port;
  }
  if (http->parts_->port <= 0) return Unavailable("cannot listen on " + address.ToString());
  http->parts_->thread = std::thread([&server] { server.listen_after_bind(); });
  // stop() before the loop runs would be forgotten.
  while (!server.is_running()) std::this_thread::yield();
  return http;
}

HttpServer::~HttpServer() {
  parts_->server.stop();
  if (parts_->thread.joinable()) parts_->thread.join();
}

int HttpServer::port() const { return parts_->port; }

}  // namespace gyre
