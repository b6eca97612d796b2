#include "analysis/analyze.h"

#include <algorithm>
#include <utility>

#include "trainer/position/rotation_json.h"
#include "trainer/statistics/means.h"

namespace gyre {
namespace {

Status CheckHeads(const ModelConfig& model, const AnalysisOptions& options) {
  for (const auto& [layer, head] : options.heads) {
    if (layer >= 0 && layer < model.num_hidden_layers && head >= 0 &&
        head < model.num_attention_heads) {
      continue;
    }
    return InvalidArgument("there is no head " + std::to_string(layer) + ":" +
                           std::to_string(head) + "; the model has layers 0 to " +
                           std::to_string(model.num_hidden_layers - 1) + ", each with heads 0 to " +
                           std::to_string(model.num_attention_heads - 1));
  }
  return OkStatus();
}

// Of chosen heads alone, unless all are collected.
void KeepHeads(const ModelConfig& model, const AnalysisOptions& options, StatisticsRecord* record) {
  if (options.statistics.Collects(kTokenNorms)) return;
  const int group = model.num_attention_heads / model.num_key_value_heads;
  std::set<std::pair<int, int>> key_heads;
  for (const auto& [layer, head] : options.heads) key_heads.insert({layer, head / group});
  std::erase_if(record->token_norms, [&](const TokenNorms& item) {
    return !(item.tensor == "q" ? options.heads : key_heads).contains({item.layer, item.head});
  });
  std::erase_if(record->attention_maps, [&](const AttentionMap& item) {
    return !options.heads.contains({item.layer, item.head});
  });
}

}  // namespace

Result<ModelAnalysis> AnalyzeModel(const PretrainedFolder& folder,
                                   const std::vector<TokenWindow>& windows,
                                   const AnalysisOptions& options) {
  const ModelConfig& model = folder.config.model;
  // First of all: what a configuration says of sizes takes time and memory before weights do.
  if (Status fits = CheckTensors(folder.weights, model, folder.config.extras); !fits.ok()) {
    return fits.WithContext(folder.weights.path().string());
  }
  GYRE_RETURN_IF_ERROR(CheckHeads(model, options));
  size_t longest = 0;
  ModelAnalysis analysis;
  for (const TokenWindow& window : windows) {
    longest = std::max(longest, window.tokens.size());
    analysis.record.tokens += static_cast<int64_t>(window.tokens.size());
  }
  GYRE_ASSIGN_OR_RETURN(analysis.positions,
                        ResolvePositions(folder.config.position, model, static_cast<int>(longest)));
  std::vector<AttentionSums> sums;
  std::vector<AttentionTrace> traces(static_cast<size_t>(model.num_hidden_layers));
  const auto look = [&](int layer, const AttentionSums& of, const AttentionTrace& trace) {
    sums.push_back(of);
    for (HeadAlignment& head : AlignmentsOf(layer, trace, model)) {
      analysis.alignments.push_back(std::move(head));
    }
    bool wanted = false;
    for (const auto& [chosen, head] : options.heads) {
      if (chosen != layer) continue;
      wanted = true;
      analysis.parts.push_back(
          LogitPartsOf(layer, head, trace, model, analysis.positions[static_cast<size_t>(layer)]));
    }
    if (wanted || options.statistics.Collects(kTokenNorms)) {
      traces[static_cast<size_t>(layer)] = trace;
    }
  };
  GYRE_ASSIGN_OR_RETURN(analysis.losses, RunForward(folder, analysis.positions, windows,
                                                    {.threads = options.threads,
                                                     .traced_tokens = options.first_tokens,
                                                     .stop = options.stop,
                                                     .progress = options.progress},
                                                    look));
  AppendMeans(sums, model, options.statistics, &analysis.record);
  AppendFirstTokens(traces, analysis.positions, model, &analysis.record);
  KeepHeads(model, options, &analysis.record);
  return analysis;
}

std::string ConfigJson(const PretrainedFolder& folder, int context) {
  JobConfig job;
  const HuggingFaceConfig config = SaidOnce(folder.config);
  job.model = config.model;
  job.position = config.position;
  const Json all = ToJson(job);
  Json json = {{"model", all["model"]}, {"position", all["position"]}};
  json["data"] = {{"context", context}};
  json["family"] = config.family;
  const std::vector<std::string> extras = Describe(config.extras);
  if (!extras.empty()) json["extras"] = extras;
  return json.dump();
}

std::string RotationJson(const std::vector<LayerPosition>& positions) {
  Json layers = Json::array();
  for (const LayerPosition& position : positions) layers.push_back(ToJson(position));
  return layers.dump();
}

}  // namespace gyre
