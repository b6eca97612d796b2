#pragma once

// Files out of Debian packages without installing them: `apt-get download` and `dpkg-deb -x`, as
// child processes without a shell, into a folder of ours. No root needed, and nothing of the system
// changes.

#include <filesystem>
#include <string>

#include "base/status.h"

namespace gyre {

/// The path of the downloaded .deb in `folder`. UNAVAILABLE: apt-get failed (with its own last
/// words), or there is no apt-get.
Result<std::filesystem::path> FetchPackage(const std::string& name,
                                           const std::filesystem::path& folder);

/// INVALID_ARGUMENT: `package` is not a Debian package; UNAVAILABLE: there is no dpkg-deb.
Status UnpackPackage(const std::filesystem::path& package, const std::filesystem::path& folder);

}  // namespace gyre
