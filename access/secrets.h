#pragma once

// Where the things lie that let one machine into another's coordinator, and the token among them.
// A cluster has one token, the secret that every call beyond loopback carries, and one authority
// (access/certificates.h), whose certificate is no secret.
//
//   HOME/token                        the token                                       both machines
//   HOME/certificates/ca.pem          the authority's certificate                     both machines
//   HOME/certificates/ca-key.pem      its key                                         coordinator
//   HOME/certificates/server.pem      the coordinator's certificate                   coordinator
//   HOME/certificates/server-key.pem  its key                                         coordinator
//
// A client may find the first two elsewhere: GYRE_TOKEN (the token itself) or GYRE_TOKEN_FILE, and
// GYRE_CA_FILE. Secrets are never on a command line, in a log, an event or the database; a file of
// them that others can read is refused. Nothing here is kept: thread-safe.

#include <filesystem>
#include <string>
#include <string_view>

#include "base/status.h"

namespace gyre {

struct AccessPaths {
  explicit AccessPaths(const std::filesystem::path& home)
      : token(home / "token"),
        folder(home / "certificates"),
        authority(folder / "ca.pem"),
        authority_key(folder / "ca-key.pem"),
        certificate(folder / "server.pem"),
        key(folder / "server-key.pem") {}
  std::filesystem::path token, folder, authority, authority_key, certificate, key;
};

/// Where the token comes from: "GYRE_TOKEN" (the variable itself), or a file.
std::filesystem::path TokenPlace(const std::filesystem::path& home);
/// GYRE_CA_FILE, else HOME/certificates/ca.pem.
std::filesystem::path AuthorityPlace(const std::filesystem::path& home);

/// NOT_FOUND: there is none. FAILED_PRECONDITION: others can read the file; the message has the
/// chmod. INVALID_ARGUMENT: no token; the message does not repeat it.
Result<std::string> ReadToken(const std::filesystem::path& home);

/// A new one, 32 random bytes as 43 characters of A-Z a-z 0-9 - _, in HOME/token.
/// ALREADY_EXISTS: there is one, and `force` is false.
Status CreateToken(const std::filesystem::path& home, bool force);

/// A file that only its owner may read. FAILED_PRECONDITION: others can, too; the message has the
/// chmod.
Status CheckOnlyOwnerReads(const std::filesystem::path& path);
Result<std::string> ReadSecret(const std::filesystem::path& path);

/// Whole or not at all, mode 0600, whatever the umask; replaces a file that is there.
Status WriteSecret(const std::filesystem::path& path, std::string_view content);

/// Takes the same time wherever two texts of one length differ.
bool SameSecret(std::string_view a, std::string_view b);

}  // namespace gyre
