#include "cli/pretrained.h"

#include <set>
#include <utility>

#include "base/files.h"
#include "base/hash.h"
#include "cli/exit_code.h"
#include "trainer/data/sentencepiece.h"
#include "trainer/data/tokenizer_json.h"
#include "trainer/data/tokenizer_request.h"
#include "trainer/pretrained/tokenizer_of.h"
#include "trainer/pretrained/weights_object.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;

/// The model's own tokenizer where the text is read by another; empty if it brings none, or the
/// text came as ids.
std::string OtherTokenizer(const fs::path& model, const DatasetInfo& text) {
  std::error_code error;
  const bool file = fs::is_regular_file(model, error);
  if (file && model.extension() == kGgufEnding) {
    const auto own = TokenizerOf(model);
    if (own.ok()) return text.tokenizer == (*own)->identity() ? "" : model.string();
  }
  std::string theirs;
  for (const auto& [name, kind] : {std::pair("tokenizer.json", kTokenizerJsonIdentity),
                                   std::pair("tokenizer.model", kSentencePieceIdentity)}) {
    const fs::path place = (file ? model.parent_path() : model) / name;
    const auto content = ReadFile(place, kMaxTokenizerModelBytes);
    if (!content.ok()) continue;
    if (text.tokenizer == std::string(kind) + Sha256Hex(*content)) return "";
    theirs = place.string();
  }
  return theirs;
}

/// Weights know tokens by number only, so texts of another tokenizer train without a fault, and on
/// nonsense.
std::string TokenizerNote(const std::string& model, const DatasetInfo& text) {
  const std::string theirs = text.bytes == 0 ? "" : OtherTokenizer(model, text);
  if (theirs.empty()) return "";
  return "note: the weights in " + model + " have a tokenizer of their own, and " + text.name +
         " is read by another, so the same ids mean other text; `tokenizer: " + theirs +
         "` under data takes theirs";
}

}  // namespace

Result<std::optional<InitialWeights>> LookAtWeights(const std::string& init_from) {
  if (init_from.starts_with(kCheckpointPrefix)) return std::optional<InitialWeights>();
  GYRE_ASSIGN_OR_RETURN(const PretrainedFolder folder, PretrainedFolder::Open(init_from));
  if (const Status status = CheckTrainable(folder.config.extras); !status.ok()) {
    return status.WithContext(init_from);
  }
  if (const Status fits = CheckTensors(folder.weights, folder.config.model, folder.config.extras);
      !fits.ok()) {
    return fits.WithContext(folder.weights.path().string());
  }
  HuggingFaceConfig config = SaidOnce(folder.config);
  return std::optional<InitialWeights>(
      InitialWeights{"", std::move(config.model), std::move(config.position)});
}

Result<std::map<std::string, PreparedWeights>> PrepareWeights(
    const std::filesystem::path& home, const std::vector<SweepSpec>& sweeps,
    const std::map<std::string, DatasetInfo>& datasets) {
  std::map<std::string, PreparedWeights> prepared;
  std::set<std::string> said;
  for (const SweepSpec& sweep : sweeps) {
    for (const Variant& variant : sweep.variants) {
      const std::string& from = variant.config.train.init_from;
      if (from.empty() || from.starts_with(kCheckpointPrefix)) continue;
      const auto text = datasets.find(RequestsOf(variant.config.data).train.front().request.Key());
      const std::string note = text == datasets.end() ? "" : TokenizerNote(from, text->second);
      if (!note.empty() && said.insert(note).second) Say(note);
      if (prepared.contains(from)) continue;
      GYRE_ASSIGN_OR_RETURN(const PretrainedFolder folder, PretrainedFolder::Open(from));
      Say("reading the weights in " + from);
      GYRE_ASSIGN_OR_RETURN(const auto written, KeepWeights(home, folder));
      HuggingFaceConfig config = SaidOnce(folder.config);
      prepared[from] = {written.hash, written.bytes, std::move(config.model),
                        std::move(config.position)};
    }
  }
  return prepared;
}

}  // namespace gyre
