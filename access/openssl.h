#pragma once

// OpenSSL's objects, owned. Only for the files of access/.

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

namespace gyre {

template <auto kFree>
struct OpensslDelete {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};
using X509Pointer = std::unique_ptr<X509, OpensslDelete<X509_free>>;
using KeyPointer = std::unique_ptr<EVP_PKEY, OpensslDelete<EVP_PKEY_free>>;
using BioPointer = std::unique_ptr<BIO, OpensslDelete<BIO_free_all>>;
using NamesPointer = std::unique_ptr<GENERAL_NAMES, OpensslDelete<GENERAL_NAMES_free>>;
using SslPointer = std::unique_ptr<SSL, OpensslDelete<SSL_free>>;
using SslContextPointer = std::unique_ptr<SSL_CTX, OpensslDelete<SSL_CTX_free>>;

/// The reason of the oldest error of this thread, which is then forgotten with all others.
inline std::string OpensslError() {
  char text[256] = "unknown reason";
  if (const unsigned long code = ERR_get_error(); code != 0)
    ERR_error_string_n(code, text, sizeof text);
  ERR_clear_error();
  return text;
}

}  // namespace gyre
