#include <cmath>
#include <utility>

#include "tests/trainer/backend/op_case.h"
#include "tests/trainer/backend/op_numbers.h"

namespace gyre {
namespace {

std::string Text(std::initializer_list<int> numbers) {
  std::string text;
  for (const int number : numbers) text += "_" + std::to_string(number);
  return text;
}

OpCase EmbeddingCase(int tokens, int hidden, int vocab, double scale) {
  OpCase c;
  c.name = "Embedding" + Text({tokens, hidden, vocab});
  c.shape = {tokens, tokens, hidden, 1, vocab, 1, 1, 1};
  c.reals = {{"table", Normals("table", vocab * hidden)},
             {"x", Normals("x", tokens * hidden)},
             {"dx", Normals("dx", tokens * hidden)},
             {"d_table", Normals("d_table", vocab * hidden)}};
  c.ints = {{"ids", Below("ids", tokens, vocab)}};
  const auto op = [=](const Places& p) {
    return Embedding{tokens, hidden, scale, p.I("ids"), p.R("table"), p.R("x")};
  };
  c.forward = [=](Backend& b, const Places& p) { b.EmbeddingForward(op(p)); };
  c.backward = [=](Backend& b, const Places& p) {
    b.EmbeddingBackward(op(p), p.R("dx"), p.R("d_table"));
  };
  c.outputs = {"x"};
  c.output = "x", c.cotangent = "dx";
  c.gradients = {{"table", "d_table", true}};
  return c;
}

OpCase NormCase(int tokens, int hidden, NormKind kind) {
  OpCase c;
  c.name = "Norm" + Text({tokens, hidden, kind.one_plus});
  c.shape = {tokens, tokens, hidden, 1, 1, 1, 1, 1};
  c.reals = {{"x", Normals("x", tokens * hidden, 2)},
             {"weight", Normals("weight", hidden, 0.5, kind.one_plus ? 0 : 1)},
             {"y", Normals("y", tokens * hidden)},
             {"inverse_rms", Normals("rms", tokens)},
             {"dy", Normals("dy", tokens * hidden)},
             {"dx", Normals("dx", tokens * hidden)},
             {"d_weight", Normals("d_weight", hidden)}};
  const auto op = [=](const Places& p) {
    return Norm{tokens, hidden, kind, p.R("x"), p.R("weight"), p.R("y"), p.R("inverse_rms")};
  };
  c.forward = [=](Backend& b, const Places& p) { b.NormForward(op(p)); };
  c.backward = [=](Backend& b, const Places& p) {
    b.NormBackward(op(p), p.R("dy"), p.R("dx"), p.R("d_weight"));
  };
  c.outputs = {"y", "inverse_rms"};
  c.output = "y", c.cotangent = "dy";
  c.gradients = {{"x", "dx", false}, {"weight", "d_weight", true}};
  return c;
}

struct QkvVariant {
  const char* name;
  int rows, length, hidden, heads, kv_heads, head_dim;
  bool one_plus, qk_norm;
  std::vector<PairRun> runs;
};

OpCase NormQkvCase(const QkvVariant& v) {
  OpCase c;
  c.name = std::string("NormQkv_") + v.name;
  const int tokens = v.rows * v.length, d = v.head_dim, pairs = d / 2;
  const int width = (v.heads + 2 * v.kv_heads) * d, turned = v.heads + v.kv_heads;
  c.shape = {tokens, v.length, v.hidden, 1, 1, v.heads, v.kv_heads, d};
  c.reals = {{"x", Normals("x", tokens * v.hidden)},
             {"norm", Normals("norm", v.hidden, 0.3, v.one_plus ? 0 : 1)},
             {"weight", Normals("weight", width * v.hidden, 0.3)},
             {"cosine", Normals("cosine", v.length * pairs)},
             {"sine", Normals("sine", v.length * pairs)},
             {"inverse_rms", Normals("rms", tokens)},
             {"dx", Normals("dx", tokens * v.hidden)},
             {"d_norm", Normals("d_norm", v.hidden)},
             {"d_weight", Normals("d_weight", width * v.hidden)}};
  c.narrows = {{"qkv", NarrowNormals("qkv", tokens * width)},
               {"d_qkv", NarrowNormals("d_qkv", tokens * width)}};
  c.outputs = {"inverse_rms", "qkv"};
  c.gradients = {{"x", "dx", true}, {"norm", "d_norm", true}, {"weight", "d_weight", true}};
  if (v.qk_norm) {
    c.reals["q_norm"] = Normals("q_norm", d, 0.3, 1);
    c.reals["k_norm"] = Normals("k_norm", d, 0.3, 1);
    c.narrows["raw_qk"] = NarrowNormals("raw_qk", tokens * turned * d);
    c.reals["qk_rms"] = Normals("qk_rms", tokens * turned);
    c.reals["d_q_norm"] = Normals("d_q_norm", d);
    c.reals["d_k_norm"] = Normals("d_k_norm", d);
    c.outputs.insert(c.outputs.end(), {"raw_qk", "qk_rms"});
    c.gradients.insert(c.gradients.end(),
                       {{"q_norm", "d_q_norm", true}, {"k_norm", "d_k_norm", true}});
  }
  const auto run = [v, pairs](Backend& b, const Places& p, bool backward) {
    const RotationTable table{p.R("cosine"), p.R("sine"), pairs, v.runs};
    NormQkv op{v.rows,
               v.length,
               v.hidden,
               v.heads,
               v.kv_heads,
               v.head_dim,
               NormKind{1e-5, v.one_plus},
               p.R("x"),
               p.R("norm"),
               p.R("weight"),
               {},
               {},
               &table,
               p.R("inverse_rms"),
               p.N("qkv"),
               {},
               {}};
    NormQkvGradients g{p.N("d_qkv"), p.R("dx"), p.R("d_norm"), p.R("d_weight"), {}, {}};
    if (v.qk_norm) {
      op.q_norm = p.R("q_norm"), op.k_norm = p.R("k_norm");
      op.raw_qk = p.N("raw_qk"), op.qk_inverse_rms = p.R("qk_rms");
      g.d_q_norm = p.R("d_q_norm"), g.d_k_norm = p.R("d_k_norm");
    }
    backward ? b.NormQkvBackward(op, g) : b.NormQkvForward(op);
  };
  c.forward = [run](Backend& b, const Places& p) { run(b, p, false); };
  c.backward = [run](Backend& b, const Places& p) { run(b, p, true); };
  c.output = "qkv", c.cotangent = "d_qkv";
  c.destroyed = {"d_qkv"};
  return c;
}

struct AttentionVariant {
  const char* name;
  int rows, length, heads, kv_heads, head_dim, window;
  bool alibi, documents;
};

OpCase AttentionCase(const AttentionVariant& v) {
  OpCase c;
  c.name = std::string("Attention_") + v.name;
  const int tokens = v.rows * v.length, width = (v.heads + 2 * v.kv_heads) * v.head_dim;
  c.shape = {tokens, v.length, 1, 1, 1, v.heads, v.kv_heads, v.head_dim};
  c.reals = {{"slopes", Normals("slopes", v.heads, 0.2)},
             {"lse", Normals("lse", tokens * v.heads)}};
  c.narrows = {{"qkv", NarrowNormals("qkv", tokens * width)},
               {"output", NarrowNormals("output", tokens * v.heads * v.head_dim)},
               {"d_output", NarrowNormals("d_output", tokens * v.heads * v.head_dim)},
               {"d_qkv", NarrowNormals("d_qkv", tokens * width)}};
  c.ints["starts"] = {};
  for (int row = 0; row < v.rows; ++row) {
    int start = 0;
    for (int t = 0; t < v.length; ++t) {
      if ((t * 5 + row * 3) % 17 == 0) start = t;
      c.ints["starts"].push_back(start);
    }
  }
  const auto op = [v](const Places& p) {
    return Attention{v.rows,
                     v.length,
                     v.heads,
                     v.kv_heads,
                     v.head_dim,
                     v.window,
                     v.alibi ? p.R("slopes") : Reals(),
                     v.documents ? p.I("starts") : Ints(),
                     p.N("qkv"),
                     p.N("output"),
                     p.R("lse")};
  };
  c.forward = [op](Backend& b, const Places& p) { b.AttentionForward(op(p)); };
  c.backward = [op](Backend& b, const Places& p) {
    b.AttentionBackward(op(p), {p.N("d_output"), p.N("d_qkv")});
  };
  c.outputs = {"output", "lse"};
  c.output = "output", c.cotangent = "d_output";
  c.gradients = {{"qkv", "d_qkv", false}};
  return c;
}

OpCase LinearResidualCase(int tokens, int inputs, int outputs) {
  OpCase c;
  c.name = "LinearResidual" + Text({tokens, inputs, outputs});
  c.shape = {tokens, tokens, outputs, inputs, 1, 1, 1, 1};
  c.reals = {{"weight", Normals("weight", outputs * inputs, 0.3)},
             {"residual", Normals("residual", tokens * outputs)},
             {"y", Normals("y", tokens * outputs)},
             {"dy", Normals("dy", tokens * outputs)},
             {"d_weight", Normals("d_weight", outputs * inputs)}};
  c.narrows = {{"x", NarrowNormals("x", tokens * inputs)},
               {"dx", NarrowNormals("dx", tokens * inputs)}};
  const auto op = [=](const Places& p) {
    return LinearResidual{tokens,        inputs,          outputs, p.N("x"),
                          p.R("weight"), p.R("residual"), p.R("y")};
  };
  c.forward = [=](Backend& b, const Places& p) { b.LinearResidualForward(op(p)); };
  c.backward = [=](Backend& b, const Places& p) {
    b.LinearResidualBackward(op(p), {p.R("dy"), p.N("dx"), p.R("d_weight")});
  };
  c.outputs = {"y"};
  c.output = "y", c.cotangent = "dy";
  c.gradients = {{"x", "dx", false}, {"weight", "d_weight", true}};
  return c;
}

OpCase MlpCase(int tokens, int hidden, int inner, Activation activation, bool gated,
               bool one_plus) {
  OpCase c;
  c.name = "Mlp" + Text({tokens, hidden, inner}) + (gated ? "_gated" : "_plain") +
           (activation == Activation::kSilu ? "_silu" : "_gelu") + (one_plus ? "_one_plus" : "");
  const int width = (gated ? 2 : 1) * inner;
  c.shape = {tokens, tokens, hidden, inner, 1, 1, 1, 1};
  c.reals = {{"x", Normals("x", tokens * hidden)},
             {"norm", Normals("norm", hidden, 0.3, one_plus ? 0 : 1)},
             {"weight", Normals("weight", width * hidden, 0.4)},
             {"down", Normals("down", hidden * inner, 0.3)},
             {"inverse_rms", Normals("rms", tokens)},
             {"y", Normals("y", tokens * hidden)},
             {"d_residual", Normals("d_residual", tokens * hidden)},
             {"d_norm", Normals("d_norm", hidden)},
             {"d_weight", Normals("d_weight", width * hidden)},
             {"d_down", Normals("d_down", hidden * inner)}};
  c.narrows = {{"gate_up", NarrowNormals("gate_up", tokens * width)}};
  const auto op = [=](const Places& p) {
    return Mlp{tokens,
               hidden,
               inner,
               NormKind{1e-5, one_plus},
               activation,
               gated,
               p.R("x"),
               p.R("norm"),
               p.R("weight"),
               p.R("down"),
               p.R("inverse_rms"),
               p.N("gate_up"),
               p.R("y")};
  };
  c.forward = [=](Backend& b, const Places& p) { b.MlpForward(op(p)); };
  c.backward = [=](Backend& b, const Places& p) {
    b.MlpBackward(op(p), {p.R("d_residual"), p.R("d_norm"), p.R("d_weight"), p.R("d_down")});
  };
  c.outputs = {"inverse_rms", "gate_up", "y"};
  c.output = "y", c.cotangent = "d_residual";
  c.gradients = {{"x", "d_residual", false},
                 {"norm", "d_norm", true},
                 {"weight", "d_weight", true},
                 {"down", "d_down", true}};
  c.destroyed = {"gate_up"};
  return c;
}

OpCase CrossEntropyCase(int tokens, int hidden, int vocab) {
  OpCase c;
  c.name = "LinearCrossEntropy" + Text({tokens, hidden, vocab});
  c.shape = {tokens, tokens, hidden, 1, vocab, 1, 1, 1};
  c.reals = {{"x", Normals("x", tokens * hidden, 2)},
             {"weight", Normals("weight", vocab * hidden)},
             {"nll", Normals("nll", tokens)},
             {"ones", std::vector<double>(static_cast<size_t>(tokens), 1.0)},
             {"dx", Normals("dx", tokens * hidden)},
             {"d_weight", Normals("d_weight", vocab * hidden)}};
  c.ints = {{"targets", Below("targets", tokens, vocab, -1)}};
  c.ints["targets"][0] = -1;
  const auto op = [=](const Places& p) {
    return LinearCrossEntropy{tokens,   hidden,        vocab,     p.I("targets"),
                              p.R("x"), p.R("weight"), p.R("nll")};
  };
  c.forward = [=](Backend& b, const Places& p) { b.LinearCrossEntropyForward(op(p)); };
  c.backward = [=](Backend& b, const Places& p) {
    b.LinearCrossEntropyForwardBackward(op(p), {p.R("dx"), p.R("d_weight")});
  };
  c.outputs = {"nll"};
  c.output = "nll", c.cotangent = "ones";
  // Softmax makes of the logits' errors, relative to their size of 2 sqrt(hidden), relative errors
  // of probabilities.
  c.amplification = 2 * std::sqrt(hidden);
  c.gradients = {{"x", "dx", false}, {"weight", "d_weight", true}};
  return c;
}

OpCase LinearCase(int tokens, int inputs, int outputs) {
  OpCase c;
  c.name = "Linear" + Text({tokens, inputs, outputs});
  c.reals = {{"x", Normals("x", tokens * inputs)},
             {"weight", Normals("weight", outputs * inputs)},
             {"y", Normals("y", tokens * outputs)}};
  c.forward = [=](Backend& b, const Places& p) {
    b.Linear(tokens, inputs, outputs, p.R("x"), p.R("weight"), p.R("y"));
  };
  c.outputs = {"y"};
  return c;
}

// Norm2 and AdamW in a row, as a step has them.
OpCase AdamWCase(int count, double clip_norm, double weight_decay, int step) {
  OpCase c;
  c.name = "AdamW" + Text({count, static_cast<int>(clip_norm), weight_decay > 0, step});
  c.reals = {{"gradient", Normals("gradient", count, 3)},
             {"norm", {1.5}},
             {"weight", Normals("weight", count)},
             {"m", Normals("m", count, 0.1)},
             {"v", std::vector<double>()}};
  for (const double value : Normals("v", count, 0.1)) c.reals["v"].push_back(std::abs(value));
  c.forward = [=](Backend& b, const Places& p) {
    b.Norm2(p.R("gradient"), count, p.R("norm"));
    AdamW op;
    op.count = count, op.step = step;
    op.lr = 0.01, op.beta1 = 0.9, op.beta2 = 0.95, op.epsilon = 1e-8;
    op.weight_decay = weight_decay, op.clip_norm = clip_norm, op.gradient_scale = 0.125;
    op.gradient = p.R("gradient"), op.gradient_norm = p.R("norm");
    op.weight = p.R("weight"), op.first_moment = p.R("m"), op.second_moment = p.R("v");
    b.AdamWStep(op);
  };
  c.outputs = {"norm", "weight", "m", "v"};
  return c;
}

std::vector<OpCase> MakeOpCases() {
  const std::vector<PairRun> half = {{0, 0, 4, 1, 4}};
  const std::vector<PairRun> interleaved = {{0, 0, 1, 2, 4}};
  const std::vector<PairRun> slices = {{0, 0, 2, 1, 2}, {3, 5, 7, 1, 1}};  // as respaced has them
  std::vector<OpCase> cases = {
      EmbeddingCase(11, 5, 4, 1),
      EmbeddingCase(300, 33, 50, 5.5),
      NormCase(7, 19, {1e-5, false}),
      NormCase(300, 32, {1e-3, true}),
      NormQkvCase({"half", 2, 5, 12, 3, 1, 8, false, false, half}),
      NormQkvCase({"interleaved", 2, 5, 9, 2, 2, 8, true, false, interleaved}),
      NormQkvCase({"slices", 1, 6, 8, 2, 1, 8, false, false, slices}),
      NormQkvCase({"nothing_turns", 2, 3, 7, 1, 1, 5, false, false, {}}),
      NormQkvCase({"qk_norm", 3, 7, 10, 4, 2, 8, false, true, half}),
      NormQkvCase({"qk_norm_gemma", 1, 4, 6, 2, 1, 8, true, true, {}}),
      NormQkvCase({"head_dim_20", 1, 65, 24, 6, 2, 20, false, true, {{0, 0, 10, 1, 7}}}),
      NormQkvCase({"many_rows", 5, 70, 16, 2, 2, 8, false, true, half}),
      // Sizes that go by whole tiles, where the processor has them.
      NormQkvCase({"tiles", 5, 32, 64, 2, 1, 16, false, true, half}),
      AttentionCase({"tiles", 1, 288, 1, 1, 64, 0, false, false}),
      AttentionCase({"tiles_of_everything", 2, 160, 4, 2, 32, 50, true, true}),
      AttentionCase({"tiles_of_each_head", 2, 128, 2, 2, 64, 40, true, true}),
      AttentionCase({"tiles_in_groups", 1, 832, 2, 1, 32, 70, false, false}),
      LinearResidualCase(544, 32, 48),
      MlpCase(320, 32, 80, Activation::kSilu, true, false),
      MlpCase(96, 64, 48, Activation::kGeluTanh, false, true),
      MlpCase(352, 32, 96, Activation::kSilu, true, true),
      MlpCase(288, 64, 64, Activation::kGeluTanh, false, false),
      CrossEntropyCase(96, 32, 61),
      AttentionCase({"one_token", 2, 1, 2, 1, 4, 0, false, false}),
      AttentionCase({"plain", 2, 9, 2, 2, 6, 0, false, false}),
      AttentionCase({"grouped", 1, 20, 6, 2, 8, 0, false, false}),
      AttentionCase({"window", 2, 33, 2, 1, 8, 7, false, false}),
      AttentionCase({"window_of_one", 1, 10, 1, 1, 4, 1, false, false}),
      AttentionCase({"alibi", 1, 21, 3, 1, 8, 0, true, false}),
      AttentionCase({"documents", 3, 40, 2, 2, 4, 0, false, true}),
      AttentionCase({"everything", 2, 150, 4, 2, 8, 50, true, true}),
      AttentionCase({"several_tiles", 1, 200, 2, 1, 16, 0, false, false}),
      AttentionCase({"head_dim_20", 2, 65, 6, 2, 20, 9, true, true}),
      AttentionCase({"head_dim_28", 1, 130, 3, 1, 28, 0, false, true}),
      AttentionCase({"head_dim_256", 1, 66, 2, 1, 256, 0, true, false}),
      AttentionCase({"many_tiles", 1, 700, 1, 1, 2, 0, false, false}),
      AttentionCase({"window_over_tiles", 1, 200, 1, 1, 8, 20, false, false}),
      LinearResidualCase(9, 7, 5),
      LinearResidualCase(530, 24, 17),
      MlpCase(6, 9, 11, Activation::kSilu, true, false),
      MlpCase(6, 9, 11, Activation::kGeluTanh, true, true),
      MlpCase(1, 20, 3, Activation::kGeluTanh, true, false),
      MlpCase(6, 9, 11, Activation::kGeluTanh, false, false),
      MlpCase(7, 10, 5, Activation::kSilu, false, true),
      MlpCase(300, 16, 40, Activation::kSilu, true, false),
      MlpCase(533, 33, 65, Activation::kGeluTanh, false, true),
      CrossEntropyCase(5, 6, 7),
      CrossEntropyCase(300, 12, 61),
      CrossEntropyCase(70, 5, 5000),
      LinearCase(3, 17, 29),
      AdamWCase(1000, 1, 0.1, 1),
      AdamWCase(37, 0, 0, 3),
      AdamWCase(100000, 1000, 0.1, 1000),
  };
  for (OpCase& statistics : StatisticsCases()) cases.push_back(std::move(statistics));
  return cases;
}

}  // namespace

const std::vector<OpCase>& AllOpCases() {
  static const auto& cases = *new std::vector<OpCase>(MakeOpCases());
  return cases;
}

}  // namespace gyre
