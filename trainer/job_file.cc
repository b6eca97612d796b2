#include "trainer/job_file.h"

#include <vector>

#include "base/files.h"
#include "trainer/data/dataset.h"
#include "trainer/pretrained/tokenizer_of.h"
#include "trainer/pretrained/weights_object.h"

namespace gyre {

Result<TrainerJob> ReadJobFile(const std::filesystem::path& file, const std::filesystem::path& home,
                               const std::function<void(const std::string&)>& progress) {
  GYRE_ASSIGN_OR_RETURN(const std::string text, ReadFile(file, size_t{1} << 26));
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("config")) {
    return InvalidArgument(file.string() +
                           " is not a job: a JSON object with \"config\" and \"seed\" is wanted");
  }
  for (const char* of_a_plan : {"variant", "parameters", "memory", "frequencies"}) {
    json.erase(of_a_plan);
  }
  if (!json.contains("seed")) json["seed"] = 0;
  if (!json.contains("key") || json["key"].is_null()) json["key"] = "";
  if (!json.contains("initial_weights")) json["initial_weights"] = "";
  if (!json.contains("datasets")) {
    const auto config = JobConfigFromJson(json["config"]);
    if (!config.ok()) {
      return InvalidArgument(file.string() + ": " + config.status().message() +
                             " (`gyre plan --format json` prints whole jobs)");
    }
    const JobDatasetRequests requests = RequestsOf(config->data);
    const PrepareOptions options{.open_tokenizer = OpenNamedTokenizer};
    std::vector<TrainText> texts;
    for (const auto& [request, weight] : requests.train) {
      GYRE_ASSIGN_OR_RETURN(const DatasetInfo info,
                            PrepareDataset(home, request, progress, options));
      texts.push_back({info.hash, weight});
    }
    json["datasets"] = {{"train", ToJson(texts)}, {"validation", Json::object()}};
    for (const auto& [name, request] : requests.validation) {
      GYRE_ASSIGN_OR_RETURN(const DatasetInfo info,
                            PrepareDataset(home, request, progress, options));
      json["datasets"]["validation"][name] = info.hash;
    }
  }
  auto job = TrainerJobFromJson(json);
  if (!job.ok()) return job.status().WithContext(file.string());
  const std::string& from = job->config.train.init_from;
  if (!from.empty() && job->initial_weights.empty() && !from.starts_with(kCheckpointPrefix)) {
    progress("making an object of the weights in " + from);
    GYRE_ASSIGN_OR_RETURN(const PretrainedFolder folder, PretrainedFolder::Open(from));
    GYRE_ASSIGN_OR_RETURN(const auto written, KeepWeights(home, folder));
    job->initial_weights = written.hash;
  }
  return job;
}

}  // namespace gyre
