// Training steps of the quick start's model on random tokens: tokens a second, and which share of the time the matrix
// products could have taken alone.
//
//   gyre-step-bench [--threads N] [--steps N] [--layers N] [--hidden N] [--inner N] [--heads N] [--context N]
//                   [--vocab N] [--rows N] [--backend cpu]

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

#include "base/random.h"
#include "trainer/backend/create_backend.h"
#include "trainer/backend/cpu/cpu_backend.h"
#include "trainer/model/model.h"

namespace gyre {
namespace {

struct BenchOptions {
  int threads = 1, steps = 5, rows = 16, context = 128;
  std::string backend = "cpu";
  ModelConfig model;
};

// Time that this process's threads computed: what other processes take away does not count.
double ProcessSeconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double WallSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Batch RandomBatch(const BenchOptions& options) {
  Batch batch{options.rows, options.context, {}, {}, {}};
  const Random random(1, "bench");
  for (int i = 0; i < options.rows * options.context; ++i) {
    const uint64_t index = static_cast<uint64_t>(i);
    const uint64_t vocab = static_cast<uint64_t>(options.model.vocab_size);
    batch.tokens.push_back(static_cast<int32_t>(random.Below(vocab, 0, index)));
    batch.targets.push_back(static_cast<int32_t>(random.Below(vocab, 1, index)));
  }
  return batch;
}

Status RunBench(const BenchOptions& options) {
  GYRE_ASSIGN_OR_RETURN(auto backend, CreateBackend(options.backend, options.threads));
  GYRE_ASSIGN_OR_RETURN(auto positions, ResolvePositions({}, options.model, options.context));
  GYRE_ASSIGN_OR_RETURN(auto model, Model::Create(options.model, positions, backend.get(),
                                                  options.rows, options.context, true));
  GYRE_RETURN_IF_ERROR(model->InitializeWeights(1));
  const Batch batch = RandomBatch(options);
  const int64_t tokens = int64_t{options.rows} * options.context;
  double best_cpu = 1e30, best_wall = 1e30;
  for (int step = 1; step <= options.steps; ++step) {
    const double cpu = ProcessSeconds(), wall = WallSeconds();
    GYRE_RETURN_IF_ERROR(model->ZeroGradients());
    GYRE_ASSIGN_OR_RETURN(const double nll, model->ForwardBackward(batch));
    GYRE_ASSIGN_OR_RETURN(const double norm, model->OptimizerStep({}, 1e-3, step, tokens));
    best_cpu = std::min(best_cpu, ProcessSeconds() - cpu);
    best_wall = std::min(best_wall, WallSeconds() - wall);
    if (step == options.steps) {
      std::printf("loss %.4f  gradient norm %.4f\n", nll / static_cast<double>(tokens), norm);
    }
  }
  const ModelConfig& m = options.model;
  const double matrix_parameters = static_cast<double>(
      ParameterCount(m) - (m.tie_word_embeddings ? 0 : int64_t{m.vocab_size} * m.hidden_size));
  const double flops_per_token =
      6 * matrix_parameters + 12.0 * m.num_hidden_layers * m.num_attention_heads * m.head_dim *
                                  options.context;  // full attention, as is customary
  std::printf("%s, %s, %d threads: %.2f ms a step by the clock, %.2f ms of processor time\n",
              CpuInstructionSet().c_str(), CpuLibraries().c_str(), options.threads,
              1e3 * best_wall, 1e3 * best_cpu);
  std::printf("%.0f tokens/s by the clock, %.0f by processor time (%.1f GFLOP/s)\n",
              static_cast<double>(tokens) / best_wall,
              static_cast<double>(tokens) / best_cpu * options.threads,
              1e-9 * flops_per_token * static_cast<double>(tokens) / best_cpu * options.threads);
  return OkStatus();
}

bool Parse(int argc, char** argv, BenchOptions* options) {
  ModelConfig& model = options->model;
  model.num_hidden_layers = 2, model.hidden_size = 128, model.intermediate_size = 512;
  model.num_attention_heads = 4;
  const std::pair<const char*, int*> numbers[] = {
      {"--threads", &options->threads}, {"--steps", &options->steps},
      {"--rows", &options->rows},       {"--context", &options->context},
      {"--layers", &model.num_hidden_layers}, {"--hidden", &model.hidden_size},
      {"--inner", &model.intermediate_size},  {"--heads", &model.num_attention_heads},
      {"--vocab", &model.vocab_size}};
  for (int i = 1; i + 1 < argc; i += 2) {
    bool known = std::strcmp(argv[i], "--backend") == 0;
    if (known) options->backend = argv[i + 1];
    for (const auto& [flag, number] : numbers) {
      if (std::strcmp(argv[i], flag) != 0) continue;
      *number = std::atoi(argv[i + 1]);
      known = true;
    }
    if (!known) return false;
  }
  model.num_key_value_heads = model.num_attention_heads;
  model.head_dim = model.hidden_size / std::max(model.num_attention_heads, 1);
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
  const gyre::Status status = gyre::RunBench(options);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
