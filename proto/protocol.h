#pragma once

namespace gyre {

/// Version of what workers and coordinators say to each other. Raised when an older partner would
/// misunderstand a newer one; new calls and fields alone don't raise it. Each end speaks all
/// versions from the oldest to this one. Version 2 has epochs: leases without one do not count.
inline constexpr int kProtocolVersion = 2;
inline constexpr int kOldestProtocolVersion = 2;

/// A status' message travels as metadata, which gRPC limits to 8 KiB unless both ends say
/// otherwise: every server and channel sets GRPC_ARG_MAX_METADATA_SIZE to this, since the faults of
/// a sweep's file may be many.
inline constexpr int kMaxMetadataBytes = 1 << 20;

/// The largest message either end takes: a sweep's file, a table of a query. What may be larger
/// goes in chunks.
inline constexpr int kMaxMessageBytes = 64 << 20;

}  // namespace gyre
