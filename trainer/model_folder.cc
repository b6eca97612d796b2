#include "trainer/model_folder.h"

#include <utility>
#include <vector>

#include "trainer/position/rotation.h"

namespace gyre {
namespace {

Status LoadWeights(const TensorFiles& files, Model* model) {
  std::vector<float> values;
  for (const Tensor& tensor : model->parameters()) {
    values.resize(static_cast<size_t>(ValueCount(tensor.shape)));
    GYRE_RETURN_IF_ERROR(files.Read(tensor.name, values));
    GYRE_RETURN_IF_ERROR(CheckFinite(*files.Find(tensor.name), 0, values));
    GYRE_RETURN_IF_ERROR(model->Load(TensorKind::kWeight, tensor.name, values));
  }
  return OkStatus();
}

}  // namespace

Result<std::unique_ptr<Model>> ModelOf(const PretrainedFolder& folder, Backend* backend, int rows,
                                       int length, bool training) {
  const HuggingFaceConfig& config = folder.config;
  const auto create = [&]() -> Result<std::unique_ptr<Model>> {
    GYRE_ASSIGN_OR_RETURN(auto positions, ResolvePositions(config.position, config.model, length));
    return Model::Create(config.model, std::move(positions), backend, rows, length, training);
  };
  const auto in_weights = [&folder](const Status& status) {
    return status.WithContext(folder.weights.path().string());
  };
  if (const Status status = CheckTrainable(config.extras); !status.ok()) {
    return status.WithContext(folder.path.string());
  }
  if (const Status status = CheckTensors(folder.weights, config.model, config.extras);
      !status.ok()) {
    return in_weights(status);
  }
  auto model = create();
  if (!model.ok()) return model.status().WithContext(folder.config_path.string());
  if (const Status status = LoadWeights(folder.weights, model->get()); !status.ok()) {
    return in_weights(status);
  }
  return model;
}

}  // namespace gyre
