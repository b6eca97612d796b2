// The same model with half-split pairs and with interleaved ones: the rows of q and k stand in
// another order, and all that is computed of them is the same. Read with the other pairing it still
// gives numbers, but others.

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/files.h"
#include "tests/trainer/data/temporary_home.h"
#include "tests/trainer/pretrained/made_gguf.h"
#include "trainer/backend/reference/reference_backend.h"
#include "trainer/model_folder.h"

namespace gyre {
namespace {

const std::filesystem::path kCase = "tests/trainer/reference/llama-rope500k-gqa";

// Row 2k + i of each head is row k + i d/2 of the other order.
std::vector<float> Interleaved(const std::vector<float>& rows, int head_dim, size_t columns) {
  std::vector<float> out;
  const size_t half = static_cast<size_t>(head_dim) / 2, heads = rows.size() / columns / half / 2;
  for (size_t row = 0; row < heads * half * 2; ++row) {
    const size_t in_head = row % (2 * half),
                 from = row - in_head + in_head / 2 + in_head % 2 * half;
    const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(from * columns);
    out.insert(out.end(), begin, begin + static_cast<std::ptrdiff_t>(columns));
  }
  return out;
}

std::vector<float> Values(const PretrainedFolder& model, const std::string& name) {
  std::vector<float> values(static_cast<size_t>(ValueCount(model.weights.Find(name)->shape)));
  EXPECT_TRUE(model.weights.Read(name, values).ok());
  return values;
}

std::string AsGguf(const PretrainedFolder& model) {
  const ModelConfig& config = model.config.model;
  MadeGguf made;
  made.Text("general.architecture", "llama")
      .Count("llama.block_count", static_cast<uint32_t>(config.num_hidden_layers))
      .Count("llama.embedding_length", static_cast<uint32_t>(config.hidden_size))
      .Count("llama.feed_forward_length", static_cast<uint32_t>(config.intermediate_size))
      .Count("llama.attention.head_count", static_cast<uint32_t>(config.num_attention_heads))
      .Count("llama.attention.head_count_kv", static_cast<uint32_t>(config.num_key_value_heads))
      .Count("llama.attention.key_length", static_cast<uint32_t>(config.head_dim))
      .Count("llama.attention.value_length", static_cast<uint32_t>(config.head_dim))
      .Number("llama.rope.freq_base", static_cast<float>(model.config.position.layers[0].theta))
      .Number("llama.attention.layer_norm_rms_epsilon", static_cast<float>(config.rms_norm_eps));
  const auto add = [&](const std::string& gguf, const std::string& name, bool turned = false) {
    std::vector<float> values = Values(model, name + ".weight");
    const std::vector<int64_t> shape = model.weights.Find(name + ".weight")->shape;
    if (turned) values = Interleaved(values, config.head_dim, static_cast<size_t>(shape[1]));
    made.Tensor(gguf + ".weight", {shape.rbegin(), shape.rend()}, 0, FloatBytes(values));
  };
  add("token_embd", "model.embed_tokens");
  add("output_norm", "model.norm");
  for (int l = 0; l < config.num_hidden_layers; ++l) {
    const std::string to = "blk." + std::to_string(l) + ".";
    const std::string from = "model.layers." + std::to_string(l) + ".";
    add(to + "attn_norm", from + "input_layernorm");
    add(to + "ffn_norm", from + "post_attention_layernorm");
    add(to + "attn_q", from + "self_attn.q_proj", true);
    add(to + "attn_k", from + "self_attn.k_proj", true);
    add(to + "attn_v", from + "self_attn.v_proj");
    add(to + "attn_output", from + "self_attn.o_proj");
    add(to + "ffn_gate", from + "mlp.gate_proj");
    add(to + "ffn_up", from + "mlp.up_proj");
    add(to + "ffn_down", from + "mlp.down_proj");
  }
  return made.File();
}

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
