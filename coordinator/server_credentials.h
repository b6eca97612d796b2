#pragma once

// What a coordinator asks of whoever calls. On an address that only its own machine reaches:
// nothing. On any other: TLS, with the certificate of GYRE_HOME, and the cluster's token with every
// call of every service (UNAUTHENTICATED without). Threads: the check runs on those of gRPC, and
// keeps nothing.

#include <grpcpp/security/server_credentials.h>

#include <filesystem>
#include <memory>

#include "base/clock.h"
#include "base/status.h"
#include "coordinator/listen_address.h"

namespace gyre {

/// FAILED_PRECONDITION: certificates or token are missing, expired, or can be read by others; the
/// message has the commands to run.
Result<std::shared_ptr<grpc::ServerCredentials>> MakeServerCredentials(
    const ListenAddress& address, const std::filesystem::path& home, Millis now);

}  // namespace gyre
