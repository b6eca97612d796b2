#include "bench/bench_case.h"

#include <algorithm>

#include "base/random.h"

namespace gyre {
namespace {

const std::vector<std::string> kFamilies = {"gpt", "llama", "gemma"};
const std::vector<std::string> kPrecisions = {"float32", "tf32", "bf16"};

}  // namespace

const std::vector<BenchShape>& BenchShapes() {
  static const std::vector<BenchShape> shapes = {
      {"quick", 2, 128, 512, 4, 257, 128, 16},  // the quick start's model
      {"S", 4, 256, 1024, 4, 512, 256, 8},      //
      {"M", 6, 384, 1536, 6, 2048, 256, 8},     //
      {"long", 4, 256, 1024, 4, 512, 8192, 1, true},
      {"tiny", 1, 32, 64, 2, 257, 16, 2},
      // GPT-2's vocabulary of 50257 as others pad it.
      {"124M", 12, 768, 3072, 12, 50304, 1024, 32, false, 64, "gpt"},
      {"124M-8k", 12, 768, 3072, 12, 50304, 8192, 4, false, 64, "gpt"},
      {"1B", 26, 1152, 6912, 4, 262144, 1024, 8, false, 256, "gemma"},
      {"1B-8k", 26, 1152, 6912, 4, 262144, 8192, 1, false, 256, "gemma"},
  };
  return shapes;
}

ModelConfig BenchCase::Model() const {
  ModelConfig model;
  // gemma's activation is GPT-2's.
  model.model_type = family == "llama" ? "llama" : "gemma";
  model.mlp = family == "gpt" ? "plain" : "gated";
  model.num_hidden_layers = shape.layers, model.hidden_size = shape.hidden;
  model.intermediate_size = shape.intermediate, model.vocab_size = shape.vocab;
  model.num_attention_heads = shape.heads;
  model.num_key_value_heads = family == "gemma" ? 1 : shape.heads;
  model.head_dim = shape.head_dim > 0 ? shape.head_dim : shape.hidden / shape.heads;
  return model;
}

double BenchCase::FlopsPerToken() const {
  const ModelConfig model = Model();
  // The embedding is tied to the head, whose product it is; norms multiply no matrix.
  const int64_t norms = int64_t{2 * shape.layers + 1} * shape.hidden;
  const double weights = static_cast<double>(ParameterCount(model) - norms);
  const double width = static_cast<double>(model.num_attention_heads) * model.head_dim;
  return 6 * weights + 12.0 * shape.layers * width * shape.context;
}

std::string BenchCase::Name() const { return shape.name + " " + family + " " + precision; }

std::vector<std::string> BenchCase::Arguments() const {
  return {"--shape",     shape.name, "--family",  family,
          "--precision", precision,  "--threads", std::to_string(threads),
          "--backend",   backend};
}

Json BenchCase::Numbers() const {
  const ModelConfig model = Model();
  return {{"family", family},
          {"precision", precision},
          {"threads", threads},
          {"backend", backend},
          {"layers", shape.layers},
          {"hidden", shape.hidden},
          {"intermediate", shape.intermediate},
          {"heads", shape.heads},
          {"kv_heads", model.num_key_value_heads},
          {"head_dim", model.head_dim},
          {"vocab", shape.vocab},
          {"context", shape.context},
          {"rows", shape.rows}};
}

Result<BenchCase> FindBenchCase(const std::string& shape, const std::string& family,
                                const std::string& precision, int threads) {
  const auto known = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (!known(kFamilies, family)) {
    return InvalidArgument("no family '" + family + "'; there are gpt, llama and gemma");
  }
  if (!known(kPrecisions, precision)) {
    return InvalidArgument("no precision '" + precision + "'; there are float32, tf32 and bf16");
  }
  if (threads < 1) return InvalidArgument("at least one thread");
  std::string names;
  for (const BenchShape& candidate : BenchShapes()) {
    if (candidate.name == shape) return BenchCase{candidate, family, precision, threads};
    names += " " + candidate.name;
  }
  return InvalidArgument("no shape '" + shape + "'; there are" + names);
}

Batch RandomBatch(const BenchShape& shape) {
  Batch batch{shape.rows, shape.context, {}, {}, {}};
  const Random random(1, "bench");
  const uint64_t vocab = static_cast<uint64_t>(shape.vocab);
  for (uint64_t i = 0; i < static_cast<uint64_t>(shape.tokens()); ++i) {
    batch.tokens.push_back(static_cast<int32_t>(random.Below(vocab, 0, i)));
    batch.targets.push_back(static_cast<int32_t>(random.Below(vocab, 1, i)));
  }
  return batch;
}

}  // namespace gyre
