#pragma once

// What was made for a request: FOLDER/requests/SHA-256-OF-THE-KEY.json with {"request", "sources":
// a stamp of what it was made from, "info"}. Losing it costs time and nothing else.

#include <filesystem>
#include <optional>
#include <string>

#include "base/status.h"
#include "trainer/config/job_config.h"

namespace gyre {

Status WriteRequestIndex(const std::filesystem::path& folder, const std::string& key,
                         const std::string& stamp, const Json& info);

/// Nothing if there is no entry, or it is damaged or out of date: then the thing is made again.
std::optional<Json> ReadRequestIndex(const std::filesystem::path& folder, const std::string& key,
                                     const std::string& stamp);

}  // namespace gyre
