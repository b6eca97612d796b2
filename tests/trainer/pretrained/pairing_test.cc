// The same model with half-split pairs and with interleaved ones: the rows of q and k stand in
// another order, and all that is computed of them is the same. Read with the other pairing it still
// gives numbers, but others.

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/files.h"
#include "tests/trainer/data/temporary_home.h"
#include "tests/trainer/pretrained/gguf_of_folder.h"
#include "trainer/backend/reference/reference_backend.h"
#include "trainer/model_folder.h"

namespace gyre {
namespace {

const std::filesystem::path kCase = "tests/trainer/reference/llama-rope500k-gqa";

class PairingTest : public TemporaryHomeTest {
 protected:
  static double Loss(const PretrainedFolder& folder) {
    const Json expected = Json::parse(*ReadFile(kCase / "expected.json"));
    Batch batch;
    for (const Json& row : expected["batch"]["input_ids"]) {
      ++batch.rows;
      batch.length = static_cast<int>(row.size());
      for (const int token : row) batch.tokens.push_back(token);
    }
    for (const Json& row : expected["batch"]["targets"]) {
      for (const int target : row) batch.targets.push_back(target);
    }
    const auto backend = CreateDoubleReferenceBackend();
    const auto model = ModelOf(folder, backend.get(), batch.rows, batch.length, false);
    EXPECT_TRUE(model.ok()) << model.status();
    std::vector<float> nll(batch.tokens.size());
    EXPECT_TRUE((*model)->Evaluate(batch, nll).ok());
    return std::accumulate(nll.begin(), nll.end(), 0.0) / expected["target_count"].get<double>();
  }

  // 2-norms of the two rows of each pair, head by head.
  static std::vector<double> PairNorms(const PretrainedFolder& folder, const std::string& name) {
    const auto layers = ResolvePositions(folder.config.position, folder.config.model, 8);
    const std::vector<float> values = Values(folder, name);
    const auto columns = static_cast<size_t>(folder.config.model.hidden_size);
    const auto head = static_cast<size_t>(folder.config.model.head_dim);
    const auto squares = [&](size_t row) {
      double sum = 0;
      for (size_t i = 0; i < columns; ++i) sum += std::pow(values[row * columns + i], 2);
      return sum;
    };
    std::vector<double> norms;
    for (size_t at = 0; at < values.size() / columns; at += head) {
      for (const auto& [a, b] : (*layers)[0].rotation.pairs) {
        norms.push_back(
            std::sqrt(squares(at + static_cast<size_t>(a)) + squares(at + static_cast<size_t>(b))));
      }
    }
    return norms;
  }
};

TEST_F(PairingTest, BothOrdersAreOneModel) {
  const auto half = PretrainedFolder::Open(kCase);
  ASSERT_TRUE(half.ok()) << half.status();
  auto interleaved = PretrainedFolder::Open(Write("model.gguf", AsGguf(*half)));
  ASSERT_TRUE(interleaved.ok()) << interleaved.status();
  const double loss = Json::parse(*ReadFile(kCase / "expected.json"))["loss"];
  EXPECT_NEAR(Loss(*half), loss, 1e-6);
  EXPECT_NEAR(Loss(*interleaved), loss, 1e-6);
  for (const char* name : {"q_proj", "k_proj"}) {
    const std::string whole = std::string("model.layers.0.self_attn.") + name + ".weight";
    EXPECT_NE(Values(*half, whole), Values(*interleaved, whole));
    EXPECT_EQ(PairNorms(*half, whole), PairNorms(*interleaved, whole));
  }
  SetPairing("half", &interleaved->config.position);
  EXPECT_GT(std::abs(Loss(*interleaved) - loss), 1e-4);
}

}  // namespace
}  // namespace gyre
