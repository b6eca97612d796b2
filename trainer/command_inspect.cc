#include <cstdio>
#include <numeric>

#include "trainer/arguments.h"
#include "trainer/commands.h"
#include "trainer/model/parameters.h"
#include "trainer/model_folder.h"
#include "trainer/position/rotation.h"

namespace gyre {
namespace {

std::string Number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

void PrintLayer(size_t index, const LayerPosition& layer, std::ostream& out) {
  out << "layer " << index << ": attention factor " << Number(layer.rotation.attention_factor)
      << ", window " << (layer.window == 0 ? "none" : std::to_string(layer.window)) << "\n";
  out << "  frequencies";
  for (const double frequency : layer.rotation.frequencies) out << " " << Number(frequency);
  out << "\n";
  if (layer.alibi_slopes.empty()) return;
  out << "  ALiBi slopes";
  for (const double slope : layer.alibi_slopes) out << " " << Number(slope);
  out << "\n";
}

Status Inspect(const std::string& path, int length, std::ostream& out) {
  GYRE_ASSIGN_OR_RETURN(const PretrainedFolder folder, PretrainedFolder::Open(path));
  const ModelConfig& model = folder.config.model;
  GYRE_ASSIGN_OR_RETURN(const ParameterLayout layout, ParameterLayout::Create(model));
  GYRE_ASSIGN_OR_RETURN(const auto layers, ResolvePositions(folder.config.position, model, length));
  const ModelExtras& extras = folder.config.extras;
  const std::vector<Parameter> more = ExtraParameters(model, extras);
  const int64_t total = std::accumulate(
      more.begin(), more.end(), layout.total,
      [](int64_t sum, const Parameter& parameter) { return sum + parameter.count; });
  out << folder.config.family << ": " << model.num_hidden_layers << " layers, hidden "
      << model.hidden_size << ", intermediate " << model.intermediate_size << ", "
      << model.num_attention_heads << " heads on " << model.num_key_value_heads << ", head_dim "
      << model.head_dim << ", vocabulary " << model.vocab_size << ", eps "
      << Number(model.rms_norm_eps) << (model.tie_word_embeddings ? ", tied head" : "")
      << (model.gated() ? "" : ", MLP without a gate") << (model.qk_norm ? ", qk_norm" : "")
      << "\n";
  for (const std::string& what : Describe(extras)) out << "  with " << what << "\n";
  out << total << " parameters, " << layout.matrices << " of them in matrices\n\n";
  for (const TensorEntry& tensor : folder.weights.tensors()) {
    out << tensor.dtype << " " << ShapeText(tensor.shape) << " " << tensor.name << "\n";
  }
  out << "\n";
  for (size_t l = 0; l < layers.size(); ++l) PrintLayer(l, layers[l], out);
  return OkStatus();
}

}  // namespace

int InspectCommand(const std::vector<std::string>& words, std::ostream& out, std::ostream& err) {
  const auto arguments = Arguments::Parse(words, {"--context"});
  if (!arguments.ok()) return ReportFailure(arguments.status(), err);
  if (arguments->words.size() != 1) {
    return ReportFailure(InvalidArgument("inspect needs one model"), err);
  }
  const auto length = arguments->Number("--context", 1, 1);
  if (!length.ok()) return ReportFailure(length.status(), err);
  const Status status = Inspect(arguments->words[0], *length, out);
  return status.ok() ? 0 : ReportFailure(status, err);
}

}  // namespace gyre
