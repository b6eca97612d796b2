#include "worker/objects.h"

#include <algorithm>

#include "base/log.h"

namespace gyre {
namespace {

bool IsHash(const std::string& text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace

void DeleteObjects(const std::filesystem::path& home, const std::vector<std::string>& hashes) {
  for (const std::string& hash : hashes) {
    if (!IsHash(hash)) {
      LogError("the coordinator names an obsolete object whose name is no hash; it is left alone");
      continue;
    }
    std::error_code error;
    std::filesystem::remove(home / "objects" / hash, error);
    if (error) LogWarning("cannot delete the obsolete object " + hash + ": " + error.message());
  }
}

}  // namespace gyre
