#include "trainer/pretrained/pretrained_folder.h"

#include <utility>

#include "trainer/pretrained/gguf_file.h"
#include "trainer/pretrained/model_file.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;

// What to name instead of a folder without config.json.
std::string Advice(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() == ".gguf") return "; name the file itself: " + at->path().string();
  }
  return "; a model is a Hugging Face folder with a config.json, a GGUF file, or llama2.c's .bin";
}

}  // namespace

Result<PretrainedFolder> PretrainedFolder::Open(const fs::path& path) {
  PretrainedFolder out{path, path / "config.json", {}, {}};
  std::error_code error;
  if (fs::is_regular_file(path, error)) {
    if (path.extension() == ".safetensors") {
      return InvalidArgument(path.string() +
                             " has weights without a configuration; name its folder");
    }
    GYRE_ASSIGN_OR_RETURN(ModelFile file,
                          GgufFile::Is(path) ? OpenGgufModel(path) : OpenLlama2c(path));
    out.config_path = path;
    out.config = std::move(file.config);
    GYRE_ASSIGN_OR_RETURN(out.weights, TensorFiles::Of(path, std::move(file.tensors)));
  } else {
    auto config = ReadHuggingFaceConfig(out.config_path);
    if (!config.ok()) {
      const bool absent = config.status().code() == StatusCode::kNotFound;
      return Status(config.status().code(),
                    config.status().message() + (absent ? Advice(path) : ""));
    }
    out.config = *std::move(config);
    GYRE_ASSIGN_OR_RETURN(out.weights, TensorFiles::Open(path));
  }
  if (!out.config.says_qk_norm) {
    out.config.model.qk_norm =
        out.weights.Find("model.layers.0.self_attn.q_norm.weight") != nullptr;
  }
  return out;
}

}  // namespace gyre
