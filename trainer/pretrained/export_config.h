#pragma once

// A trained model's config.json: Hugging Face's keys in their older and newer spelling where those
// can say what the model does, and always the block "gyre", which this trainer reads
// (hugging_face_config.h). Where Hugging Face's keys cannot say it, rope_type is "gyre":
// `transformers` knows no such type and refuses the model, where it would otherwise compute other
// numbers in silence.

#include <string>
#include <vector>

#include "base/status.h"
#include "trainer/config/job_config.h"

namespace gyre {

struct ExportedConfig {
  Json json;
  std::vector<std::string> not_in_transformers;  // what its Llama and Gemma cannot do, in words
  std::vector<std::string> notes;                // what they can, but not every version of them
};

/// `position` is the encoding of the weights (a job may have switched); `bos` the token that begins
/// a document, or -1.
ExportedConfig ExportConfig(const ModelConfig& model, const PositionConfig& position, int context,
                            int bos);

}  // namespace gyre
