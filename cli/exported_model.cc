#include "cli/exported_model.h"

#include <cstdio>
#include <set>
#include <utility>
#include <variant>

#include "base/files.h"
#include "trainer/data/dataset.h"
#include "trainer/pretrained/export_config.h"

namespace gyre {
namespace {

std::string Shown(const QueryValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* number = std::get_if<int64_t>(&value)) return std::to_string(*number);
  if (const auto* real = std::get_if<double>(&value)) {
    char text[32];
    std::snprintf(text, sizeof text, "%.6g", *real);
    return text;
  }
  return "";
}

// Of the texts that the job trained on, in their order.
std::vector<std::string> TrainHashes(const JobWeights& job) {
  std::vector<std::string> hashes;
  if (const auto texts = TrainTextsFromJson(TrainTextsJson(job.train_dataset)); texts.ok()) {
    for (const TrainText& text : *texts) hashes.push_back(text.hash);
  }
  return hashes;
}

// The token that begins a document, or -1 where no data set is here to tell.
int BosOf(const std::filesystem::path& home, const std::vector<std::string>& hashes) {
  for (const std::string& hash : hashes) {
    const auto dataset = Dataset::Open(home, hash);
    int32_t first = 0;
    if (dataset.ok() && dataset->Read(0, {&first, 1}).ok()) return first;
  }
  return -1;
}

std::string List(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) text += "- " + item + "\n";
  return text;
}

// A line of what trained it, for each data set.
Result<std::string> DataLines(const JobWeights& job, const AskSql& ask) {
  std::string quoted;
  for (const std::string& hash : TrainHashes(job)) {
    quoted += (quoted.empty() ? "'" : ", '") + hash + "'";
  }
  GYRE_ASSIGN_OR_RETURN(
      const QueryTable table,
      ask("SELECT name, tokens, tokenizer, license, source FROM datasets WHERE hash IN (" + quoted +
          ") ORDER BY name"));
  std::string text;
  for (const auto& row : table.rows) {
    text += "- " + Shown(row[0]) + ": " + Shown(row[1]) + " tokens (" + Shown(row[2]) +
            "), license: " + Shown(row[3]) + ", source: " + Shown(row[4]) + "\n";
  }
  return text;
}

Result<std::string> Metrics(const JobWeights& job, const AskSql& ask) {
  GYRE_ASSIGN_OR_RETURN(const QueryTable table,
                        ask("SELECT metric, value FROM points WHERE job_id = " +
                            std::to_string(job.job_id) + " AND step = " + std::to_string(job.step) +
                            " AND metric NOT LIKE 'train/%' ORDER BY metric"));
  if (table.rows.empty()) return std::string("None at this step.\n");
  std::string text = "| metric | value |\n| --- | --- |\n";
  for (const auto& row : table.rows) text += "| " + Shown(row[0]) + " | " + Shown(row[1]) + " |\n";
  return text;
}

Result<std::string> Readme(const JobWeights& job, const JobConfig& config,
                           const ExportedConfig& exported, const AskSql& ask) {
  std::string text = "# " + job.sweep + " / " + job.variant + " / seed " +
                     std::to_string(job.seed) + "\n\nTrained by Gyre: job " +
                     std::to_string(job.job_id) + " (" + job.state + "), key " + job.key +
                     ", step " + std::to_string(job.step) + ", " + std::to_string(job.tokens) +
                     " of " + std::to_string(config.train.tokens) + " tokens.\n";
  if (!config.train.init_from.empty()) {
    text += "It started from other weights: " + config.train.init_from + ".\n";
  }
  text +=
      "The block \"gyre\" of config.json says all that the model does; `gyre-trainer inspect` "
      "and `eval` read it.\n";
  if (!exported.not_in_transformers.empty()) {
    text += "\n## Not for transformers\n\nIts " +
            exported.json["architectures"][0].get<std::string>() +
            " cannot compute this model, and refuses it (rope_type \"gyre\"), since it does not "
            "know\n\n" +
            List(exported.not_in_transformers);
  }
  if (!exported.notes.empty()) text += "\n## Notes\n\n" + List(exported.notes);
  GYRE_ASSIGN_OR_RETURN(const std::string data, DataLines(job, ask));
  GYRE_ASSIGN_OR_RETURN(const std::string metrics, Metrics(job, ask));
  return text + "\n## Data\n\n" + data + "\n## Results at this step\n\n" + metrics +
         "\n## Configuration\n\n```json\n" + ToJson(config).dump(2) + "\n```\n";
}

}  // namespace

Result<ExportedModel> DescribeModel(const JobWeights& job, const AskSql& ask,
                                    const std::filesystem::path& home) {
  const Json json = Json::parse(job.config, nullptr, /*allow_exceptions=*/false);
  auto config = JobConfigFromJson(json);
  if (!config.ok()) return config.status().WithContext("the job's configuration");
  const std::vector<std::string> hashes = TrainHashes(job);
  ExportedConfig exported =
      ExportConfig(config->model, PositionInForce(config->position, job.tokens),
                   config->data.context, BosOf(home, hashes));
  ExportedModel model;
  GYRE_ASSIGN_OR_RETURN(model.files["README.md"], Readme(job, *config, exported, ask));
  model.files["config.json"] = exported.json.dump(2) + "\n";
  if (!hashes.empty()) {
    auto tokenizer = ReadFile(home / "datasets" / hashes.front() / "tokenizer.model");
    const bool json = tokenizer.ok() && tokenizer->starts_with("{");
    if (tokenizer.ok()) {
      model.files[json ? "tokenizer.json" : "tokenizer.model"] = *std::move(tokenizer);
    }
  }
  model.config = std::move(config->model);
  model.not_in_transformers = std::move(exported.not_in_transformers);
  model.notes = std::move(exported.notes);
  return model;
}

}  // namespace gyre
