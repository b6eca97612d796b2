#pragma once

// config.json of a Hugging Face folder, as far as this trainer can follow it. The block "gyre"
// decides about positions, windows, qk_norm and the MLP; without it Hugging Face's own keys do
// (tests/trainer/reference/README.md, section 2), in their older and newer spellings, with the
// defaults of the model's family (families.h). What would change the numbers and isn't understood
// is an error, never ignored.

#include <filesystem>
#include <string>

#include "base/status.h"
#include "trainer/config/job_config.h"
#include "trainer/pretrained/families.h"
#include "trainer/pretrained/model_extras.h"

namespace gyre {

struct HuggingFaceConfig {
  ModelConfig model;
  PositionConfig position;
  ModelExtras extras;
  std::string family;         // model_type as Hugging Face has it: "qwen2", "gemma3_text"
  int context = 0;            // tokens of the longest text it is made for; 0: not said
  bool says_qk_norm = false;  // else the tensors tell
};

/// INVALID_ARGUMENT with the path of the first key at fault.
Result<HuggingFaceConfig> ParseHuggingFaceConfig(const Json& json);

/// The same from a file. NOT_FOUND; INVALID_ARGUMENT.
Result<HuggingFaceConfig> ReadHuggingFaceConfig(const std::filesystem::path& file);

/// The same, with what all layers have alike said once, as a sweep says it.
HuggingFaceConfig SaidOnce(HuggingFaceConfig config);

/// Which coordinates are a pair, in every layer: "half" | "interleaved".
void SetPairing(const std::string& pairing, PositionConfig* position);

/// The position part, in either spelling; in hugging_face_position.cc. `path` names the object in
/// messages.
Status ParsePosition(const Json& json, const std::string& path, const Family& family,
                     HuggingFaceConfig* config);

}  // namespace gyre
