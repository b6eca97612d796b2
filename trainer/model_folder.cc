#include "trainer/model_folder.h"

#include <string>
#include <vector>

#include "trainer/model/parameters.h"
#include "trainer/position/rotation.h"

namespace gyre {
namespace {

std::string ShapeText(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (const int64_t size : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

// Old files carry buffers that follow from the configuration.
bool IsDerived(const std::string& name) {
  return name.ends_with("rotary_emb.inv_freq") || name.ends_with("self_attn.masked_bias");
}

// A tied model's file may repeat the embedding as its head; anything else there would be lost.
Status CheckTiedHead(const SafetensorsFile& file, const TensorEntry& head) {
  const TensorEntry* embedding = file.Find("model.embed_tokens.weight");
  if (embedding != nullptr && embedding->shape == head.shape) {
    std::vector<float> a(static_cast<size_t>(ValueCount(head.shape))), b(a.size());
    GYRE_RETURN_IF_ERROR(file.Read(head, a));
    GYRE_RETURN_IF_ERROR(file.Read(*embedding, b));
    if (a == b) return OkStatus();
  }
  return InvalidArgument(
      "tie_word_embeddings is true, and lm_head.weight differs from model.embed_tokens.weight");
}

// The file has exactly the configuration's tensors. Looked at before any memory is taken for them.
Status CheckTensors(const SafetensorsFile& file, const ModelConfig& config) {
  GYRE_ASSIGN_OR_RETURN(const ParameterLayout layout, ParameterLayout::Create(config));
  for (const Parameter& parameter : layout.parameters) {
    const TensorEntry* entry = file.Find(parameter.name);
    if (entry == nullptr) return InvalidArgument("has no tensor " + parameter.name);
    if (entry->shape != parameter.shape) {
      return InvalidArgument("tensor " + parameter.name + " has the shape " +
                             ShapeText(entry->shape) + "; config.json says " +
                             ShapeText(parameter.shape));
    }
  }
  for (const TensorEntry& entry : file.tensors()) {
    if (layout.Find(entry.name) != nullptr || IsDerived(entry.name)) continue;
    if (config.tie_word_embeddings && entry.name == "lm_head.weight") {
      GYRE_RETURN_IF_ERROR(CheckTiedHead(file, entry));
      continue;
    }
    return InvalidArgument("tensor " + entry.name + " is none that this model has");
  }
  return OkStatus();
}

Status LoadWeights(const SafetensorsFile& file, Model* model) {
  std::vector<float> values;
  for (const Tensor& tensor : model->parameters()) {
    values.resize(static_cast<size_t>(ValueCount(tensor.shape)));
    GYRE_RETURN_IF_ERROR(file.Read(*file.Find(tensor.name), values));
    GYRE_RETURN_IF_ERROR(model->Load(TensorKind::kWeight, tensor.name, values));
  }
  return OkStatus();
}

}  // namespace

Result<ModelFolder> ModelFolder::Open(const std::filesystem::path& folder) {
  GYRE_ASSIGN_OR_RETURN(HuggingFaceConfig config, ReadHuggingFaceConfig(folder / "config.json"));
  GYRE_ASSIGN_OR_RETURN(SafetensorsFile weights,
                        SafetensorsFile::Open(folder / "model.safetensors"));
  if (!config.says_qk_norm) {
    config.model.qk_norm = weights.Find("model.layers.0.self_attn.q_norm.weight") != nullptr;
  }
  return ModelFolder{folder, std::move(config), std::move(weights)};
}

Result<std::unique_ptr<Model>> ModelFolder::CreateModel(Backend* backend, int rows, int length,
                                                        bool training) const {
  const auto in_weights = [this](const Status& status) {
    return status.WithContext((path / "model.safetensors").string());
  };
  const auto create = [&]() -> Result<std::unique_ptr<Model>> {
    GYRE_ASSIGN_OR_RETURN(auto positions, ResolvePositions(config.position, config.model, length));
    return Model::Create(config.model, std::move(positions), backend, rows, length, training);
  };
  if (const Status status = CheckTensors(weights, config.model); !status.ok()) {
    return in_weights(status);
  }
  auto model = create();
  if (!model.ok()) return model.status().WithContext((path / "config.json").string());
  if (const Status status = LoadWeights(weights, model->get()); !status.ok()) {
    return in_weights(status);
  }
  return model;
}

}  // namespace gyre
