#include "access/secrets.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>

#include "base/files.h"
#include "base/ids.h"

namespace gyre {
namespace {

constexpr size_t kMaxSecretBytes = 1 << 16;
constexpr size_t kLeastToken = 32, kMostToken = 512;
constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// RFC 4648, section 5, without padding.
std::string UrlSafe(const std::array<unsigned char, 32>& bytes) {
  std::string text;
  uint32_t held = 0;
  int bits = 0;
  for (const unsigned char byte : bytes) {
    held = (held << 8) | byte;
    for (bits += 8; bits >= 6; bits -= 6) text += kDigits[(held >> (bits - 6)) & 63];
  }
  if (bits > 0) text += kDigits[(held << (6 - bits)) & 63];
  return text;
}

Result<std::string> CheckedToken(std::string text, const std::string& place) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  if (text.size() < kLeastToken || text.size() > kMostToken ||
      text.find_first_not_of(kDigits) != std::string::npos) {
    return InvalidArgument(place + " holds no token: one line of at least " +
                           std::to_string(kLeastToken) +
                           " characters of A-Z a-z 0-9 - _, as 'gyre token create' makes it");
  }
  return text;
}

Status WriteAndSync(const std::filesystem::path& path, std::string_view content) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return ErrnoStatus(errno, "cannot create " + path.string());
  Status status;
  while (status.ok() && !content.empty()) {
    const ssize_t written = write(fd, content.data(), content.size());
    if (written >= 0) {
      content.remove_prefix(static_cast<size_t>(written));
    } else if (errno != EINTR) {
      status = ErrnoStatus(errno, "cannot write " + path.string());
    }
  }
  if (status.ok() && fsync(fd) != 0) status = ErrnoStatus(errno, "cannot sync " + path.string());
  close(fd);
  return status;
}

}  // namespace

std::filesystem::path TokenPlace(const std::filesystem::path& home) {
  if (!Variable("GYRE_TOKEN").empty()) return "GYRE_TOKEN";
  const std::string file = Variable("GYRE_TOKEN_FILE");
  return file.empty() ? AccessPaths(home).token : std::filesystem::path(file);
}

std::filesystem::path AuthorityPlace(const std::filesystem::path& home) {
  const std::string file = Variable("GYRE_CA_FILE");
  return file.empty() ? AccessPaths(home).authority : std::filesystem::path(file);
}

Result<std::string> ReadToken(const std::filesystem::path& home) {
  const std::filesystem::path place = TokenPlace(home);
  if (place == "GYRE_TOKEN") return CheckedToken(Variable("GYRE_TOKEN"), place);
  GYRE_ASSIGN_OR_RETURN(std::string text, ReadSecret(place));
  return CheckedToken(std::move(text), place);
}

Status CreateToken(const std::filesystem::path& home, bool force) {
  const std::filesystem::path path = AccessPaths(home).token;
  std::error_code error;
  if (!force && std::filesystem::exists(path, error)) {
    return AlreadyExists("there is a token already, " + path.string() +
                         "; --force replaces it, which locks out every machine that has the old "
                         "one");
  }
  std::array<unsigned char, 32> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) {
    return Internal("the system gives no random bytes");
  }
  GYRE_RETURN_IF_ERROR(MakeFolders(home));
  return WriteSecret(path, UrlSafe(bytes) + "\n");
}

Status CheckOnlyOwnerReads(const std::filesystem::path& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return ErrnoStatus(errno, "cannot open " + path.string());
  if ((info.st_mode & 077) == 0) return OkStatus();
  return FailedPrecondition("others can read " + path.string() +
                            ", which is a secret; run: chmod 600 " + path.string());
}

Result<std::string> ReadSecret(const std::filesystem::path& path) {
  GYRE_RETURN_IF_ERROR(CheckOnlyOwnerReads(path));
  return ReadFile(path, kMaxSecretBytes);
}

Status WriteSecret(const std::filesystem::path& path, std::string_view content) {
  const std::filesystem::path temporary = path.string() + ".tmp-" + NewId().substr(0, 8);
  Status status = WriteAndSync(temporary, content);
  if (status.ok() && rename(temporary.c_str(), path.c_str()) != 0) {
    status = ErrnoStatus(errno, "cannot rename to " + path.string());
  }
  if (!status.ok()) {
    unlink(temporary.c_str());
    return status;
  }
  return SyncPath(path.parent_path());
}

bool SameSecret(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace gyre
