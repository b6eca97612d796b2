// From a request to a data set: FindDataset looks into the index, PrepareDataset reads the text.

#include <optional>
#include <utility>

#include "trainer/data/dataset.h"
#include "trainer/data/dataset_writer.h"
#include "trainer/data/request_index.h"
#include "trainer/data/requested_text.h"
#include "trainer/data/text_reader.h"
#include "trainer/data/tokenizer_store.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;

// A request with all that follows from it without reading text.
struct Resolved {
  TokenizerRequest tokenizer;
  RequestedText text;
  std::string stamp;
  double holdout = 0;
  std::string index_key;  // of the request, with absolute paths
};

Result<Resolved> Resolve(const fs::path& home, const DatasetRequest& request) {
  if (request.part != "train" && request.part != "validation" && request.part != "all") {
    return InvalidArgument("a data set's part is train, validation or all, not '" + request.part +
                           "'");
  }
  if (!(request.holdout >= 0 && request.holdout < 1)) {
    return InvalidArgument("data.holdout must be at least 0 and below 1, and is " +
                           std::to_string(request.holdout));
  }
  Resolved resolved;
  GYRE_ASSIGN_OR_RETURN(resolved.tokenizer, TokenizerRequestFromJson(request.tokenizer));
  if (resolved.tokenizer.kind == TokenizerKind::kTrained && resolved.tokenizer.on.is_null()) {
    resolved.tokenizer.on = Json::array({{{"source", request.source}, {"part", request.part}}});
    resolved.tokenizer.holdout = request.holdout;
  }
  GYRE_ASSIGN_OR_RETURN(resolved.text, ResolveText(home, request.source, resolved.tokenizer));
  GYRE_ASSIGN_OR_RETURN(const std::string stamp, TokenizerStamp(home, resolved.tokenizer));
  resolved.stamp = resolved.text.stamp + (stamp.empty() ? "" : ", " + stamp);
  resolved.holdout = resolved.text.HoldoutFor(request.part, request.holdout);
  const Json tokenizer = TokenizerWithPaths(
      request.tokenizer, [](const std::string& path) { return AbsolutePath(path); });
  resolved.index_key =
      DatasetRequest{resolved.text.canonical, request.part, tokenizer, resolved.holdout}.Key();
  return resolved;
}

std::optional<DatasetInfo> FindPrepared(const fs::path& home, const Resolved& resolved) {
  const auto entry = ReadRequestIndex(home / "datasets", resolved.index_key, resolved.stamp);
  if (!entry) return std::nullopt;
  Result<DatasetInfo> info = DatasetInfoFromJson(*entry);
  if (!info.ok() || !Dataset::Open(home, info->hash).ok()) return std::nullopt;
  return *std::move(info);
}

// Where documents go. Of "train" and "validation" both are made together, since both need the text
// read.
class Parts : public PartSink {
 public:
  static Result<Parts> Create(const fs::path& home, Tokenizer* tokenizer, bool split) {
    GYRE_ASSIGN_OR_RETURN(DatasetWriter train, DatasetWriter::Create(home, tokenizer));
    Parts parts(std::move(train));
    if (split) {
      GYRE_ASSIGN_OR_RETURN(DatasetWriter validation, DatasetWriter::Create(home, tokenizer));
      parts.validation_.emplace(std::move(validation));
    }
    return parts;
  }
  Status Add(bool held_out, std::string_view piece) override {
    return WriterOf(held_out).Add(piece);
  }
  Status End(bool held_out) override { return WriterOf(held_out).EndDocument(); }
  DatasetWriter& writer(const std::string& part) { return WriterOf(part == "validation"); }

 private:
  explicit Parts(DatasetWriter train) : train_(std::move(train)) {}
  DatasetWriter& WriterOf(bool held_out) { return held_out && validation_ ? *validation_ : train_; }

  DatasetWriter train_;
  std::optional<DatasetWriter> validation_;
};

// Puts what was written in place and into the index; the data set of the part that was asked for.
Result<DatasetInfo> Finish(const fs::path& home, const DatasetRequest& request,
                           const Resolved& resolved, Parts* parts) {
  std::optional<DatasetInfo> wanted;
  for (const std::string part : {"train", "validation", "all"}) {
    DatasetWriter& writer = parts->writer(part);
    if ((part == "all") != (request.part == "all") || writer.documents() == 0) continue;
    DatasetInfo described;
    described.name = resolved.text.name + (part == "validation" ? "/validation" : "");
    described.license = resolved.text.license;
    described.source =
        request.source.is_string() ? request.source.get<std::string>() : JsonText(request.source);
    GYRE_ASSIGN_OR_RETURN(const DatasetInfo info, writer.Finish(std::move(described)));
    Json key = Json::parse(resolved.index_key);
    key["part"] = part;
    GYRE_RETURN_IF_ERROR(
        WriteRequestIndex(home / "datasets", key.dump(), resolved.stamp, ToJson(info)));
    if (part == request.part) wanted = info;
  }
  return *std::move(wanted);
}

}  // namespace

Result<DatasetInfo> FindDataset(const fs::path& home, const DatasetRequest& request) {
  GYRE_ASSIGN_OR_RETURN(const Resolved resolved, Resolve(home, request));
  if (auto info = FindPrepared(home, resolved); info.has_value()) return *std::move(info);
  return NotFound("the text " + JsonText(request.source) +
                  " is not prepared, or has changed since; `gyre data prepare` prepares it");
}

Result<DatasetInfo> PrepareDataset(const fs::path& home, const DatasetRequest& request,
                                   const ProgressFn& progress, const PrepareOptions& options) {
  GYRE_ASSIGN_OR_RETURN(const Resolved resolved, Resolve(home, request));
  if (auto info = FindPrepared(home, resolved); info.has_value()) return *std::move(info);
  if (!options.package.empty() && resolved.text.corpora.size() != 1) {
    return InvalidArgument("a package file was given, but " + JsonText(request.source) +
                           " is not one corpus that comes from a package");
  }
  Preparation preparation{home, progress, options};
  GYRE_ASSIGN_OR_RETURN(const auto tokenizer, PrepareTokenizer(resolved.tokenizer, &preparation));
  GYRE_ASSIGN_OR_RETURN(TextReader reader,
                        TextReader::Create(&resolved.text, resolved.holdout, &preparation));
  GYRE_ASSIGN_OR_RETURN(Parts parts, Parts::Create(home, tokenizer.get(), request.part != "all"));
  GYRE_RETURN_IF_ERROR(reader.Read("tokenizing", &parts));
  if (parts.writer(request.part).documents() == 0) {
    return InvalidArgument("the " + request.part + " part of " + JsonText(request.source) +
                           " has no document: there is too little text, or data.holdout is 0");
  }
  GYRE_ASSIGN_OR_RETURN(const DatasetInfo info, Finish(home, request, resolved, &parts));
  if (progress) {
    progress("prepared " + info.name + ": " + std::to_string(info.documents) + " documents, " +
             std::to_string(info.tokens) + " tokens");
  }
  return info;
}

}  // namespace gyre
