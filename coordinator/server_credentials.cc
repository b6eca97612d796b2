#include "coordinator/server_credentials.h"

#include <grpcpp/security/auth_metadata_processor.h>

#include <string>
#include <utility>

#include "access/certificates.h"
#include "access/secrets.h"
#include "base/log.h"

namespace gyre {
namespace {

constexpr char kHeader[] = "authorization";
constexpr std::string_view kScheme = "Bearer ";
constexpr int kSoonDays = 30;

class TokenCheck : public grpc::AuthMetadataProcessor {
 public:
  explicit TokenCheck(std::string token) : token_(std::move(token)) {}

  bool IsBlocking() const override { return false; }

  grpc::Status Process(const InputMetadata& metadata, grpc::AuthContext*, OutputMetadata* consumed,
                       OutputMetadata*) override {
    const auto [first, end] = metadata.equal_range(kHeader);
    if (first == end) return Refuse("this coordinator wants a token, and the call has none");
    const std::string given(first->second.data(), first->second.size());
    consumed->emplace(kHeader, given);  // no service sees it
    if (std::next(first) == end && given.rfind(kScheme, 0) == 0 &&
        SameSecret(std::string_view(given).substr(kScheme.size()), token_)) {
      return grpc::Status::OK;
    }
    return Refuse("the token is not this coordinator's");
  }

 private:
  static grpc::Status Refuse(const std::string& why) {
    return {grpc::StatusCode::UNAUTHENTICATED,
            why +
                "; copy the file 'token' from the GYRE_HOME of its machine into the one here, or "
                "set GYRE_TOKEN_FILE"};
  }

  const std::string token_;
};

Status Missing(const ListenAddress& address, const std::filesystem::path& home,
               const std::string& what) {
  return FailedPrecondition("other machines reach " + address.ToString() +
                            ", so it needs a certificate and a token, and in " + home.string() +
                            " there is no " + what +
                            "; run\n  gyre certificates create --host NAME   (how other machines "
                            "reach this one: a name or an address)\n  gyre token create\nor listen "
                            "on 127.0.0.1");
}

}  // namespace

Result<std::shared_ptr<grpc::ServerCredentials>> MakeServerCredentials(
    const ListenAddress& address, const std::filesystem::path& home, Millis now) {
  if (address.IsLocal()) return grpc::InsecureServerCredentials();
  auto server = ReadServerCertificate(home, now);
  if (server.status().code() == StatusCode::kNotFound) return Missing(address, home, "certificate");
  if (!server.ok()) return server.status();
  auto token = ReadToken(home);
  if (token.status().code() == StatusCode::kNotFound) return Missing(address, home, "token");
  if (!token.ok()) return token.status();
  if (server->info.valid_until < now + std::chrono::hours(24 * kSoonDays)) {
    LogWarning("the certificate expires on " + FormatUtc(server->info.valid_until).substr(0, 10) +
               "; make a new one with 'gyre certificates create --force --host NAME'");
  }
  LogInfo("other machines reach this coordinator as " + ListHosts(server->info.hosts));
  grpc::SslServerCredentialsOptions options(GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  options.pem_key_cert_pairs.push_back({server->key, server->certificate});
  auto credentials = grpc::SslServerCredentials(options);
  credentials->SetAuthMetadataProcessor(std::make_shared<TokenCheck>(*std::move(token)));
  return credentials;
}

}  // namespace gyre
