#include "tests/analysis/made_folder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "trainer/model/parameters.h"
#include "trainer/pretrained/hugging_face_config.h"
#include "trainer/pretrained/safetensors.h"

namespace gyre {

PlainWeights MakeFolder(const std::filesystem::path& folder, const Json& config) {
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "config.json") << config.dump();
  const auto parsed = ParseHuggingFaceConfig(config);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  std::vector<Parameter> parameters = ParameterLayout::Create(parsed->model)->parameters;
  for (const Parameter& extra : ExtraParameters(parsed->model, parsed->extras)) {
    parameters.push_back(extra);
  }
  std::vector<TensorEntry> entries;
  for (const Parameter& parameter : parameters) {
    entries.push_back({.name = parameter.name, .shape = parameter.shape});
  }
  auto writer = SafetensorsWriter::Create(folder / "model.safetensors", {}, entries);
  EXPECT_TRUE(writer.ok()) << writer.status();
  PlainWeights weights;
  uint32_t state = 1;
  for (const Parameter& parameter : parameters) {
    const bool norm = parameter.shape.size() == 1 && parameter.name.ends_with("norm.weight");
    const double size =
        parameter.shape.size() == 2 ? 2 / std::sqrt(static_cast<double>(parameter.shape[1])) : 0.5;
    std::vector<float> values;
    for (int64_t i = 0; i < parameter.count; ++i) {
      state = state * 1664525 + 1013904223;
      const double uniform = static_cast<double>(state >> 8) / (1 << 23) - 1;
      values.push_back(static_cast<float>(size * uniform + (norm ? 0.7 : 0)));
    }
    EXPECT_TRUE(writer->Append(values).ok());
    weights[parameter.name].assign(values.begin(), values.end());
  }
  EXPECT_TRUE(writer->Finish().ok());
  return weights;
}

}  // namespace gyre
