#include "access/tls_probe.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <thread>

namespace gyre {
namespace {

using testing::HasSubstr;

/// Listens on 127.0.0.1; says `words` to the first who comes, and hangs up if `hang_up`.
class Listener {
 public:
  Listener(const std::string& words, bool hang_up) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(fd_, 4), 0);
    EXPECT_EQ(getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this, words, hang_up] {
      peer_ = accept(fd_, nullptr, nullptr);
      if (peer_ < 0) return;
      EXPECT_EQ(send(peer_, words.data(), words.size(), MSG_NOSIGNAL),
                static_cast<ssize_t>(words.size()));
      if (hang_up) shutdown(peer_, SHUT_RDWR);
    });
  }
  ~Listener() {
    shutdown(fd_, SHUT_RDWR);
    thread_.join();
    close(fd_);
    if (peer_ >= 0) close(peer_);
  }
  int port() const { return port_; }

 private:
  const int fd_;
  int port_ = 0, peer_ = -1;
  std::jthread thread_;
};

TEST(TlsProbe, TellsHttp2FromSilence) {
  const std::string settings("\0\0\x06\x04\0\0\0\0\0\0\x05\0\0\x40\0", 15);
  const Listener plain(settings, false);
  EXPECT_EQ(AskHowItSpeaks("127.0.0.1", plain.port(), "", Millis(5000)).speech, Speech::kPlain);

  const Listener hangs_up("", true);
  const ProbeAnswer closed = AskHowItSpeaks("127.0.0.1", hangs_up.port(), "", Millis(5000));
  EXPECT_EQ(closed.speech, Speech::kUnknown);
  EXPECT_THAT(closed.status.message(), HasSubstr("closed the connection"));

  const Listener silent("", false);
  const ProbeAnswer answer = AskHowItSpeaks("127.0.0.1", silent.port(), "", Millis(50));
  EXPECT_EQ(answer.speech, Speech::kUnknown);
  EXPECT_THAT(answer.status.message(), HasSubstr("does not answer"));

  const ProbeAnswer nobody = AskHowItSpeaks("127.0.0.1", 1, "", Millis(5000));
  EXPECT_EQ(nobody.speech, Speech::kUnknown);
  EXPECT_THAT(nobody.status.message(), HasSubstr("refused"));
}

// OpenSSL answers a connection that ends in mid-handshake with an alert, which once ended the
// process by SIGPIPE where the other side had reset the connection by then. The client is held
// until it has.
TEST(TlsProbe, SurvivesAServerThatHangsUpAtOnce) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const pid_t client = fork();
  if (client == 0) {
    signal(SIGPIPE, SIG_DFL);
    const ProbeAnswer answer =
        AskHowItSpeaks("127.0.0.1", ntohs(address.sin_port), "", Millis(20000));
    _exit(answer.speech == Speech::kUnknown ? 0 : 1);
  }
  const int peer = accept(listener, nullptr, nullptr);
  ASSERT_GE(peer, 0);
  pollfd hello{peer, POLLIN, 0};
  ASSERT_EQ(poll(&hello, 1, 20000), 1);
  int state = 0;
  kill(client, SIGSTOP);
  ASSERT_EQ(waitpid(client, &state, WUNTRACED), client);
  ASSERT_TRUE(WIFSTOPPED(state));
  shutdown(peer, SHUT_WR);
  close(peer);  // a reset, as there are words that nobody has read
  close(listener);
  kill(client, SIGCONT);
  ASSERT_EQ(waitpid(client, &state, 0), client);
  EXPECT_FALSE(WIFSIGNALED(state)) << strsignal(WTERMSIG(state));
  EXPECT_EQ(state, 0);
}

TEST(SplitHostPort, TakesHostsAndAddresses) {
  EXPECT_EQ(SplitHostPort("gpu-box:7470")->host, "gpu-box");
  EXPECT_EQ(SplitHostPort("[2001:db8::1]:80")->host, "2001:db8::1");
  EXPECT_EQ(SplitHostPort("[2001:db8::1]:80")->port, 80);
  for (const char* bad : {"", ":1", "a", "a:", "a:0", "a:65536", "a:1x", "a:-1", "::1:7470", "[]:1",
                          "http://a:1", "a b:1", "a:1 "}) {
    EXPECT_EQ(SplitHostPort(bad).status().code(), StatusCode::kInvalidArgument) << bad;
  }
}

TEST(IsLoopbackHost, KnowsThisMachine) {
  for (const char* host : {"localhost", "127.0.0.1", "127.8.9.1", "::1", "0:0:0:0:0:0:0:1"}) {
    EXPECT_TRUE(IsLoopbackHost(host)) << host;
  }
  for (const char* host : {"0.0.0.0", "::", "10.0.0.1", "localhost.evil.org", "127.0.0.1.evil.org",
                           "1270.0.1", "", "::ffff:10.0.0.1"}) {
    EXPECT_FALSE(IsLoopbackHost(host)) << host;
  }
}

}  // namespace
}  // namespace gyre
