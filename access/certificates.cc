#include "access/certificates.h"

#include <arpa/inet.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <optional>

#include "access/openssl.h"
#include "access/secrets.h"
#include "base/files.h"

namespace gyre {
namespace {

constexpr int kAuthorityDays = 3650, kServerDays = 730;
// A certificate is good from a day ago on: a machine whose clock is behind takes it, too.
constexpr int kEarlierDays = 1;
constexpr size_t kMaxPemBytes = 1 << 20;

bool IsAddress(const std::string& host) {
  unsigned char bytes[16];
  return inet_pton(AF_INET, host.c_str(), bytes) == 1 ||
         inet_pton(AF_INET6, host.c_str(), bytes) == 1;
}

bool IsHost(const std::string& host) {
  if (IsAddress(host)) return true;
  const bool letters = host.find_first_not_of(
                           "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._*") ==
                       std::string::npos;
  const bool star = host.find('*') != std::string::npos;
  return !host.empty() && host.size() <= 253 && letters &&
         (!star || (host.rfind("*.", 0) == 0 && host.find('*', 1) == std::string::npos)) &&
         host.front() != '.' && host.front() != '-' &&
         // An address with a slip is no name: "10.0.0.256".
         host.find_first_not_of("0123456789.") != std::string::npos;
}

Result<X509Pointer> ParseCertificate(const std::string& pem) {
  const BioPointer bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  X509Pointer certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
  if (certificate == nullptr) {
    ERR_clear_error();
    return InvalidArgument("no certificate (PEM) is in it");
  }
  return certificate;
}

// Never asks for a password on the terminal.
int NoPassword(char*, int, int, void*) { return -1; }

Result<KeyPointer> ParseKey(const std::string& pem) {
  const BioPointer bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  KeyPointer key(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassword, nullptr));
  if (key == nullptr) {
    ERR_clear_error();
    return DataLoss("no key (PEM, without a password) is in it");
  }
  return key;
}

template <typename Write>
std::string ToPem(const Write& write) {
  const BioPointer bio(BIO_new(BIO_s_mem()));
  write(bio.get());
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<size_t>(size)};
}
std::string ToPem(X509* certificate) {
  return ToPem([&](BIO* bio) { PEM_write_bio_X509(bio, certificate); });
}
std::string ToPem(EVP_PKEY* key) {
  return ToPem(
      [&](BIO* bio) { PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr); });
}

Millis ToMillis(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return Millis(0);
  return std::chrono::seconds(timegm(&parts));
}

struct Identity {
  X509Pointer certificate;
  KeyPointer key;
};

bool AddExtension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  const bool added = extension != nullptr && X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return added;
}

struct CertificatePlan {
  std::string common_name;
  int days = 0;
  std::vector<std::pair<int, std::string>> extensions;
};

/// A new key and a certificate of it, signed by `issuer`, or by itself if that is null.
Result<Identity> Make(const CertificatePlan& plan, const Identity* issuer, Millis now) {
  Identity made{X509Pointer(X509_new()), KeyPointer(EVP_EC_gen("P-256"))};
  X509* certificate = made.certificate.get();
  if (certificate == nullptr || made.key == nullptr) return Internal("no key: " + OpensslError());
  std::array<unsigned char, 16> serial{};
  bool ok = RAND_bytes(serial.data(), serial.size()) == 1;
  serial[0] &= 0x7f;  // a positive number
  BIGNUM* number = BN_bin2bn(serial.data(), serial.size(), nullptr);
  ok = ok && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != nullptr;
  BN_free(number);

  std::time_t seconds = std::chrono::duration_cast<std::chrono::seconds>(now).count();
  ok = ok && X509_set_version(certificate, X509_VERSION_3) == 1 &&
       X509_time_adj_ex(X509_getm_notBefore(certificate), -kEarlierDays, 0, &seconds) != nullptr &&
       X509_time_adj_ex(X509_getm_notAfter(certificate), plan.days, 0, &seconds) != nullptr &&
       X509_set_pubkey(certificate, made.key.get()) == 1;
  X509_NAME* name = X509_get_subject_name(certificate);
  const auto* text = reinterpret_cast<const unsigned char*>(plan.common_name.c_str());
  ok = ok && X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, text, -1, -1, 0) == 1;
  X509* signer = issuer != nullptr ? issuer->certificate.get() : certificate;
  ok = ok && X509_set_issuer_name(certificate, X509_get_subject_name(signer)) == 1;
  for (const auto& [nid, value] : plan.extensions) {
    ok = ok && AddExtension(certificate, signer, nid, value);
  }
  EVP_PKEY* key = issuer != nullptr ? issuer->key.get() : made.key.get();
  ok = ok && X509_sign(certificate, key, EVP_sha256()) > 0;
  if (!ok) return Internal("cannot make a certificate: " + OpensslError());
  return made;
}

Result<Identity> MakeAuthority(Millis now) {
  return Make({"Gyre cluster authority",
               kAuthorityDays,
               {{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
                {NID_key_usage, "critical,keyCertSign,cRLSign"},
                {NID_subject_key_identifier, "hash"}}},
              nullptr, now);
}

Result<Identity> MakeServer(const std::vector<std::string>& hosts, const Identity& authority,
                            Millis now) {
  std::string names;
  for (const std::string& host : hosts) {
    names += (names.empty() ? "" : ",") + std::string(IsAddress(host) ? "IP:" : "DNS:") + host;
  }
  return Make({"Gyre coordinator",
               kServerDays,
               {{NID_basic_constraints, "critical,CA:FALSE"},
                {NID_key_usage, "critical,digitalSignature"},
                {NID_ext_key_usage, "serverAuth"},
                {NID_subject_alt_name, names},
                {NID_subject_key_identifier, "hash"},
                {NID_authority_key_identifier, "keyid:always"}}},
              &authority, now);
}

/// The authority that is there; nothing if there is none, or its time is over before a server's
/// would be.
Result<std::optional<Identity>> FindAuthority(const AccessPaths& paths, Millis now) {
  auto pem = ReadFile(paths.authority, kMaxPemBytes);
  auto key_pem = ReadSecret(paths.authority_key);
  if (pem.status().code() == StatusCode::kNotFound &&
      key_pem.status().code() == StatusCode::kNotFound) {
    return std::optional<Identity>();
  }
  if (key_pem.status().code() == StatusCode::kNotFound) {
    return FailedPrecondition(
        "the authority of " + paths.authority.string() +
        " is another machine's: its key is not here. Make certificates on "
        "the coordinator's machine; if this is to be one, move the file away");
  }
  if (!pem.ok()) return pem.status();
  if (!key_pem.ok()) return key_pem.status();
  Identity authority;
  auto certificate = ParseCertificate(*pem);
  if (!certificate.ok()) return certificate.status().WithContext(paths.authority.string());
  authority.certificate = *std::move(certificate);
  auto key = ParseKey(*key_pem);
  if (!key.ok()) return key.status().WithContext(paths.authority_key.string());
  authority.key = *std::move(key);
  if (X509_check_private_key(authority.certificate.get(), authority.key.get()) != 1) {
    ERR_clear_error();
    return DataLoss(paths.authority.string() + " and " + paths.authority_key.string() +
                    " do not belong together; move them away to make a new authority");
  }
  const Millis ends = ToMillis(X509_get0_notAfter(authority.certificate.get()));
  if (ends < now + std::chrono::hours(24 * kServerDays)) return std::optional<Identity>();
  return std::optional<Identity>(std::move(authority));
}

}  // namespace

Result<CertificateInfo> ReadCertificate(const std::string& pem) {
  GYRE_ASSIGN_OR_RETURN(const X509Pointer certificate, ParseCertificate(pem));
  CertificateInfo info;
  info.valid_from = ToMillis(X509_get0_notBefore(certificate.get()));
  info.valid_until = ToMillis(X509_get0_notAfter(certificate.get()));
  const NamesPointer names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate.get(), NID_subject_alt_name, nullptr, nullptr)));
  std::vector<std::string> addresses;
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    const ASN1_STRING* text = name->d.ia5;
    if (name->type == GEN_DNS) {
      info.hosts.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                              static_cast<size_t>(ASN1_STRING_length(text)));
    } else if (name->type == GEN_IPADD) {
      char shown[INET6_ADDRSTRLEN];
      const int family = ASN1_STRING_length(text) == 4 ? AF_INET : AF_INET6;
      inet_ntop(family, ASN1_STRING_get0_data(text), shown, sizeof shown);
      addresses.emplace_back(shown);
    }
  }
  info.hosts.insert(info.hosts.end(), addresses.begin(), addresses.end());
  return info;
}

Result<MadeCertificates> MakeCertificates(const std::filesystem::path& home,
                                          const std::vector<std::string>& hosts, bool force,
                                          Millis now) {
  std::vector<std::string> all = {"localhost", "127.0.0.1", "::1"};
  for (const std::string& host : hosts) {
    if (!IsHost(host)) {
      return InvalidArgument("'" + host +
                             "' is neither a name nor an address under which a machine is reached, "
                             "like gpu-box.example.org or 192.168.1.5 (without a port)");
    }
    if (std::find(all.begin(), all.end(), host) == all.end()) all.push_back(host);
  }
  const AccessPaths paths(home);
  std::error_code error;
  if (!force && std::filesystem::exists(paths.certificate, error)) {
    const auto pem = ReadFile(paths.certificate, kMaxPemBytes);
    const auto info = pem.ok() ? ReadCertificate(*pem) : pem.status();
    return AlreadyExists("there is a certificate already, " + paths.certificate.string() +
                         (info.ok() ? ", for " + ListHosts(info->hosts) : std::string()) +
                         "; --force replaces it (name every host again) and keeps the authority, "
                         "so that other machines need nothing new");
  }
  GYRE_RETURN_IF_ERROR(MakeFolders(paths.folder));
  if (chmod(paths.folder.c_str(), 0700) != 0) {
    return ErrnoStatus(errno, "cannot set the mode of " + paths.folder.string());
  }
  GYRE_ASSIGN_OR_RETURN(std::optional<Identity> authority, FindAuthority(paths, now));
  MadeCertificates made;
  if (!authority) {
    GYRE_ASSIGN_OR_RETURN(authority, MakeAuthority(now));
    made.new_authority = true;
    GYRE_RETURN_IF_ERROR(WriteSecret(paths.authority_key, ToPem(authority->key.get())));
    GYRE_RETURN_IF_ERROR(WriteSecret(paths.authority, ToPem(authority->certificate.get())));
  }
  GYRE_ASSIGN_OR_RETURN(const Identity server, MakeServer(all, *authority, now));
  const std::string pem = ToPem(server.certificate.get());
  GYRE_RETURN_IF_ERROR(WriteSecret(paths.key, ToPem(server.key.get())));
  GYRE_RETURN_IF_ERROR(WriteSecret(paths.certificate, pem));
  GYRE_ASSIGN_OR_RETURN(made.server, ReadCertificate(pem));
  return made;
}

Result<ServerCertificate> ReadServerCertificate(const std::filesystem::path& home, Millis now) {
  const AccessPaths paths(home);
  ServerCertificate server;
  GYRE_ASSIGN_OR_RETURN(server.certificate, ReadFile(paths.certificate, kMaxPemBytes));
  GYRE_ASSIGN_OR_RETURN(server.key, ReadSecret(paths.key));
  const auto certificate = ParseCertificate(server.certificate);
  if (!certificate.ok()) return DataLoss(paths.certificate.string() + ": no certificate is in it");
  const auto key = ParseKey(server.key);
  if (!key.ok()) return key.status().WithContext(paths.key.string());
  if (X509_check_private_key(certificate->get(), key->get()) != 1) {
    ERR_clear_error();
    return DataLoss(paths.certificate.string() + " and " + paths.key.string() +
                    " do not belong together; make them anew with 'gyre certificates create "
                    "--force --host NAME'");
  }
  GYRE_ASSIGN_OR_RETURN(server.info, ReadCertificate(server.certificate));
  if (server.info.valid_until <= now) {
    return FailedPrecondition(paths.certificate.string() + " expired on " +
                              FormatUtc(server.info.valid_until).substr(0, 10) +
                              "; make it anew with 'gyre certificates create --force --host NAME'");
  }
  return server;
}

std::string ListHosts(const std::vector<std::string>& hosts) {
  std::string list;
  for (size_t i = 0; i < hosts.size(); ++i) {
    if (i > 0) list += i + 1 == hosts.size() ? " and " : ", ";
    list += hosts[i];
  }
  return list;
}

}  // namespace gyre
