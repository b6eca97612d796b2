#include "access/tls_probe.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <openssl/pem.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <utility>

#include "access/certificates.h"
#include "access/openssl.h"

namespace gyre {
namespace {

class Deadline {
 public:
  explicit Deadline(Millis timeout) : end_(Clock::Real().Now() + timeout) {}
  /// Whether `fd` became ready for `events` in time.
  bool Await(int fd, short events) const {
    while (true) {
      pollfd wanted{fd, events, 0};
      const Millis left = std::max(Millis(0), end_ - Clock::Real().Now());
      const int ready = poll(&wanted, 1, static_cast<int>(left.count()));
      if (ready >= 0 || errno != EINTR) return ready > 0;
    }
  }

 private:
  const Millis end_;
};

struct Socket {
  explicit Socket(int fd = -1) : fd(fd) {}
  Socket(Socket&& other) noexcept : fd(std::exchange(other.fd, -1)) {}
  ~Socket() {
    if (fd >= 0) close(fd);
  }
  int fd;
};

/// 0, or errno.
int ConnectTo(int fd, const addrinfo& address, const Deadline& deadline) {
  if (connect(fd, address.ai_addr, address.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  if (!deadline.Await(fd, POLLOUT)) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

Result<Socket> Connect(const std::string& host, int port, const Deadline& deadline) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int unknown = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
  if (unknown != 0) {
    return Unavailable("no machine is called '" + host + "' (" + gai_strerror(unknown) + ")");
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, freeaddrinfo);
  int error = EHOSTUNREACH;
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
    Socket one(socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (one.fd < 0) continue;
    error = ConnectTo(one.fd, *address, deadline);
    if (error == 0) return one;
  }
  return Unavailable(std::strerror(error));
}

SslContextPointer MakeContext(const std::string& authority) {
  SslContextPointer context(SSL_CTX_new(TLS_client_method()));
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_NONE, nullptr);  // its result is looked at later
  const BioPointer bio(BIO_new_mem_buf(authority.data(), static_cast<int>(authority.size())));
  while (X509* certificate = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) {
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context.get()), certificate);
    X509_free(certificate);
  }
  ERR_clear_error();
  return context;
}

int WriteWithoutSignal(BIO* bio, const char* data, int size) {
  BIO_clear_retry_flags(bio);
  const auto sent = static_cast<int>(send(static_cast<int>(BIO_get_fd(bio, nullptr)), data,
                                          static_cast<size_t>(size), MSG_NOSIGNAL));
  if (sent <= 0 && BIO_sock_should_retry(sent) != 0) BIO_set_retry_write(bio);
  return sent;
}

// OpenSSL's own writes to sockets end the whole process, by SIGPIPE, where the other side has reset
// the connection before the last words (an alert, or a goodbye).
const BIO_METHOD* SocketWithoutSignal() {
  static const BIO_METHOD* const method = [] {
    const BIO_METHOD* const socket = BIO_s_socket();
    BIO_METHOD* const made = BIO_meth_new(BIO_TYPE_SOCKET, "socket whose other end may be gone");
    BIO_meth_set_write(made, WriteWithoutSignal);
    BIO_meth_set_read(made, BIO_meth_get_read(socket));
    BIO_meth_set_ctrl(made, BIO_meth_get_ctrl(socket));
    BIO_meth_set_create(made, BIO_meth_get_create(socket));
    BIO_meth_set_destroy(made, BIO_meth_get_destroy(socket));
    return made;
  }();
  return method;
}

SslPointer MakeSession(SSL_CTX* context, int fd, const std::string& host) {
  SslPointer ssl(SSL_new(context));
  BIO* const bio = BIO_new(SocketWithoutSignal());
  BIO_set_fd(bio, fd, BIO_NOCLOSE);
  SSL_set_bio(ssl.get(), bio, bio);
  // Without it gRPC's servers complain in their log.
  static constexpr unsigned char kProtocol[] = {2, 'h', '2'};
  SSL_set_alpn_protos(ssl.get(), kProtocol, sizeof kProtocol);
  if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl.get()), host.c_str()) != 1) {
    ERR_clear_error();
    SSL_set1_host(ssl.get(), host.c_str());
    SSL_set_tlsext_host_name(ssl.get(), host.c_str());
  }
  return ssl;
}

std::string Day(Millis time) { return FormatUtc(time).substr(0, 10); }

Status JudgeCertificate(SSL* ssl, const std::string& host) {
  const long verdict = SSL_get_verify_result(ssl);
  if (verdict == X509_V_OK) return OkStatus();
  const BioPointer bio(BIO_new(BIO_s_mem()));
  if (X509* certificate = SSL_get0_peer_certificate(ssl)) {
    PEM_write_bio_X509(bio.get(), certificate);
  }
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  const auto info = ReadCertificate(std::string(data, static_cast<size_t>(size)));
  const CertificateInfo about = info.ok() ? *info : CertificateInfo();
  switch (verdict) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return Unavailable("its certificate expired on " + Day(about.valid_until) +
                         "; make a new one on its machine with 'gyre certificates create --force "
                         "--host " +
                         host + "', and start the coordinator again");
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return Unavailable("its certificate is valid from " + Day(about.valid_from) +
                         " on, and this machine's clock says " + Day(Clock::Real().WallTime()) +
                         "; set the clocks");
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return Unavailable("its certificate is for " + ListHosts(about.hosts) + ", not for " + host +
                         "; use one of these names, or make one on its machine with 'gyre "
                         "certificates create --force --host " +
                         host + "', and start the coordinator again");
    default:
      return Unavailable(
          std::string("its certificate is not by the authority that this machine knows (") +
          X509_verify_cert_error_string(verdict) +
          "); copy certificates/ca.pem from the GYRE_HOME of the coordinator's machine");
  }
}

ProbeAnswer Shake(SSL* ssl, int fd, const std::string& host, bool judge, const Deadline& deadline) {
  while (true) {
    ERR_clear_error();
    const int done = SSL_connect(ssl);
    if (done == 1) {
      ProbeAnswer answer{Speech::kTls, judge ? JudgeCertificate(ssl, host) : OkStatus()};
      SSL_shutdown(ssl);
      return answer;
    }
    const int error = SSL_get_error(ssl, done);
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
      if (deadline.Await(fd, error == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT)) continue;
      return {Speech::kUnknown, Unavailable("it does not answer")};
    }
    const unsigned long reason = ERR_peek_error();
    ERR_clear_error();
    if (error != SSL_ERROR_SSL) {
      return {Speech::kUnknown, Unavailable("it closed the connection")};
    }
    // An HTTP/2 server's first words are no TLS record; an alert, or a version we don't speak, are.
    switch (ERR_GET_REASON(reason)) {
      case SSL_R_WRONG_VERSION_NUMBER:
      case SSL_R_PACKET_LENGTH_TOO_LONG:
      case SSL_R_BAD_RECORD_TYPE:
      case SSL_R_HTTP_REQUEST:
        return {Speech::kPlain, OkStatus()};
      case SSL_R_UNEXPECTED_EOF_WHILE_READING:
        return {Speech::kUnknown, Unavailable("it closed the connection")};
      default:
        return {Speech::kTls, Unavailable(std::string("TLS with it fails (") +
                                          (ERR_reason_error_string(reason) != nullptr
                                               ? ERR_reason_error_string(reason)
                                               : "no reason given") +
                                          ")")};
    }
  }
}

}  // namespace

ProbeAnswer AskHowItSpeaks(const std::string& host, int port, const std::string& authority,
                           Millis timeout) {
  const Deadline deadline(timeout);
  const Result<Socket> socket = Connect(host, port, deadline);
  if (!socket.ok()) return {Speech::kUnknown, socket.status()};
  const SslContextPointer context = MakeContext(authority);
  const SslPointer ssl = MakeSession(context.get(), socket->fd, host);
  return Shake(ssl.get(), socket->fd, host, !authority.empty(), deadline);
}

Result<HostAndPort> SplitHostPort(const std::string& address) {
  const size_t colon = address.rfind(':');
  HostAndPort parts;
  bool valid = colon != std::string::npos && colon > 0;
  if (valid) {
    parts.host = address.substr(0, colon);
    const char* end = address.data() + address.size();
    const auto [rest, error] = std::from_chars(address.data() + colon + 1, end, parts.port);
    valid = error == std::errc() && rest == end && parts.port > 0 && parts.port < 65536;
  }
  const bool brackets = valid && parts.host.front() == '[' && parts.host.back() == ']';
  if (brackets) parts.host = parts.host.substr(1, parts.host.size() - 2);
  valid = valid && !parts.host.empty() &&
          (brackets || parts.host.find_first_of(":/ []") == std::string::npos);
  if (valid) return parts;
  return InvalidArgument("'" + address +
                         "' is no address of a coordinator: HOST:PORT is, like "
                         "127.0.0.1:7470");
}

bool IsLoopbackHost(const std::string& host) {
  in_addr v4{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6{};
  if (inet_pton(AF_INET6, host.c_str(), &v6) == 1) return IN6_IS_ADDR_LOOPBACK(&v6);
  return host == "localhost";
}

}  // namespace gyre
