#include <cmath>
#include <limits>
#include <utility>

#include "tests/trainer/backend/op_case.h"
#include "tests/trainer/backend/op_numbers.h"
#include "trainer/backend/reference/attention.h"

namespace gyre {
namespace {

struct StatisticsVariant {
  const char* name;
  int rows, length, heads, kv_heads, head_dim, window;
  bool alibi;
  std::vector<int32_t> lengths;
  int turned;  // coordinates of a head that are pairs of halves of their own; the rest another such
  double amplitude;
};

// As trainer/position has them: `full` for turned = d, `respaced` for less.
std::vector<int32_t> Pairs(int head_dim, int turned) {
  std::vector<int32_t> pairs;
  for (const auto& [begin, size] : {std::pair(0, turned), std::pair(turned, head_dim - turned)}) {
    for (int k = 0; k < size / 2; ++k) {
      pairs.insert(pairs.end(), {begin + k, begin + size / 2 + k});
    }
  }
  return pairs;
}

// What forward would have left, rounded to float.
std::vector<double> LogSumExp(Attention op, std::vector<double> qkv, std::vector<double> slopes) {
  const int64_t tokens = int64_t{op.rows} * op.length;
  std::vector<double> log_sum_exp(tokens * op.heads), output(tokens * op.heads * op.head_dim);
  op.qkv = {qkv.data()}, op.output = {output.data()}, op.log_sum_exp = {log_sum_exp.data()};
  if (!slopes.empty()) op.alibi_slopes = {slopes.data()};
  reference::AttentionForward<double>(op);
  for (double& value : log_sum_exp) value = static_cast<float>(value);
  return log_sum_exp;
}

// Whoever reads padding has it in his results.
void SpoilPadding(const std::vector<int32_t>& lengths, int length, std::vector<double>* values) {
  const size_t each = values->size() / lengths.size() / length;
  for (size_t row = 0; row < lengths.size(); ++row) {
    for (size_t i = lengths[row] * each; i < length * each; ++i) {
      values->at(row * length * each + i) = std::numeric_limits<double>::infinity();
    }
  }
}

OpCase StatisticsCase(const StatisticsVariant& v) {
  OpCase c;
  c.name = std::string("AttentionStatistics_") + v.name;
  const int tokens = v.rows * v.length, pairs = v.head_dim / 2;
  const int all_heads = v.heads + 2 * v.kv_heads, norms = v.rows * all_heads * pairs;
  c.shape = {tokens, v.length, 1, 1, 1, v.heads, v.kv_heads, v.head_dim};
  const Attention shape = {.rows = v.rows,
                           .length = v.length,
                           .heads = v.heads,
                           .kv_heads = v.kv_heads,
                           .head_dim = v.head_dim,
                           .window = v.window};
  c.narrows = {{"qkv", NarrowNormals("qkv", tokens * all_heads * v.head_dim)}};
  c.reals = {{"slopes", v.alibi ? Normals("slopes", v.heads, 0.1, 0.2) : std::vector<double>()},
             {"amplitudes", std::vector<double>(pairs, 1.0)},
             {"norms", Normals("norms", norms)},
             {"first_norms", Normals("first_norms", norms)},
             {"contributions", Normals("contributions", v.rows * v.heads * pairs)},
             {"first_contributions", Normals("first_contributions", v.rows * v.heads * pairs)},
             {"scores", Normals("scores", v.rows * v.heads * HeadScore::kCount)}};
  std::fill_n(c.reals["amplitudes"].begin(), v.turned / 2, static_cast<float>(v.amplitude));
  c.reals["lse"] = LogSumExp(shape, c.narrows["qkv"], c.reals["slopes"]);
  SpoilPadding(v.lengths, v.length, &c.narrows["qkv"]);
  SpoilPadding(v.lengths, v.length, &c.reals["lse"]);
  c.ints = {{"lengths", v.lengths}, {"pairs", Pairs(v.head_dim, v.turned)}};
  c.forward = [shape, alibi = v.alibi](Backend& b, const Places& p) {
    AttentionStatistics op = {.attention = shape,
                              .lengths = p.I("lengths"),
                              .pairs = p.I("pairs"),
                              .amplitudes = p.R("amplitudes"),
                              .norms = p.R("norms"),
                              .first_norms = p.R("first_norms"),
                              .contributions = p.R("contributions"),
                              .first_contributions = p.R("first_contributions"),
                              .scores = p.R("scores")};
    op.attention.qkv = p.N("qkv");
    op.attention.log_sum_exp = p.R("lse");
    if (alibi) op.attention.alibi_slopes = p.R("slopes");
    b.CollectAttentionStatistics(op);
  };
  c.outputs = {"norms", "first_norms", "contributions", "first_contributions", "scores"};
  if (v.length > 1 && v.window != 1) c.columns = {{"scores", HeadScore::kCount}};
  return c;
}

}  // namespace

std::vector<OpCase> StatisticsCases() {
  return {
      StatisticsCase({"one_token", 2, 1, 2, 1, 4, 0, false, {1, 1}, 4, 1}),
      StatisticsCase({"empty_row", 3, 5, 2, 1, 4, 0, false, {0, 5, 1}, 4, 1}),
      StatisticsCase({"plain", 2, 9, 2, 2, 6, 0, false, {9, 9}, 6, 1}),
      StatisticsCase({"grouped", 2, 40, 6, 2, 20, 0, false, {40, 33}, 20, 1}),
      StatisticsCase({"respaced", 1, 20, 2, 1, 24, 0, false, {20}, 18, 1.25}),
      StatisticsCase({"yarn", 1, 17, 2, 2, 28, 0, true, {17}, 28, 1.125}),
      StatisticsCase({"window", 2, 150, 4, 2, 8, 50, true, {150, 140}, 8, 1}),
      StatisticsCase({"window_of_one", 1, 10, 1, 1, 4, 1, false, {10}, 4, 1}),
      StatisticsCase({"window_of_two", 1, 70, 1, 1, 4, 2, false, {70}, 2, 1}),
      StatisticsCase({"several_blocks", 1, 200, 2, 1, 64, 0, false, {195}, 64, 1}),
      StatisticsCase({"head_dim_96", 1, 66, 1, 1, 96, 0, true, {66}, 48, 1.5}),
      StatisticsCase({"head_dim_256", 1, 34, 2, 1, 256, 20, false, {34}, 256, 1.25}),
  };
}

}  // namespace gyre
