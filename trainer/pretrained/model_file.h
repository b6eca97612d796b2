#pragma once

// Models that are one file of another format than Hugging Face's, with their tensors under Hugging
// Face's names and their configuration as config.json would have it. What differs is said, not
// undone: llama.cpp and llama2.c order the rows of Llama's q and k so that a pair is rows 2i, 2i+1
// (`pairing: interleaved`); read as halves they would give numbers that look like a model's and
// mean nothing.

#include <filesystem>

#include "base/status.h"
#include "trainer/pretrained/hugging_face_config.h"
#include "trainer/pretrained/mapped_tensors.h"

namespace gyre {

struct ModelFile {
  HuggingFaceConfig config;
  MappedTensors tensors;
};

/// A GGUF file of the architectures llama, gemma, gemma2, gemma3, qwen2, qwen3 and smollm3. As
/// GgufFile::Open(); INVALID_ARGUMENT: the key or tensor at fault.
Result<ModelFile> OpenGgufModel(const std::filesystem::path& path);

/// llama2.c's .bin: 7 x i32 (hidden, MLP, layers, heads, key/value heads, vocabulary, context) and
/// float32 tensors, each kind for all layers; or its version 1 with the magic "ak42". NOT_FOUND;
/// INVALID_ARGUMENT: no such file, or its quantized version 2; DATA_LOSS: cut off.
Result<ModelFile> OpenLlama2c(const std::filesystem::path& path);

}  // namespace gyre
