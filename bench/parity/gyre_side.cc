// Gyre's half of a comparison with PyTorch: writes initial weights and batches as plain numbers for
// the other half (torch_side.py), trains on them, and writes its curve. bench/parity/run does both
// and draws them.
//
//   gyre-parity DIR [--home DIR] [--steps N] [--threads N] [--precision float32|bf16]
//
// DIR afterwards has
//   job.json           the job, and its tensors in order: [{"name", "shape"}, ...]
//   weights.f32        the initial weights, tensor after tensor
//   batches.i32        for each step its tokens (rows, context), then its targets
//   gyre-PRECISION.tsv step, learning rate, loss (nats a target), gradient norm before clipping
//   gyre-PRECISION.f32 the final weights

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "base/files.h"
#include "trainer/backend/create_backend.h"
#include "trainer/data/batches.h"
#include "trainer/data/dataset.h"
#include "trainer/model/model.h"
#include "trainer/position/rotation.h"
#include "trainer/schedule.h"

namespace gyre {
namespace {

struct ParityOptions {
  std::filesystem::path folder, home = GyreHome();
  std::string precision = "float32";
  int steps = 500, threads = 2;
};

// 10.7 million parameters on bytes of a dictionary.
JobConfig MakeConfig(int steps) {
  JobConfig config;
  ModelConfig& model = config.model;
  model.num_hidden_layers = 6;
  model.hidden_size = 384;
  model.intermediate_size = 1024;
  model.num_attention_heads = model.num_key_value_heads = 6;
  model.head_dim = 64;
  config.data.train = "corpus:gcide";
  config.data.context = 256;
  config.data.packing = "stream";
  TrainConfig& train = config.train;
  train.batch_tokens = 8 * 256;
  train.tokens = steps * train.batch_tokens;
  train.schedule.warmup_tokens = train.tokens / 10;
  return config;
}

constexpr uint64_t kSeed = 1;

template <typename Value>
void Append(std::ofstream* file, const std::vector<Value>& values) {
  file->write(reinterpret_cast<const char*>(values.data()),
              static_cast<std::streamsize>(values.size() * sizeof(Value)));
}

Status WriteWeights(const std::filesystem::path& path, const Model& model) {
  std::ofstream file(path, std::ios::binary);
  for (const Tensor& tensor : model.parameters()) {
    int64_t count = 1;
    for (const int64_t size : tensor.shape) count *= size;
    std::vector<float> values(static_cast<size_t>(count));
    GYRE_RETURN_IF_ERROR(model.Save(TensorKind::kWeight, tensor.name, values));
    Append(&file, values);
  }
  file.close();
  return file ? OkStatus() : Unavailable("cannot write " + path.string());
}

Status WriteInputs(const std::filesystem::path& folder, const JobConfig& config, const Model& model,
                   Batches* batches) {
  Json tensors = Json::array();
  for (const Tensor& tensor : model.parameters()) {
    tensors.push_back({{"name", tensor.name}, {"shape", tensor.shape}});
  }
  const Json job = {{"config", ToJson(config)}, {"seed", kSeed}, {"tensors", tensors}};
  GYRE_RETURN_IF_ERROR(WriteFileAtomically(folder / "job.json", job.dump(2) + "\n"));
  GYRE_RETURN_IF_ERROR(WriteWeights(folder / "weights.f32", model));
  std::ofstream file(folder / "batches.i32", std::ios::binary);
  Batch batch;
  for (int64_t step = 1; step <= TotalSteps(config.train); ++step) {
    GYRE_RETURN_IF_ERROR(batches->Fill(step, 0, batches->rows_per_step(), &batch));
    Append(&file, batch.tokens);
    Append(&file, batch.targets);
  }
  file.close();
  return file ? OkStatus() : Unavailable("cannot write to " + folder.string());
}

Status TrainAndWriteCurve(const ParityOptions& options, const JobConfig& config, Model* model,
                          Batches* batches) {
  std::ofstream curve(options.folder / ("gyre-" + options.precision + ".tsv"));
  curve.precision(9);
  curve << "step\tlearning_rate\tloss\tgradient_norm\n";
  Batch batch;
  for (int64_t step = 1; step <= TotalSteps(config.train); ++step) {
    GYRE_RETURN_IF_ERROR(batches->Fill(step, 0, batches->rows_per_step(), &batch));
    GYRE_RETURN_IF_ERROR(model->ZeroGradients());
    GYRE_ASSIGN_OR_RETURN(const double nats, model->ForwardBackward(batch));
    const double rate = LearningRate(config.train, step);
    GYRE_ASSIGN_OR_RETURN(const double norm,
                          model->OptimizerStep(config.train.optimizer, rate, step,
                                               static_cast<int64_t>(batch.targets.size())));
    const double loss = nats / static_cast<double>(batch.targets.size());
    curve << step << "\t" << rate << "\t" << loss << "\t" << norm << "\n" << std::flush;
    if (step % 20 == 0) std::printf("step %lld: loss %.6f\n", static_cast<long long>(step), loss);
  }
  return WriteWeights(options.folder / ("gyre-" + options.precision + ".f32"), *model);
}

Status Run(const ParityOptions& options) {
  const JobConfig config = MakeConfig(options.steps);
  GYRE_RETURN_IF_ERROR(MakeFolders(options.folder));
  GYRE_ASSIGN_OR_RETURN(
      const DatasetInfo info,
      PrepareDataset(options.home, RequestsOf(config.data).train.front().request,
                     [](const std::string& said) { std::printf("%s\n", said.c_str()); }));
  GYRE_ASSIGN_OR_RETURN(const Dataset dataset, Dataset::Open(options.home, info.hash));
  GYRE_ASSIGN_OR_RETURN(Batches batches,
                        Batches::Create({{&dataset}}, config.data.context, config.data.packing,
                                        config.train.batch_tokens, kSeed));
  GYRE_ASSIGN_OR_RETURN(const Precision precision, PrecisionFromName(options.precision));
  if (UsablePrecision("cpu", precision) != precision) {
    return Unimplemented("this machine does not train in " + options.precision);
  }
  GYRE_ASSIGN_OR_RETURN(const auto backend, CreateBackend("cpu", options.threads, precision));
  GYRE_ASSIGN_OR_RETURN(auto positions,
                        ResolvePositions(config.position, config.model, config.data.context));
  GYRE_ASSIGN_OR_RETURN(const auto model, Model::Create(config.model, std::move(positions),
                                                        backend.get(), batches.rows_per_step(),
                                                        config.data.context, /*training=*/true));
  GYRE_RETURN_IF_ERROR(model->InitializeWeights(kSeed, 1));
  GYRE_RETURN_IF_ERROR(WriteInputs(options.folder, config, *model, &batches));
  return TrainAndWriteCurve(options, config, model.get(), &batches);
}

bool Parse(int argc, char** argv, ParityOptions* options) {
  if (argc < 2 || argv[1][0] == '-') return false;
  options->folder = argv[1];
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    if (flag == "--home") {
      options->home = argv[i + 1];
    } else if (flag == "--precision") {
      options->precision = argv[i + 1];
    } else if (flag == "--steps") {
      options->steps = std::atoi(argv[i + 1]);
    } else if (flag == "--threads") {
      options->threads = std::atoi(argv[i + 1]);
    } else {
      return false;
    }
  }
  return argc % 2 == 0 && options->steps > 0;
}

}  // namespace
}  // namespace gyre

int main(int argc, char** argv) {
  gyre::ParityOptions options;
  if (!gyre::Parse(argc, argv, &options)) {
    std::fprintf(stderr, "see the comment at the top of bench/parity/gyre_side.cc\n");
    return 2;
  }
  const gyre::Status status = gyre::Run(options);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}
