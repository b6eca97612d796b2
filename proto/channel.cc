#include "proto/channel.h"

#include <grpc/support/log.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <cstdlib>
#include <utility>

#include "access/certificates.h"
#include "access/secrets.h"
#include "proto/grpc_status.h"
#include "proto/protocol.h"

namespace gyre {
namespace {

constexpr Millis kProbeTimeout{1000};
// A connection that cannot be made is looked into this often at most.
constexpr Millis kExplainAgain{5000};
constexpr size_t kMaxAuthorityBytes = 1 << 20;

grpc::ChannelArguments Arguments() {
  grpc::ChannelArguments arguments;
  // gRPC's own pauses grow to two minutes; a coordinator that comes back should see its workers
  // within two seconds, their own pauses included. The least pause is the time that connecting may
  // take, too.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 200);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  // A lost connection asks for the address anew, at most every 30 s by default, and waits for it.
  arguments.SetInt(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, 500);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 20000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);  // a web proxy does not lead to the coordinator
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetMaxSendMessageSize(kMaxMessageBytes);
  return arguments;
}

/// What fails is said by Explain(), in words; gRPC's own lines on stderr would only stand beside
/// it. Whoever sets GRPC_VERBOSITY wants them.
void QuietGrpc() {
  static const bool quiet = [] {
    if (std::getenv("GRPC_VERBOSITY") == nullptr) gpr_set_log_function([](gpr_log_func_args*) {});
    return true;
  }();
  static_cast<void>(quiet);
}

struct Access {
  std::string token, authority;
};

/// What another machine's coordinator wants to be shown, and shows.
Result<Access> ReadAccess(const std::filesystem::path& home, const std::string& address) {
  const std::string needs = "the coordinator at " + address + " is reached by TLS and a token; ";
  const std::string where = " from the GYRE_HOME of the coordinator's machine to " + home.string();
  const auto token = ReadToken(home);
  if (token.status().code() == StatusCode::kNotFound) {
    return InvalidArgument(needs + "there is no token, " + TokenPlace(home).string() +
                           ": copy 'token' and 'certificates/ca.pem'" + where);
  }
  if (!token.ok()) return token.status();
  const std::filesystem::path place = AuthorityPlace(home);
  const auto authority = ReadFile(place, kMaxAuthorityBytes);
  if (authority.status().code() == StatusCode::kNotFound) {
    return InvalidArgument(needs + "there is no authority, " + place.string() +
                           ": copy 'certificates/ca.pem'" + where);
  }
  if (!authority.ok()) return authority.status();
  const auto certificate = ReadCertificate(*authority);
  if (!certificate.ok()) return certificate.status().WithContext(place.string());
  return Access{*token, *authority};
}

}  // namespace

Result<std::shared_ptr<CoordinatorChannel>> CoordinatorChannel::Open(
    const std::string& address, const std::filesystem::path& home) {
  QuietGrpc();
  GYRE_ASSIGN_OR_RETURN(HostAndPort target, SplitHostPort(address));
  std::shared_ptr<CoordinatorChannel> channel(
      new CoordinatorChannel(address, std::move(target), home));
  if (!channel->is_local_) GYRE_RETURN_IF_ERROR(channel->Connect(Speech::kTls));
  return channel;
}

Status CoordinatorChannel::Connect(Speech speech) {
  std::shared_ptr<grpc::ChannelCredentials> credentials;
  std::string authority;
  if (speech == Speech::kTls) {
    GYRE_ASSIGN_OR_RETURN(const Access access, ReadAccess(home_, address_));
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = authority = access.authority;
    credentials = grpc::CompositeChannelCredentials(grpc::SslCredentials(options),
                                                    grpc::AccessTokenCredentials(access.token));
  } else {
    credentials = grpc::InsecureChannelCredentials();
  }
  channel_ = grpc::CreateCustomChannel(address_, credentials, Arguments());
  speech_ = speech;
  authority_ = std::move(authority);
  return OkStatus();
}

Result<std::shared_ptr<grpc::Channel>> CoordinatorChannel::Get() {
  const std::lock_guard lock(mutex_);
  if (is_local_ && std::exchange(ask_again_, false)) {
    Speech speech = AskHowItSpeaks(target_.host, target_.port, "", kProbeTimeout).speech;
    if (speech == Speech::kUnknown) {
      ask_again_ = true;
      if (channel_ == nullptr) speech = Speech::kPlain;
    }
    if (speech != Speech::kUnknown && speech != speech_) {
      const Status connected = Connect(speech);
      ask_again_ |= !connected.ok();  // what is missing here may come
      GYRE_RETURN_IF_ERROR(connected);
    }
  }
  return channel_;
}

Status CoordinatorChannel::Explain(const grpc::Status& status) {
  const Status ours = FromGrpcStatus(status);
  if (ours.code() != StatusCode::kUnavailable && ours.code() != StatusCode::kDeadlineExceeded) {
    return ours;
  }
  const std::lock_guard lock(mutex_);
  if (channel_ == nullptr || channel_->GetState(false) == GRPC_CHANNEL_READY) return ours;
  ask_again_ = true;
  const Millis now = Clock::Real().Now();
  if (explained_at_ == Millis(0) || now - explained_at_ >= kExplainAgain) {
    explanation_ = LookLocked();
    explained_at_ = Clock::Real().Now();
  }
  switch (explanation_.code()) {
    case StatusCode::kOk:
      return {ours.code(), "the connection to the coordinator at " + address_ + " broke"};
    case StatusCode::kUnavailable:
      return {ours.code(), "no coordinator answers at " + address_ + ": " + explanation_.message()};
    default:
      return {ours.code(), explanation_.message()};
  }
}

Status CoordinatorChannel::Look() {
  const std::lock_guard lock(mutex_);
  return LookLocked();
}

Status CoordinatorChannel::LookLocked() const {
  const ProbeAnswer answer = AskHowItSpeaks(target_.host, target_.port, authority_, kProbeTimeout);
  if (answer.speech == Speech::kUnknown) return answer.status;
  const std::string who = "the coordinator at " + address_;
  if (!answer.status.ok()) return FailedPrecondition(who + ": " + answer.status.message());
  if (answer.speech == Speech::kPlain && speech_ == Speech::kTls && !is_local_) {
    return FailedPrecondition(who +
                              " speaks without TLS, and a token is not sent that way; it has to "
                              "listen on an address of the network itself, with --listen");
  }
  return OkStatus();
}

}  // namespace gyre
