// GGUF and llama2.c files, and config.json: what opens can be read, every tensor of it.

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz.h"
#include "trainer/pretrained/gguf_file.h"
#include "trainer/pretrained/hugging_face_config.h"
#include "trainer/pretrained/model_file.h"
#include "trainer/pretrained/tensor_files.h"
#include "trainer/pretrained/tokenizer_of.h"

namespace gyre {
namespace {

void ReadAll(const MappedTensors& tensors) {
  for (const TensorEntry& entry : tensors.tensors()) {
    const int64_t count = ValueCount(entry.shape);
    Require(count >= 0 && entry.bytes <= tensors.data_bytes(), "a tensor lies within its file");
    std::vector<float> values(static_cast<size_t>(std::min<int64_t>(count, 1 << 16)));
    Require(tensors.Read(entry, count - static_cast<int64_t>(values.size()), values).ok(),
            "a tensor can be read");
  }
}

void OpenConfig(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto config = ParseHuggingFaceConfig(json);
  if (!config.ok()) return;
  Require(
      config->position.layers.empty() ||
          config->position.layers.size() == static_cast<size_t>(config->model.num_hidden_layers),
      "an encoding a layer");
}

void OpenGguf(const std::string& path) {
  const auto file = GgufFile::Open(path);
  if (!file.ok()) return;
  ReadAll(file->tensors());
  const auto json = TokenizerJsonOf(*file);
  Require(json.ok() || !json.status().message().empty(), "a fault is named");
  const auto model = OpenGgufModel(path);
  if (model.ok()) ReadAll(model->tensors);
}

}  // namespace
}  // namespace gyre

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.starts_with("{")) {
    gyre::OpenConfig(text);
    return 0;
  }
  const int fd = memfd_create("fuzz", 0);
  if (write(fd, data, size) == static_cast<ssize_t>(size)) {
    const std::string path = "/proc/self/fd/" + std::to_string(fd);
    if (text.starts_with("GGUF")) {
      gyre::OpenGguf(path);
    } else if (const auto model = gyre::OpenLlama2c(path); model.ok()) {
      gyre::ReadAll(model->tensors);
    }
  }
  close(fd);
  return 0;
}
