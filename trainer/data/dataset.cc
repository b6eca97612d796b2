#include "trainer/data/dataset.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <tuple>

#include "base/hash.h"
#include "trainer/data/dataset_writer.h"
#include "trainer/data/sentencepiece.h"
#include "trainer/data/tokenizer_json.h"

namespace gyre {
namespace {

static_assert(std::endian::native == std::endian::little, "data sets are mapped as they lie");

bool IsHash(const std::string& hash) {
  return hash.size() == 64 && hash.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace

Result<Dataset> Dataset::Open(const std::filesystem::path& home, const std::string& hash) {
  if (!IsHash(hash))
    return InvalidArgument("'" + hash + "' is not the hash of a data set (64 hex digits)");
  const std::filesystem::path folder = home / "datasets" / hash;
  const auto damaged = [&folder](const std::string& what) {
    return DataLoss("the data set " + folder.string() + " is damaged (" + what +
                    "); remove the folder and prepare it again with `gyre data prepare`");
  };
  const Result<std::string> meta = ReadFile(folder / "meta.json", 1 << 24);
  if (!meta.ok()) {
    if (meta.status().code() != StatusCode::kNotFound) return meta.status();
    return NotFound("no data set " + hash + " in " + (home / "datasets").string() +
                    "; `gyre data prepare SOURCE` makes one");
  }
  const Result<DatasetInfo> info = DatasetInfoFromJson(Json::parse(*meta, nullptr, false));
  if (!info.ok()) return damaged(info.status().message());
  Dataset out;
  out.folder_ = folder;
  out.info_ = *info;
  if (out.info_.hash != hash) return damaged("its description names another hash");
  GYRE_ASSIGN_OR_RETURN(out.tokens_file_, MappedFile::Open(folder / "tokens.bin"));
  GYRE_ASSIGN_OR_RETURN(out.documents_file_, MappedFile::Open(folder / "documents.bin"));
  if (out.tokens_file_.bytes().size() !=
      static_cast<size_t>(out.info_.tokens) * TokenBytes(out.info_.vocab_size)) {
    return damaged("tokens.bin has the wrong size");
  }
  if (out.documents_file_.bytes().size() !=
      static_cast<size_t>(out.info_.documents) * sizeof(uint64_t)) {
    return damaged("documents.bin has the wrong size");
  }
  const std::span<const uint64_t> starts = out.document_starts();
  if (starts.empty() || starts.front() != 0 ||
      starts.back() >= static_cast<uint64_t>(out.info_.tokens)) {
    return damaged("its documents lie outside its tokens");
  }
  for (size_t i = 1; i < starts.size(); ++i) {
    if (starts[i] <= starts[i - 1]) return damaged("its documents are not in order");
  }
  return out;
}

Result<std::vector<DatasetInfo>> ListDatasets(const std::filesystem::path& home) {
  std::vector<DatasetInfo> infos;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(home / "datasets", error), end;
       !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!IsHash(name)) continue;
    if (auto dataset = Dataset::Open(home, name); dataset.ok()) infos.push_back(dataset->info());
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return ErrnoStatus(error.value(), "cannot list " + (home / "datasets").string());
  }
  std::sort(infos.begin(), infos.end(), [](const DatasetInfo& a, const DatasetInfo& b) {
    return std::tie(a.name, a.hash) < std::tie(b.name, b.hash);
  });
  return infos;
}

Status Dataset::Read(int64_t first, std::span<int32_t> ids) const {
  const size_t token_bytes = TokenBytes(info_.vocab_size);
  const char* from = tokens_file_.bytes().data() + static_cast<size_t>(first) * token_bytes;
  for (int32_t& id : ids) {
    if (token_bytes == 2) {
      uint16_t narrow = 0;
      std::memcpy(&narrow, from, sizeof narrow);
      id = narrow;
    } else {
      std::memcpy(&id, from, sizeof id);
    }
    from += token_bytes;
    if (id < 0 || id >= info_.vocab_size) {
      return DataLoss("the data set " + info_.hash + " is damaged: it has the token " +
                      std::to_string(id) +
                      ", outside its vocabulary; remove its folder and prepare it again");
    }
  }
  return OkStatus();
}

std::span<const uint64_t> Dataset::document_starts() const {
  return {reinterpret_cast<const uint64_t*>(documents_file_.bytes().data()),
          documents_file_.bytes().size() / sizeof(uint64_t)};
}

Status Dataset::Verify(std::stop_token stop) const {
  constexpr size_t kPieceBytes = size_t{16} << 20;
  Sha256 hash;
  hash.Update(DatasetHashPrefix(info_.tokenizer, info_.vocab_size));
  for (std::string_view bytes : {tokens_file_.bytes(), documents_file_.bytes()}) {
    for (; !bytes.empty(); bytes.remove_prefix(std::min(kPieceBytes, bytes.size()))) {
      if (stop.stop_requested()) return Cancelled("broken off while reading " + folder_.string());
      hash.Update(bytes.substr(0, kPieceBytes));
    }
  }
  // The model by its hash, which the identity has: a machine that only trains need not open it.
  const std::string_view identity = info_.tokenizer;
  bool same = hash.Finish() == info_.hash;
  for (const std::string_view kind : {kSentencePieceIdentity, kTokenizerJsonIdentity}) {
    if (!identity.starts_with(kind)) continue;
    const auto model = ReadFile(folder_ / "tokenizer.model", kMaxTokenizerModelBytes);
    same &= model.ok() && Sha256Hex(*model) == identity.substr(kind.size());
  }
  if (same) return OkStatus();
  return DataLoss("the data set " + info_.hash +
                  " does not have the content that its name says; remove the "
                  "folder and prepare it again with `gyre data prepare`");
}

Result<std::unique_ptr<Tokenizer>> Dataset::OpenTokenizer() const {
  const Result<std::string> model = ReadFile(folder_ / "tokenizer.model", kMaxTokenizerModelBytes);
  if (!model.ok() && model.status().code() != StatusCode::kNotFound) return model.status();
  auto tokenizer = TokenizerWithIdentity(info_.tokenizer, model.ok() ? *model : "");
  if (!tokenizer.ok()) return tokenizer.status().WithContext("the data set " + folder_.string());
  return tokenizer;
}

}  // namespace gyre
