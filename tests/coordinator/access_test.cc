// Who is let in, over gRPC: a coordinator that other machines reach, and clients with and without
// what it wants.

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <cstdlib>

#include "access/certificates.h"
#include "access/secrets.h"
#include "base/files.h"
#include "base/log.h"
#include "coordinator/server.h"
#include "gyre/v1/log_service.grpc.pb.h"
#include "gyre/v1/object_service.grpc.pb.h"
#include "gyre/v1/sweep_service.grpc.pb.h"
#include "gyre/v1/worker_service.grpc.pb.h"
#include "proto/channel.h"
#include "tests/coordinator/harness.h"

namespace gyre {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr Millis kDay = std::chrono::hours(24);

grpc::Status GetCluster(const std::shared_ptr<grpc::Channel>& channel) {
  grpc::ClientContext context;
  context.set_deadline(gpr_time_from_seconds(20, GPR_TIMESPAN));
  v1::Cluster cluster;
  return v1::SweepService::NewStub(channel)->GetCluster(&context, v1::GetClusterRequest(),
                                                        &cluster);
}

/// The status of one call through it, until it is not UNAVAILABLE or has been so 50 times.
Status Ask(CoordinatorChannel& channel) {
  Status status;
  for (int i = 0; i < 50; ++i) {
    const auto now = channel.Get();
    if (!now.ok()) return now.status();
    (*now)->WaitForConnected(
        gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(200, GPR_TIMESPAN)));
    status = channel.Explain(GetCluster(*now));
    if (status.code() != StatusCode::kUnavailable) break;
  }
  return status;
}

class AccessTest : public testing::Test {
 protected:
  AccessTest() {
    SetLogLevel(LogLevel::kError);
    for (const char* name : {"GYRE_TOKEN", "GYRE_TOKEN_FILE", "GYRE_CA_FILE"}) unsetenv(name);
    options_.listen = "0.0.0.0:0";
    options_.database = folder_ / "results.db";
    options_.home = home_;
    EXPECT_TRUE(CreateToken(home_, false).ok());
    EXPECT_TRUE(MakeCertificates(home_, {"gpu-box"}, false, Clock::Real().WallTime()).ok());
    token_ = *ReadToken(home_);
    authority_ = *ReadFile(AccessPaths(home_).authority);
  }
  ~AccessTest() override {
    server_.reset();
    std::filesystem::remove_all(folder_);
  }

  void Start() {
    server_.reset();
    auto server = CoordinatorServer::Start(options_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    address_ = "127.0.0.1:" + std::to_string(server_->port());
  }

  std::shared_ptr<grpc::Channel> TlsChannel(const std::string& token) const {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = authority_;
    std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::SslCredentials(options);
    if (!token.empty()) {
      credentials =
          grpc::CompositeChannelCredentials(credentials, grpc::AccessTokenCredentials(token));
    }
    return grpc::CreateChannel(address_, credentials);
  }

  const std::filesystem::path folder_ = FreshFolder("access");
  const std::filesystem::path home_ = folder_ / "home";
  ServerOptions options_;
  std::unique_ptr<CoordinatorServer> server_;
  std::string address_, token_, authority_;
};

TEST_F(AccessTest, ItsOwnMachineComesInWithItsOwnHome) {
  Start();
  auto channel = CoordinatorChannel::Open(address_, home_);
  ASSERT_TRUE(channel.ok()) << channel.status();
  EXPECT_EQ(Ask(**channel), OkStatus());
}

TEST_F(AccessTest, WithAHomeThatLacksTheFilesItIsToldEachTimeUntilTheyCome) {
  Start();
  const auto channel = *CoordinatorChannel::Open(address_, folder_ / "other");
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(channel->Get().status(), testing::Property(&Status::message, HasSubstr("token")));
  }
  std::filesystem::copy(home_, folder_ / "other", std::filesystem::copy_options::recursive);
  EXPECT_EQ(Ask(*channel), OkStatus());
}

TEST_F(AccessTest, NoCallOfAnyServiceGoesWithoutTheToken) {
  Start();
  const std::string almost =
      token_.substr(0, token_.size() - 1) + (token_.back() == 'A' ? 'B' : 'A');
  int methods = 0;
  for (const char* file : {"gyre/v1/sweep_service.proto", "gyre/v1/worker_service.proto",
                           "gyre/v1/object_service.proto", "gyre/v1/log_service.proto"}) {
    const auto* descriptor =
        google::protobuf::DescriptorPool::generated_pool()->FindFileByName(file);
    ASSERT_NE(descriptor, nullptr) << file;
    for (int s = 0; s < descriptor->service_count(); ++s) {
      const auto* service = descriptor->service(s);
      for (int m = 0; m < service->method_count(); ++m, ++methods) {
        const std::string path = "/" + service->full_name() + "/" + service->method(m)->name();
        for (const std::string& token : {std::string(), almost, token_ + "x", std::string("x")}) {
          grpc::GenericStub stub(TlsChannel(token));
          grpc::ClientContext context;
          context.set_deadline(gpr_time_from_seconds(20, GPR_TIMESPAN));
          grpc::CompletionQueue queue;
          grpc::ByteBuffer answer;
          grpc::Status status;
          const auto call = stub.PrepareUnaryCall(&context, path, grpc::ByteBuffer(), &queue);
          call->StartCall();
          call->Finish(&answer, &status, nullptr);
          void* tag = nullptr;
          bool ok = false;
          ASSERT_TRUE(queue.Next(&tag, &ok));
          EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED) << path;
          EXPECT_THAT(status.error_message(),
                      AllOf(HasSubstr("token"), HasSubstr("copy the file"), Not(HasSubstr(token_))))
              << path;
        }
      }
    }
  }
  EXPECT_GT(methods, 12);
  EXPECT_TRUE(GetCluster(TlsChannel(token_)).ok());
}

TEST_F(AccessTest, ATokenIsSaidOnce) {
  Start();
  grpc::ClientContext context;
  context.set_deadline(gpr_time_from_seconds(20, GPR_TIMESPAN));
  context.AddMetadata("authorization", "Bearer " + std::string(43, 'x'));
  v1::Cluster cluster;
  EXPECT_EQ(v1::SweepService::NewStub(TlsChannel(token_))
                ->GetCluster(&context, v1::GetClusterRequest(), &cluster)
                .error_code(),
            grpc::StatusCode::UNAUTHENTICATED);
}

TEST_F(AccessTest, WithoutTlsNothingIsHeard) {
  Start();
  EXPECT_FALSE(GetCluster(grpc::CreateChannel(address_, grpc::InsecureChannelCredentials())).ok());
  EXPECT_TRUE(GetCluster(TlsChannel(token_)).ok());
}

TEST_F(AccessTest, AnotherMachineNeedsBothFilesAndIsToldWhich) {
  Start();
  const std::filesystem::path other = folder_ / "other";
  ASSERT_TRUE(MakeFolders(other / "certificates").ok());
  auto channel = CoordinatorChannel::Open(address_, other);
  ASSERT_TRUE(channel.ok());  // on loopback it might be a plain one
  EXPECT_THAT(Ask(**channel).message(), AllOf(HasSubstr("there is no token"), HasSubstr("copy")));
  const Status elsewhere = CoordinatorChannel::Open("192.0.2.1:7470", other).status();
  EXPECT_EQ(elsewhere.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(elsewhere.message(), HasSubstr("there is no token"));

  ASSERT_TRUE(WriteSecret(other / "token", token_).ok());
  EXPECT_THAT(CoordinatorChannel::Open("192.0.2.1:7470", other).status().message(),
              HasSubstr("there is no authority"));
  ASSERT_TRUE(WriteSecret(AccessPaths(other).authority, "junk").ok());
  EXPECT_THAT(CoordinatorChannel::Open("192.0.2.1:7470", other).status().message(),
              HasSubstr("ca.pem"));
  ASSERT_TRUE(WriteSecret(AccessPaths(other).authority, authority_).ok());
  EXPECT_TRUE(CoordinatorChannel::Open("192.0.2.1:7470", other).ok());
  auto complete = CoordinatorChannel::Open(address_, other);
  ASSERT_TRUE(complete.ok());
  EXPECT_EQ(Ask(**complete), OkStatus());

  ASSERT_TRUE(CreateToken(other, /*force=*/true).ok());
  auto stranger = CoordinatorChannel::Open(address_, other);
  ASSERT_TRUE(stranger.ok());
  const Status refused = Ask(**stranger);
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);  // final: no worker asks again
  EXPECT_THAT(refused.message(), HasSubstr("the token is not this coordinator's"));
}

TEST_F(AccessTest, ACoordinatorThatChangesHowItSpeaksIsFollowed) {
  options_.listen = "127.0.0.1:0";
  Start();
  auto channel = CoordinatorChannel::Open(address_, home_);
  ASSERT_TRUE(channel.ok());
  EXPECT_EQ(Ask(**channel), OkStatus());
  const std::string port = std::to_string(server_->port());
  for (const char* host : {"0.0.0.0", "127.0.0.1"}) {
    options_.listen = std::string(host) + ":" + port;
    Start();
    EXPECT_EQ(Ask(**channel), OkStatus()) << host;
  }
}

// What a client says about a server with that certificate.
class JudgedServerTest : public AccessTest {
 protected:
  std::string Judge(const std::filesystem::path& server_home, const Millis made,
                    const std::filesystem::path& client_home) {
    EXPECT_TRUE(MakeCertificates(server_home, {"gpu-box"}, true, made).ok());
    const auto pair = ReadServerCertificate(server_home, made);
    grpc::SslServerCredentialsOptions options;
    options.pem_key_cert_pairs.push_back({pair->key, pair->certificate});
    v1::SweepService::Service nothing;
    int port = 0;
    const auto server =
        grpc::ServerBuilder()
            .AddListeningPort("127.0.0.1:0", grpc::SslServerCredentials(options), &port)
            .RegisterService(&nothing)
            .BuildAndStart();
    auto channel = CoordinatorChannel::Open("127.0.0.1:" + std::to_string(port), client_home);
    EXPECT_TRUE(channel.ok());
    const auto connection = (*channel)->Get();
    EXPECT_TRUE(connection.ok()) << connection.status();
    const Status status = (*channel)->Explain(GetCluster(*connection));
    EXPECT_EQ(status.code(), StatusCode::kUnavailable);
    EXPECT_EQ((*channel)->Look().code(), StatusCode::kFailedPrecondition);
    return status.message();
  }
};

TEST_F(JudgedServerTest, AnExpiredCertificateIsCalledThat) {
  const Millis now = Clock::Real().WallTime();
  const std::string expired = Judge(home_, now - 800 * kDay, home_);
  EXPECT_THAT(expired, AllOf(HasSubstr("its certificate expired on "),
                             HasSubstr("gyre certificates create --force"), Not(HasSubstr("ssl"))));
  // CoordinatorServer does not start with it.
  EXPECT_EQ(CoordinatorServer::Start(options_).status().code(), StatusCode::kFailedPrecondition);
}

TEST_F(JudgedServerTest, ACertificateOfTheFutureIsAMatterOfClocks) {
  const std::string early = Judge(home_, Clock::Real().WallTime() + 10 * kDay, home_);
  EXPECT_THAT(early, HasSubstr("clock"));
}

TEST_F(JudgedServerTest, AnotherAuthorityIsCalledThat) {
  const Millis now = Clock::Real().WallTime();
  const std::string wrong = Judge(folder_ / "impostor", now, home_);
  EXPECT_THAT(
      wrong, AllOf(HasSubstr("not by the authority that this machine knows"), HasSubstr("ca.pem")));
}

}  // namespace
}  // namespace gyre
