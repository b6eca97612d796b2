// The model in double precision against every recorded case, tighter than `gyre-trainer verify` can
// be in float32.

#include <gtest/gtest.h>

#include "base/files.h"
#include "trainer/backend/reference/reference_backend.h"
#include "trainer/model_folder.h"

namespace gyre {
namespace {

std::vector<std::string> Cases() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("tests/trainer/reference")) {
    if (entry.is_directory()) names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class ReferenceCases : public testing::TestWithParam<std::string> {};

TEST_P(ReferenceCases, LossAndGradients) {
  const std::filesystem::path folder = "tests/trainer/reference/" + GetParam();
  auto text = ReadFile(folder / "expected.json");
  ASSERT_TRUE(text.ok()) << text.status();
  const Json expected = Json::parse(*text);
  Batch batch;
  for (const Json& row : expected["batch"]["input_ids"]) {
    ++batch.rows;
    batch.length = static_cast<int>(row.size());
    for (const int token : row) batch.tokens.push_back(token);
  }
  for (const Json& row : expected["batch"]["targets"]) {
    for (const int target : row) batch.targets.push_back(target);
  }
  auto opened = PretrainedFolder::Open(folder);
  ASSERT_TRUE(opened.ok()) << opened.status();
  const auto backend = CreateDoubleReferenceBackend();
  auto made = ModelOf(*opened, backend.get(), batch.rows, batch.length, /*training=*/true);
  ASSERT_TRUE(made.ok()) << made.status();
  Model& model = **made;

  auto sum = model.ForwardBackward(batch);
  ASSERT_TRUE(sum.ok()) << sum.status();
  const double count = expected["target_count"];
  EXPECT_NEAR(*sum / count, expected["loss"], 1e-10);
  for (const auto& [name, gradient] : expected["gradient"]["params"].items()) {
    SCOPED_TRACE(name);
    const TensorEntry* entry = opened->weights.Find(name);
    ASSERT_NE(entry, nullptr);
    std::vector<float> values(static_cast<size_t>(ValueCount(entry->shape)));
    ASSERT_TRUE(model.Save(TensorKind::kGradient, name, values).ok());
    double squares = 0;
    for (const float value : values) squares += value / count * value / count;
    EXPECT_NEAR(std::sqrt(squares), gradient["norm"], 1e-6 * gradient["norm"].get<double>());
    const double largest = std::abs(gradient["value"][0].get<double>());
    for (size_t i = 0; i < gradient["index"].size(); ++i) {
      EXPECT_NEAR(values[gradient["index"][i].get<size_t>()] / count, gradient["value"][i],
                  1e-6 * largest);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ReferenceCases, testing::ValuesIn(Cases()), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace gyre
