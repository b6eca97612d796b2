#pragma once

// The certificates by which a client knows its coordinator: an authority of our own (EC P-256, ten
// years), and one for the server, signed by it, for the names and addresses under which clients
// reach the coordinator (two years). Times are arguments, so that tests make expired ones.
// Nothing here is kept: thread-safe.

#include <filesystem>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace gyre {

struct CertificateInfo {
  std::vector<std::string> hosts;        // subjectAltName: DNS names, then addresses
  Millis valid_from{0}, valid_until{0};  // since 1970
};

/// The first certificate of a PEM text. INVALID_ARGUMENT: there is none.
Result<CertificateInfo> ReadCertificate(const std::string& pem);

struct MadeCertificates {
  bool new_authority = false;
  CertificateInfo server;
};

/// Writes the files of HOME/certificates (access/secrets.h) for `hosts` (DNS names or numeric
/// addresses); localhost and its addresses are always among them. An authority that is there and
/// still valid is used again, so that machines that know it need nothing new.
/// INVALID_ARGUMENT: a host that is none. ALREADY_EXISTS: there is a server certificate, and
/// `force` is false.
Result<MadeCertificates> MakeCertificates(const std::filesystem::path& home,
                                          const std::vector<std::string>& hosts, bool force,
                                          Millis now);

/// What a server needs to speak TLS.
struct ServerCertificate {
  std::string certificate, key;  // PEM
  CertificateInfo info;
};

/// Of HOME/certificates, checked: owner only, belonging together, valid at `now`. NOT_FOUND: there
/// is none. FAILED_PRECONDITION: others can read the key, or it has expired. DATA_LOSS: damaged.
Result<ServerCertificate> ReadServerCertificate(const std::filesystem::path& home, Millis now);

/// "a, b and c".
std::string ListHosts(const std::vector<std::string>& hosts);

}  // namespace gyre
