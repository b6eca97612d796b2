#include "cli/sweep_file.h"

#include <cstdio>

#include "base/files.h"
#include "cli/byte_display.h"
#include "cli/exit_code.h"
#include "cli/pretrained.h"
#include "trainer/data/corpora.h"
#include "trainer/pretrained/tokenizer_of.h"

namespace gyre {
namespace {

constexpr size_t kMaxFileBytes = size_t{1}
                                 << 28;  // the parser's own limit is lower and says so better

Status SayFaults(const std::vector<Diagnostic>& diagnostics, const std::string& path) {
  for (const Diagnostic& diagnostic : diagnostics) {
    std::fprintf(stderr, "%s", FormatDiagnostic(diagnostic).c_str());
  }
  return InvalidArgument(path + " has " + std::to_string(diagnostics.size()) +
                         (diagnostics.size() == 1 ? " fault" : " faults") + "; nothing was queued");
}

Result<DatasetInfo> Prepare(const std::filesystem::path& home, const DatasetRequest& request) {
  auto found = FindDataset(home, request);
  if (found.ok() || found.status().code() != StatusCode::kNotFound) return found;
  ByteDisplay display;
  auto prepared = PrepareDataset(home, request, display.Sentences(), display.Options());
  if (prepared.status().code() != StatusCode::kNotFound) return prepared;
  return InvalidArgument(prepared.status().message());  // the sweep names what is not there
}

}  // namespace

SpecOptions SpecOptionsFor(const std::string& path, int64_t max_jobs) {
  SpecOptions options;
  options.file = path;
  std::error_code error;  // without a current folder the path stays as it is
  options.folder = std::filesystem::absolute(path, error).parent_path().lexically_normal().string();
  options.max_jobs = max_jobs;
  options.model_vocabulary = NamedVocabulary;
  options.initial_weights = LookAtWeights;
  options.read_file = [](const std::string& file) { return ReadFile(file, kMaxSweepFileBytes); };
  if (const auto corpora = ListNamedCorpora(GyreHome()); corpora.ok()) {
    for (const NamedCorpus& corpus : *corpora) options.corpora.push_back(corpus.name);
  }
  return options;
}

Result<SweepFile> LoadSweepFile(const std::string& path, int64_t max_jobs) {
  Result<std::string> yaml = ReadFile(path, kMaxFileBytes);
  if (!yaml.ok()) return InvalidArgument(yaml.status().message());
  const SpecOptions options = SpecOptionsFor(path, max_jobs);
  ParsedSweeps parsed = ParseSweeps(*yaml, options);
  if (!parsed.diagnostics.empty()) return SayFaults(parsed.diagnostics, path);
  return SweepFile{.yaml = *std::move(yaml),
                   .file = path,
                   .folder = options.folder,
                   .extended = std::move(parsed.extended),
                   .sweeps = std::move(parsed.sweeps)};
}

Result<std::map<std::string, DatasetInfo>> PrepareDatasets(const std::filesystem::path& home,
                                                           const std::vector<SweepSpec>& sweeps) {
  std::map<std::string, DatasetInfo> prepared;
  const auto prepare = [&](const DatasetRequest& request) -> Result<DatasetInfo> {
    const std::string key = request.Key();
    if (const auto known = prepared.find(key); known != prepared.end()) return known->second;
    GYRE_ASSIGN_OR_RETURN(DatasetInfo info, Prepare(home, request));
    return prepared[key] = std::move(info);
  };
  for (const SweepSpec& sweep : sweeps) {
    for (const Variant& variant : sweep.variants) {
      const DataConfig& data = variant.config.data;
      const JobDatasetRequests requests = RequestsOf(data);
      for (const WeightedRequest& text : requests.train) {
        GYRE_RETURN_IF_ERROR(prepare(text.request).status());
      }
      for (const auto& [name, request] : requests.validation) {
        GYRE_ASSIGN_OR_RETURN(const DatasetInfo info, prepare(request));
        if (info.tokens < data.context) {
          return InvalidArgument(
              "the validation set '" + name + "' has " + std::to_string(info.tokens) +
              " tokens, fewer than data.context (" + std::to_string(data.context) +
              "): take a longer text or a shorter context");
        }
      }
    }
  }
  return prepared;
}

}  // namespace gyre
