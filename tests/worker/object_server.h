#pragma once

// The coordinator's ObjectService on loopback, and nothing else of a coordinator.

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "base/files.h"
#include "coordinator/object_service.h"
#include "proto/protocol.h"
#include "worker/object_client.h"

namespace gyre {

class ObjectServer {
 public:
  explicit ObjectServer(const std::filesystem::path& root) : store_(root) { Start(); }
  ~ObjectServer() { Stop(); }

  /// On the same port as before.
  void Start() {
    service_ = std::make_unique<ObjectServiceAdapter>(store_);
    grpc::ServerBuilder builder;
    builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
    builder.AddListeningPort("127.0.0.1:" + std::to_string(port_),
                             grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(service_.get());
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
  }
  /// Breaks what runs.
  void Stop() {
    if (server_ == nullptr) return;
    server_->Shutdown(gpr_time_0(GPR_TIMESPAN));
    server_->Wait();
    server_.reset();
    service_.reset();
  }

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  const ObjectStore& store() const { return store_; }
  std::unique_ptr<ObjectClient> Client() const {
    auto client = ConnectToObjects(address(), store_.root());
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }
  void Write(const std::string& hash, const std::string& content) const {
    std::filesystem::create_directories(store_.root() / "objects");
    const Status status = WriteFileAtomically(store_.root() / "objects" / hash, content);
    ASSERT_TRUE(status.ok()) << status;
  }

 private:
  const ObjectStore store_;
  int port_ = 0;
  std::unique_ptr<ObjectServiceAdapter> service_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace gyre
