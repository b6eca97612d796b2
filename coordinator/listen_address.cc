#include "coordinator/listen_address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

#include "access/tls_probe.h"

namespace gyre {
namespace {

/// The first address of a name; a numeric address is its own.
Result<std::string> ToNumeric(const std::string& host) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), nullptr, &wanted, &found);
  if (error != 0) {
    return InvalidArgument("cannot listen on '" + host + "': no address belongs to this name (" +
                           gai_strerror(error) + ")");
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, freeaddrinfo);
  char text[NI_MAXHOST];
  if (getnameinfo(found->ai_addr, found->ai_addrlen, text, sizeof text, nullptr, 0,
                  NI_NUMERICHOST) != 0) {
    return InvalidArgument("cannot listen on '" + host + "'");
  }
  return std::string(text);
}

// The socket address of a numeric host.
socklen_t SocketAddress(const ListenAddress& address, sockaddr_storage* storage) {
  auto* v4 = reinterpret_cast<sockaddr_in*>(storage);
  if (inet_pton(AF_INET, address.host.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(static_cast<uint16_t>(address.port));
    return sizeof *v4;
  }
  auto* v6 = reinterpret_cast<sockaddr_in6*>(storage);
  inet_pton(AF_INET6, address.host.c_str(), &v6->sin6_addr);
  v6->sin6_family = AF_INET6;
  v6->sin6_port = htons(static_cast<uint16_t>(address.port));
  return sizeof *v6;
}

}  // namespace

std::string ListenAddress::ToString() const {
  const bool is_v6 = host.find(':') != std::string::npos;
  return (is_v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

bool ListenAddress::IsLocal() const { return IsLoopbackHost(host); }

Result<ListenAddress> ParseListenAddress(const std::string& text) {
  const size_t colon = text.rfind(':');
  ListenAddress address;
  bool valid = colon != std::string::npos && colon > 0 && colon + 1 < text.size();
  if (valid) {
    address.host = text.substr(0, colon);
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data() + colon + 1, end, address.port);
    valid = error == std::errc() && rest == end && address.port >= 0 && address.port <= 65535;
  }
  if (!valid) return InvalidArgument("'" + text + "' is not HOST:PORT, like 127.0.0.1:7470");
  if (address.host.front() == '[' && address.host.back() == ']') {
    address.host = address.host.substr(1, address.host.size() - 2);
  }
  if (address.host == "localhost") address.host = "127.0.0.1";
  GYRE_ASSIGN_OR_RETURN(address.host, ToNumeric(address.host));
  return address;
}

Status CheckPortIsFree(const ListenAddress& address) {
  sockaddr_storage storage{};
  const socklen_t length = SocketAddress(address, &storage);
  const int fd = socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return ErrnoStatus(errno, "cannot open a socket");
  // As the servers set it: a port whose last connections are winding down is free.
  const int yes = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const int error = bind(fd, reinterpret_cast<const sockaddr*>(&storage), length) == 0 ? 0 : errno;
  close(fd);
  if (error == 0) return OkStatus();
  if (error == EADDRINUSE) {
    return Unavailable(
        "cannot listen on " + address.ToString() +
        ": the port is in use, perhaps by another coordinator; stop that, or choose another port");
  }
  if (error == EADDRNOTAVAIL) {
    return InvalidArgument("cannot listen on " + address.ToString() +
                           ": it is no address of this machine");
  }
  return ErrnoStatus(error, "cannot listen on " + address.ToString());
}

}  // namespace gyre
