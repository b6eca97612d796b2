#include "analysis/model_hash.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <system_error>
#include <vector>

#include "base/hash.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;

constexpr size_t kPiece = size_t{1} << 20;

bool IsPart(const fs::path& file) {
  const std::string name = file.filename().string();
  return name == "config.json" || name.ends_with(".safetensors") ||
         name == "model.safetensors.index.json";
}

Result<std::vector<fs::path>> PartsOf(const fs::path& model) {
  std::error_code error;
  if (!fs::is_directory(model, error)) return std::vector<fs::path>{model};
  std::vector<fs::path> parts;
  for (auto entry = fs::directory_iterator(model, error);
       !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (IsPart(entry->path())) parts.push_back(entry->path());
  }
  if (error) return ErrnoStatus(error.value(), "cannot list " + model.string());
  std::sort(parts.begin(), parts.end());
  return parts;
}

}  // namespace

Result<std::string> HashOfModel(
    const fs::path& model, const std::function<void(uint64_t done, uint64_t total)>& on_bytes) {
  GYRE_ASSIGN_OR_RETURN(const std::vector<fs::path> parts, PartsOf(model));
  std::error_code error;
  uint64_t total = 0, done = 0;
  for (const fs::path& part : parts) {
    const uintmax_t bytes = fs::file_size(part, error);
    if (error) return ErrnoStatus(error.value(), "cannot read " + part.string());
    total += bytes;
  }
  Sha256 hash;
  std::vector<char> piece(kPiece);
  for (const fs::path& part : parts) {
    hash.Update(parts.size() > 1 ? part.filename().string() + "\n" : std::string());
    std::ifstream file(part, std::ios::binary);
    if (!file) return ErrnoStatus(errno, "cannot read " + part.string());
    while (file) {
      file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
      hash.Update(piece.data(), static_cast<size_t>(file.gcount()));
      done += static_cast<uint64_t>(file.gcount());
      if (on_bytes) on_bytes(done, total);
    }
    if (file.bad()) return ErrnoStatus(errno, "cannot read " + part.string());
  }
  return hash.Finish();
}

}  // namespace gyre
