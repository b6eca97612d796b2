// Training steps on random tokens: tokens a second, where the time goes, and what the matrix
// products alone would take. Times are those of the best step, and processor time where they say
// so: it is what stays comparable on a machine that others use too.
//
//   gyre-step-bench [--shape quick|small] [--threads N] [--steps N] [--instructions
//   avx512|avx2|baseline]

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/random.h"
#include "bench/timed_backend.h"
#include "trainer/backend/cpu/cpu_backend.h"
#include "trainer/backend/cpu/matrix_product.h"
#include "trainer/model/model.h"

namespace gyre {
namespace {

struct Shape {
  std::string name;
  int layers, hidden, intermediate, heads, vocab, context, rows;

  ModelConfig Model() const {
    ModelConfig model;
    model.num_hidden_layers = layers, model.hidden_size = hidden;
    model.intermediate_size = intermediate, model.vocab_size = vocab;
    model.num_attention_heads = model.num_key_value_heads = heads;
    model.head_dim = hidden / heads;
    return model;
  }
  int64_t tokens() const { return int64_t{rows} * context; }
};

// The quick start's model, and one some ten times its size.
const Shape kShapes[] = {{"quick", 2, 128, 512, 4, 257, 128, 16},
                         {"small", 4, 256, 1024, 4, 512, 256, 8}};

struct BenchOptions {
  std::string shape, instructions;
  int threads = 1, steps = 8;
};

double WallSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Batch RandomBatch(const Shape& shape) {
  Batch batch{shape.rows, shape.context, {}, {}, {}};
  const Random random(1, "bench");
  for (uint64_t i = 0; i < static_cast<uint64_t>(shape.tokens()); ++i) {
    const uint64_t vocab = static_cast<uint64_t>(shape.vocab);
    batch.tokens.push_back(static_cast<int32_t>(random.Below(vocab, 0, i)));
    batch.targets.push_back(static_cast<int32_t>(random.Below(vocab, 1, i)));
  }
  return batch;
}

/// The seconds of one product of each weight matrix with a row block, forward and both ways
/// backward, for all tokens.
struct Products {
  double seconds = 0, flops = 0;
};

Products LinearProductsAlone(const Shape& shape) {
  constexpr int kRows = 256, kRepeats = 5;
  struct Weight {
    int outputs, inputs, count;
  };
  const Weight weights[] = {{3 * shape.hidden, shape.hidden, shape.layers},
                            {shape.hidden, shape.hidden, shape.layers},
                            {2 * shape.intermediate, shape.hidden, shape.layers},
                            {shape.hidden, shape.intermediate, shape.layers},
                            {shape.vocab, shape.hidden, 1}};
  Products all;
  for (const auto& [outputs, inputs, count] : weights) {
    std::vector<float> x(size_t(kRows * inputs), 0.5f), y(size_t(kRows * outputs), 0.5f);
    std::vector<float> w(size_t(outputs * inputs), 0.5f);
    const cpu::MatrixProduct products[] = {
        {kRows, outputs, inputs, {x.data(), inputs}, {w.data(), inputs, true}, y.data(), outputs},
        {kRows, inputs, outputs, {y.data(), outputs}, {w.data(), inputs}, x.data(), inputs},
        {outputs, inputs, kRows, {y.data(), outputs, true}, {x.data(), inputs}, w.data(), inputs}};
    for (const cpu::MatrixProduct& product : products) {
      double best = 1e30;
      for (int i = 0; i < kRepeats; ++i) {
        const double start = ProcessSeconds();
        if (!cpu::Multiply(product)) return {};
        best = std::min(best, ProcessSeconds() - start);
      }
      all.seconds += best * count * static_cast<double>(shape.tokens()) / kRows;
      all.flops += 2.0 * outputs * inputs * static_cast<double>(count * shape.tokens());
    }
  }
  return all;
}

struct Measured {
  double wall = 1e30, processor = 1e30;
  std::map<std::string, double> kinds;  // of the best step
};

void Print(const Shape& shape, const BenchOptions& options, const Measured& best) {
  const double tokens = static_cast<double>(shape.tokens());
  std::printf(
      "%s: %d layers x %d, intermediate %d, %d heads, vocab %d, %d x %d tokens a step; %d "
      "threads\n",
      shape.name.c_str(), shape.layers, shape.hidden, shape.intermediate, shape.heads, shape.vocab,
      shape.rows, shape.context, options.threads);
  std::printf("  %8.0f tokens/s by the clock, %.0f by processor time\n", tokens / best.wall,
              tokens / best.processor * options.threads);
  for (const auto& [kind, seconds] : best.kinds) {
    std::printf("  %8.2f ms %4.1f %%  %s\n", 1e3 * seconds, 100 * seconds / best.processor,
                kind.c_str());
  }
  const Products alone = LinearProductsAlone(shape);
  std::printf("  %8.2f ms         the whole step, processor time\n", 1e3 * best.processor);
  std::printf("  %8.2f ms %4.1f %%  the products with weights alone, one thread, %.0f GFLOP/s\n",
              1e3 * alone.seconds, 100 * alone.seconds / best.processor,
              1e-9 * alone.flops / alone.seconds);
}

Status RunShape(const Shape& shape, const BenchOptions& options) {
  GYRE_ASSIGN_OR_RETURN(auto cpu, CreateCpuBackend(options.threads, options.instructions));
  TimedBackend backend(cpu.get());
  GYRE_ASSIGN_OR_RETURN(auto positions, ResolvePositions({}, shape.Model(), shape.context));
  GYRE_ASSIGN_OR_RETURN(auto model, Model::Create(shape.Model(), positions, &backend, shape.rows,
                                                  shape.context, /*training=*/true));
  GYRE_RETURN_IF_ERROR(model->InitializeWeights(1));
  const Batch batch = RandomBatch(shape);
  Measured best;
  for (int step = 1; step <= options.steps; ++step) {
    backend.TakeSeconds();
    const double processor = ProcessSeconds(), wall = WallSeconds();
    GYRE_RETURN_IF_ERROR(model->ZeroGradients());
    GYRE_RETURN_IF_ERROR(model->ForwardBackward(batch).status());
    GYRE_RETURN_IF_ERROR(model->OptimizerStep({}, 1e-3, step, shape.tokens()).status());
    best.wall = std::min(best.wall, WallSeconds() - wall);
    const double used = ProcessSeconds() - processor;
    if (used < best.processor) best.processor = used, best.kinds = backend.TakeSeconds();
  }
  Print(shape, options, best);
  return OkStatus();
}

bool Parse(int argc, char** argv, BenchOptions* options) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    if (flag == "--shape") {
      options->shape = argv[i + 1];
    } else if (flag == "--instructions") {
      options->instructions = argv[i + 1];
    } else if (flag == "--threads") {
      options->threads = std::atoi(argv[i + 1]);
    } else if (flag == "--steps") {
      options->steps = std::atoi(argv[i + 1]);
    } else {
      return false;
    }
  }
  return argc % 2 == 1;
}

}  // namespace
}  // namespace gyre

int main(int argc, char** argv) {
  gyre::BenchOptions options;
  if (!gyre::Parse(argc, argv, &options)) {
    std::fprintf(stderr, "see the comment at the top of bench/step_bench.cc\n");
    return 2;
  }
  std::printf("%s, %s\n", gyre::CpuInstructionSet().c_str(), gyre::CpuLibraries().c_str());
  for (const gyre::Shape& shape : gyre::kShapes) {
    if (!options.shape.empty() && options.shape != shape.name) continue;
    const gyre::Status status = gyre::RunShape(shape, options);
    if (status.ok()) continue;
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    return 1;
  }
  return 0;
}
