#include "trainer/data/request_index.h"

#include "base/files.h"
#include "base/hash.h"

namespace gyre {
namespace {

std::filesystem::path IndexPath(const std::filesystem::path& folder, const std::string& key) {
  return folder / "requests" / (Sha256Hex(key) + ".json");
}

}  // namespace

Status WriteRequestIndex(const std::filesystem::path& folder, const std::string& key,
                         const std::string& stamp, const Json& info) {
  const std::filesystem::path path = IndexPath(folder, key);
  GYRE_RETURN_IF_ERROR(MakeFolders(path.parent_path()));
  const Json entry = {{"request", key}, {"sources", stamp}, {"info", info}};
  return WriteFileAtomically(path,
                             entry.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

std::optional<Json> ReadRequestIndex(const std::filesystem::path& folder, const std::string& key,
                                     const std::string& stamp) {
  const Result<std::string> text = ReadFile(IndexPath(folder, key), 1 << 24);
  if (!text.ok()) return std::nullopt;
  const Json entry = Json::parse(*text, nullptr, false);
  if (!entry.is_object() || !entry.contains("info") ||
      entry.value("request", Json()) != Json(key) ||
      entry.value("sources", Json()) != Json(stamp)) {
    return std::nullopt;
  }
  return entry["info"];
}

}  // namespace gyre
