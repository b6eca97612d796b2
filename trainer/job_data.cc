#include "trainer/job_data.h"

#include <utility>

namespace gyre {
namespace {

Result<std::unique_ptr<Dataset>> OpenDataset(const std::filesystem::path& home,
                                             const std::string& hash, const ModelConfig& model) {
  GYRE_ASSIGN_OR_RETURN(Dataset dataset, Dataset::Open(home, hash));
  if (dataset.info().vocab_size > model.vocab_size) {
    return InvalidArgument("model.vocab_size is " + std::to_string(model.vocab_size) +
                           ", and the data set " + dataset.info().name + " needs " +
                           std::to_string(dataset.info().vocab_size));
  }
  return std::make_unique<Dataset>(std::move(dataset));
}

}  // namespace

Result<JobData> OpenJobData(const TrainerJob& job, const std::filesystem::path& home) {
  const JobConfig& config = job.config;
  JobData data;
  std::vector<WeightedText> texts;
  for (const TrainText& text : job.train_datasets) {
    GYRE_ASSIGN_OR_RETURN(auto dataset, OpenDataset(home, text.hash, config.model));
    texts.push_back({dataset.get(), text.weight});
    data.texts.push_back(std::move(dataset));
  }
  GYRE_ASSIGN_OR_RETURN(Batches batches,
                        Batches::Create(texts, config.data.context, config.data.packing,
                                        config.train.batch_tokens, job.seed));
  data.batches = std::make_unique<Batches>(std::move(batches));
  for (const auto& [name, hash] : job.validation_datasets) {
    ValidationSet set{name, nullptr, nullptr};
    GYRE_ASSIGN_OR_RETURN(set.dataset, OpenDataset(home, hash, config.model));
    GYRE_ASSIGN_OR_RETURN(Windows windows, Windows::Create(set.dataset.get(), config.data.context));
    set.windows = std::make_unique<Windows>(std::move(windows));
    data.validation.push_back(std::move(set));
  }
  return data;
}

}  // namespace gyre
