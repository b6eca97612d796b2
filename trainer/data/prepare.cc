// From a request to a data set: FindDataset looks into the index, PrepareDataset reads the text. An
// index entry, GYRE_HOME/datasets/requests/HASH-OF-THE-REQUEST.json, says which data set a request
// gave and what its sources looked like then: {"request", "sources": a stamp, "info"}.

#include <optional>
#include <utility>

#include "base/hash.h"
#include "trainer/data/corpora.h"
#include "trainer/data/dataset.h"
#include "trainer/data/dataset_writer.h"
#include "trainer/data/holdout.h"
#include "trainer/data/source_files.h"
#include "trainer/data/tokenizer.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;

constexpr char kRecipes[] = "recipes 1";  // raise when a built-in corpus would be cut otherwise

// What a request's source stands for: corpora of our own, then files, each in the order of the
// list.
struct Sources {
  std::vector<const BuiltInCorpus*> corpora;
  std::vector<std::string> paths;
  std::vector<SourceFile> files;
  std::string name, license;
  std::string stamp;      // changes when the text may have
  std::string index_key;  // of the request, with absolute paths
};

std::string Text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Status AddSource(const fs::path& home, const Json& item, Sources* sources, Json* canonical) {
  if (!item.is_string())
    return InvalidArgument("a text is a string or a list of strings, not " + Text(item));
  const std::string text = item.get<std::string>();
  std::string license = "not stated (a user's own files)";
  if (text.starts_with("corpus:")) {
    const std::string name = text.substr(7);
    canonical->push_back(text);
    if (const BuiltInCorpus* corpus = FindBuiltInCorpus(name); corpus != nullptr) {
      sources->corpora.push_back(corpus);
      license = corpus->license;
    } else {
      GYRE_ASSIGN_OR_RETURN(const NamedCorpus named, FindNamedCorpus(home, name));
      sources->paths.insert(sources->paths.end(), named.paths.begin(), named.paths.end());
      license = named.license;
    }
  } else {
    sources->paths.push_back(text);
    canonical->push_back(text.empty() ? text : AbsolutePath(text));
  }
  if (sources->license.find(license) == std::string::npos) {
    sources->license += (sources->license.empty() ? "" : "; ") + license;
  }
  return OkStatus();
}

Result<Sources> Resolve(const fs::path& home, const DatasetRequest& request) {
  if (request.part != "train" && request.part != "validation" && request.part != "all") {
    return InvalidArgument("a data set's part is train, validation or all, not '" + request.part +
                           "'");
  }
  if (!(request.holdout >= 0 && request.holdout < 1)) {
    return InvalidArgument("data.holdout must be at least 0 and below 1, and is " +
                           std::to_string(request.holdout));
  }
  Sources sources;
  Json canonical = Json::array();
  for (const Json& item :
       request.source.is_array() ? request.source : Json::array({request.source})) {
    GYRE_RETURN_IF_ERROR(AddSource(home, item, &sources, &canonical));
  }
  if (canonical.empty()) return InvalidArgument("an empty list where a text is wanted");
  if (!sources.paths.empty()) {
    GYRE_ASSIGN_OR_RETURN(sources.files, ListSourceFiles(sources.paths));
    sources.stamp = SourceStamp(sources.files);
  }
  if (!sources.corpora.empty())
    sources.stamp += std::string(sources.stamp.empty() ? "" : ", ") + kRecipes;
  // Gyre's own corpora know their held-out part; the share changes nothing there.
  const double holdout = sources.files.empty() || request.part == "all" ? 0 : request.holdout;
  sources.index_key = DatasetRequest{canonical, request.part, request.tokenizer, holdout}.Key();
  sources.name =
      request.source.is_string() ? request.source.get<std::string>() : Text(request.source);
  if (sources.name.starts_with("corpus:")) sources.name.erase(0, 7);
  return sources;
}

fs::path IndexPath(const fs::path& home, const std::string& index_key) {
  return home / "datasets" / "requests" / (Sha256Hex(index_key) + ".json");
}

Status WriteIndex(const fs::path& home, const std::string& index_key, const std::string& stamp,
                  const DatasetInfo& info) {
  const fs::path path = IndexPath(home, index_key);
  GYRE_RETURN_IF_ERROR(MakeFolders(path.parent_path()));
  const Json entry = {{"request", index_key}, {"sources", stamp}, {"info", ToJson(info)}};
  return WriteFileAtomically(path,
                             entry.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

// Nothing if there is no entry, or it is damaged or out of date: then the data set is simply made
// again.
std::optional<DatasetInfo> ReadIndex(const fs::path& home, const std::string& index_key,
                                     const std::string& stamp) {
  const Result<std::string> text = ReadFile(IndexPath(home, index_key), 1 << 24);
  if (!text.ok()) return std::nullopt;
  const Json entry = Json::parse(*text, nullptr, false);
  if (!entry.is_object() || !entry.contains("info") ||
      entry.value("request", Json()) != Json(index_key) ||
      entry.value("sources", Json()) != Json(stamp)) {
    return std::nullopt;
  }
  Result<DatasetInfo> info = DatasetInfoFromJson(entry["info"]);
  if (!info.ok() || !Dataset::Open(home, info->hash).ok()) return std::nullopt;
  return *std::move(info);
}

// Where documents go. Of "train" and "validation" both are made together, since both need the text
// read.
class Parts {
 public:
  static Result<Parts> Create(const fs::path& home, const Tokenizer* tokenizer, bool split) {
    GYRE_ASSIGN_OR_RETURN(DatasetWriter train, DatasetWriter::Create(home, tokenizer));
    Parts parts(std::move(train));
    if (split) {
      GYRE_ASSIGN_OR_RETURN(DatasetWriter validation, DatasetWriter::Create(home, tokenizer));
      parts.validation_.emplace(std::move(validation));
    }
    return parts;
  }
  bool split() const { return validation_.has_value(); }
  Status Add(std::string_view document, bool held_out) {
    return (held_out && split() ? *validation_ : train_).AddDocument(document);
  }
  DatasetWriter& writer(const std::string& part) {
    return part == "validation" ? *validation_ : train_;
  }

 private:
  explicit Parts(DatasetWriter train) : train_(std::move(train)) {}
  DatasetWriter train_;
  std::optional<DatasetWriter> validation_;
};

// The files that have text, read a first time: which documents are held out depends on all of them.
struct Documents {
  std::vector<SourceFile> files;
  std::vector<std::string> hashes;
};

Result<Documents> ReadOnce(const std::vector<SourceFile>& files, const ProgressFn& progress) {
  Documents documents;
  const SourceFile* first_empty = nullptr;
  for (const SourceFile& file : files) {
    GYRE_ASSIGN_OR_RETURN(const std::string text, ReadSourceText(file));
    if (!text.empty()) {
      documents.files.push_back(file);
      documents.hashes.push_back(Sha256Hex(text));
      continue;
    }
    if (file.named)
      return InvalidArgument(file.path.string() + " is empty; there is nothing to train on");
    if (first_empty == nullptr) first_empty = &file;
  }
  if (documents.files.empty()) {
    return InvalidArgument("all " + std::to_string(files.size()) +
                           " files are empty, the first is " + files[0].path.string());
  }
  if (first_empty != nullptr && progress) {
    progress(std::to_string(files.size() - documents.files.size()) +
             " empty files left out, the first is " + first_empty->path.string());
  }
  return documents;
}

Status AddFiles(const std::vector<SourceFile>& files, double holdout, const ProgressFn& progress,
                Parts* parts) {
  if (progress) {
    progress("reading " + (files.size() == 1 ? files[0].path.string()
                                             : std::to_string(files.size()) + " files"));
  }
  GYRE_ASSIGN_OR_RETURN(const Documents documents, ReadOnce(files, progress));
  const std::vector<bool> held_out = HeldOut(documents.hashes, holdout);
  for (size_t i = 0; i < documents.files.size(); ++i) {
    GYRE_ASSIGN_OR_RETURN(const std::string text, ReadSourceText(documents.files[i]));
    if (documents.files.size() > 1 || !parts->split() || holdout == 0) {
      GYRE_RETURN_IF_ERROR(parts->Add(text, held_out[i]));
      continue;
    }
    const size_t cut = HeldOutTail(text);
    if (cut > 0) GYRE_RETURN_IF_ERROR(parts->Add(std::string_view(text).substr(0, cut), false));
    if (cut < text.size())
      GYRE_RETURN_IF_ERROR(parts->Add(std::string_view(text).substr(cut), true));
  }
  return OkStatus();
}

Status AddCorpora(const std::vector<const BuiltInCorpus*>& corpora, const fs::path& home,
                  const fs::path& package, const ProgressFn& progress, Parts* parts) {
  for (const BuiltInCorpus* corpus : corpora) {
    GYRE_ASSIGN_OR_RETURN(const CorpusText text,
                          ReadBuiltInCorpus(*corpus, home, package, progress));
    for (const std::string& document : text.train)
      GYRE_RETURN_IF_ERROR(parts->Add(document, false));
    for (const std::string& document : text.validation)
      GYRE_RETURN_IF_ERROR(parts->Add(document, true));
  }
  return OkStatus();
}

}  // namespace

Result<DatasetInfo> FindDataset(const fs::path& home, const DatasetRequest& request) {
  if (const auto tokenizer = Tokenizer::Create(request.tokenizer); !tokenizer.ok())
    return tokenizer.status();
  GYRE_ASSIGN_OR_RETURN(const Sources sources, Resolve(home, request));
  if (auto info = ReadIndex(home, sources.index_key, sources.stamp); info.has_value())
    return *std::move(info);
  return NotFound("the text " + Text(request.source) +
                  " is not prepared, or has changed since; "
                  "`gyre data prepare` prepares it");
}

Result<DatasetInfo> PrepareDataset(const fs::path& home, const DatasetRequest& request,
                                   const ProgressFn& progress, const fs::path& package) {
  GYRE_ASSIGN_OR_RETURN(const auto tokenizer, Tokenizer::Create(request.tokenizer));
  GYRE_ASSIGN_OR_RETURN(const Sources sources, Resolve(home, request));
  if (auto info = ReadIndex(home, sources.index_key, sources.stamp); info.has_value())
    return *std::move(info);
  if (!package.empty() && sources.corpora.size() != 1) {
    return InvalidArgument("a package file was given, but " + Text(request.source) +
                           " is not one corpus that comes from a package");
  }
  GYRE_ASSIGN_OR_RETURN(Parts parts, Parts::Create(home, tokenizer.get(), request.part != "all"));
  GYRE_RETURN_IF_ERROR(AddCorpora(sources.corpora, home, package, progress, &parts));
  if (!sources.files.empty()) {
    GYRE_RETURN_IF_ERROR(AddFiles(sources.files, request.holdout, progress, &parts));
  }
  if (parts.writer(request.part).documents() == 0) {
    return InvalidArgument("the " + request.part + " part of " + Text(request.source) +
                           " has no document: there is too little text, or data.holdout is 0");
  }
  std::optional<DatasetInfo> wanted;
  for (const std::string part : {"train", "validation", "all"}) {
    if ((part == "all") != (request.part == "all") || parts.writer(part).documents() == 0) continue;
    DatasetInfo described;
    described.name = sources.name + (part == "validation" ? "/validation" : "");
    described.license = sources.license;
    described.source =
        request.source.is_string() ? request.source.get<std::string>() : Text(request.source);
    GYRE_ASSIGN_OR_RETURN(const DatasetInfo info, parts.writer(part).Finish(std::move(described)));
    Json key = Json::parse(sources.index_key);
    key["part"] = part;
    GYRE_RETURN_IF_ERROR(WriteIndex(home, key.dump(), sources.stamp, info));
    if (part == request.part) wanted = info;
  }
  if (progress) {
    progress("prepared " + wanted->name + ": " + std::to_string(wanted->documents) +
             " documents, " + std::to_string(wanted->tokens) + " tokens");
  }
  return *std::move(wanted);
}

}  // namespace gyre
