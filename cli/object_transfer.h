#pragma once

// Data sets and objects between this machine and a coordinator, with a progress bar on a terminal
// and a plain line elsewhere. What is broken off, by Ctrl-C or a connection, goes on from there the
// next time.

#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "base/status.h"
#include "objects/object_ref.h"

namespace gyre {

struct NamedObject {
  ObjectRef ref;
  std::string name;  // for people
};

/// Sends from `home` what the coordinator lacks of these. Errors: SendObject's.
Status UploadMissing(const std::string& coordinator, const std::filesystem::path& home,
                     const std::vector<NamedObject>& objects, std::stop_token stop);

/// Fetches an object into `home`, unless it is there and whole. Errors: FetchObject's.
Status DownloadObject(const std::string& coordinator, const std::filesystem::path& home,
                      const NamedObject& object, std::stop_token stop);

/// "1.2 GB", "17 B".
std::string BytesInWords(int64_t bytes);

/// "sending austen  [#####.....]  52%  0.6 of 1.2 GB", at most `width` columns (0 = no limit).
std::string TransferLine(const std::string& what, int64_t done, int64_t total, int width);

}  // namespace gyre
