#include "trainer/pretrained/pretrained_folder.h"

#include <utility>

namespace gyre {

Result<PretrainedFolder> PretrainedFolder::Open(const std::filesystem::path& folder) {
  GYRE_ASSIGN_OR_RETURN(HuggingFaceConfig config, ReadHuggingFaceConfig(folder / "config.json"));
  GYRE_ASSIGN_OR_RETURN(TensorFiles weights, TensorFiles::Open(folder));
  if (!config.says_qk_norm) {
    config.model.qk_norm = weights.Find("model.layers.0.self_attn.q_norm.weight") != nullptr;
  }
  return PretrainedFolder{folder, std::move(config), std::move(weights)};
}

}  // namespace gyre
