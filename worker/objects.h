#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace gyre {

/// Deletes home/objects/HASH for each hash. What is not 64 lower-case hexadecimal digits is refused
/// with a line in the log: nothing outside that folder can be named. What is not there is gone
/// already.
void DeleteObjects(const std::filesystem::path& home, const std::vector<std::string>& hashes);

}  // namespace gyre
