#include "bench/limit_steps.h"

#include <omp.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "bench/limit_products.h"
#include "bench/step_server.h"
#include "trainer/backend/cpu/cpu_backend.h"

namespace gyre {
namespace {

constexpr int kTries = 9;

/// The fastest formulation of a product, and how often a step needs it.
struct ChosenProduct {
  std::string name;
  int count = 0;
  double flops = 0, best_seconds = 1e30;  // of one
  Formulation formulation;
};

/// In turn, so that a disturbance hits one try of each at most.
void Choose(std::vector<Formulation> formulations, ChosenProduct* chosen) {
  for (const Formulation& formulation : formulations) formulation.run();
  for (int i = 0; i < kTries; ++i) {
    for (const Formulation& formulation : formulations) {
      const double start = WallSeconds();
      formulation.run();
      const double seconds = WallSeconds() - start;
      if (seconds >= chosen->best_seconds) continue;
      chosen->best_seconds = seconds, chosen->formulation = formulation;
    }
  }
}

std::vector<ProductTypes> TypesOf(const BenchCase& bench_case) {
  if (bench_case.precision == "float32") return {{}};
  return {{.bf16_in = true, .bf16_out = true}, {.bf16_in = true, .bf16_out = false}};
}

std::vector<ChosenProduct> LinearProducts(const BenchCase& bench_case) {
  const ModelConfig model = bench_case.Model();
  struct Weights {
    const char* name;
    int64_t outputs, inputs;
    int count;
  };
  const int heads = model.num_attention_heads, kv_heads = model.num_key_value_heads;
  const int64_t hidden = model.hidden_size, intermediate = model.intermediate_size;
  const Weights all[] = {
      {"qkv", int64_t{heads + 2 * kv_heads} * model.head_dim, hidden, model.num_hidden_layers},
      {"out", hidden, int64_t{heads} * model.head_dim, model.num_hidden_layers},
      {"up", (model.gated() ? 2 : 1) * intermediate, hidden, model.num_hidden_layers},
      {"down", hidden, intermediate, model.num_hidden_layers},
      {"head", model.vocab_size, hidden, 1}};
  const std::pair<LinearKind, const char*> kinds[] = {{LinearKind::kForward, "forward"},
                                                      {LinearKind::kBackwardInput, "to input"},
                                                      {LinearKind::kBackwardWeight, "to weight"}};
  std::vector<ChosenProduct> products;
  for (const auto& [name, outputs, inputs, count] : all) {
    for (const auto& [kind, direction] : kinds) {
      const LinearShape shape{kind, bench_case.shape.tokens(), outputs, inputs};
      ChosenProduct& product = products.emplace_back(
          ChosenProduct{std::string(name) + " " + direction, count, shape.flops()});
      for (const ProductTypes types : TypesOf(bench_case)) {
        Choose(LinearFormulations(shape, types, bench_case.threads), &product);
      }
    }
  }
  return products;
}

ChosenProduct AttentionProducts(const BenchCase& bench_case, const std::string& name,
                                const std::vector<AttentionShape>& shapes) {
  const int64_t length = bench_case.shape.context;
  const int64_t heads = int64_t{bench_case.shape.rows} * bench_case.shape.heads;
  ChosenProduct product{
      name, bench_case.shape.layers,
      12.0 * static_cast<double>(heads * length * length) * bench_case.Model().head_dim};
  for (const AttentionShape& shape : shapes) {
    for (const ProductTypes types : TypesOf(bench_case)) {
      Choose(AttentionFormulations(shape, types, bench_case.threads), &product);
    }
  }
  return product;
}

ChosenProduct FullAttention(const BenchCase& bench_case) {
  const ModelConfig model = bench_case.Model();
  const int64_t length = bench_case.shape.context, rows = bench_case.shape.rows;
  const int64_t heads = model.num_attention_heads, kv_heads = model.num_key_value_heads;
  std::vector<AttentionShape> shapes = {{rows * heads, length, length, model.head_dim, length}};
  if (kv_heads < heads) {
    const int64_t queries = heads / kv_heads * length;
    shapes.push_back({rows * kv_heads, queries, length, model.head_dim, queries});
  }
  return AttentionProducts(bench_case, "attention", shapes);
}

ChosenProduct CausalAttention(const BenchCase& bench_case) {
  const int64_t length = bench_case.shape.context;
  const int64_t heads = int64_t{bench_case.shape.rows} * bench_case.shape.heads;
  std::vector<AttentionShape> shapes;
  for (const int64_t tile : {64, 128}) {
    shapes.push_back({heads, length, length, bench_case.Model().head_dim, std::min(tile, length)});
  }
  return AttentionProducts(bench_case, "causal attention", shapes);
}

double Run(const ChosenProduct& product) {
  const double start = WallSeconds();
  for (int i = 0; i < product.count; ++i) product.formulation.run();
  return WallSeconds() - start;
}

Json Describe(const ChosenProduct& product) {
  return {{"product", product.name},
          {"count", product.count},
          {"formulation", product.formulation.name},
          {"gflops", 1e-9 * product.flops / product.best_seconds}};
}

}  // namespace

int ServeLimitSteps(const BenchCase& bench_case) {
  CpuLibraries();  // what GYRE_INSTRUCTIONS keeps Gyre to, it keeps the limit to
  omp_set_num_threads(bench_case.threads);
  const std::vector<ChosenProduct> linear = LinearProducts(bench_case);
  const ChosenProduct full = FullAttention(bench_case);
  const ChosenProduct causal = CausalAttention(bench_case);
  const auto missing = [](const ChosenProduct& product) { return !product.formulation.run; };
  if (std::any_of(linear.begin(), linear.end(), missing) || missing(full) || missing(causal)) {
    return ServeAbsence("oneDNN has no fast " + bench_case.precision + " products here");
  }
  Json products = Json::array();
  for (const ChosenProduct& product : linear) products.push_back(Describe(product));
  products.push_back(Describe(full)), products.push_back(Describe(causal));
  double full_sum = 0, causal_sum = 0;  // of a sample
  return ServeSteps({{"products", products}}, [&](int step) -> Result<Json> {
    if (step == 0) full_sum = causal_sum = 0;
    double seconds = 0;
    for (const ChosenProduct& product : linear) seconds += Run(product);
    full_sum += seconds + Run(full), causal_sum += seconds + Run(causal);
    return Json{{"full_seconds", full_sum / (step + 1)},
                {"causal_seconds", causal_sum / (step + 1)}};
  });
}

}  // namespace gyre
