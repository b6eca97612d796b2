#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "base/files.h"
#include "cli/command.h"
#include "cli/coordinator_option.h"
#include "cli/exit_code.h"
#include "cli/export_results.h"
#include "cli/exported_model.h"
#include "cli/object_transfer.h"
#include "cli/sweep_client.h"
#include "objects/object_store.h"
#include "results/job_weights.h"
#include "trainer/pretrained/export_folder.h"

namespace gyre {
namespace {

struct Arguments {
  std::string target, format = "huggingface", folder, coordinator, database;
};

// Brings the weights here, if they are not.
Status Fetch(const Arguments& arguments, const std::string& hash) {
  const ObjectRef ref{ObjectKind::kObject, hash};
  if (ObjectStore(GyreHome()).Has(ref)) return OkStatus();
  if (!arguments.database.empty()) {
    return NotFound("the weights " + hash + " are not in " + GyreHome().string() +
                    "; without --db they are fetched from the coordinator");
  }
  return DownloadObject(arguments.coordinator, GyreHome(), {ref, "the weights"}, {});
}

Status ExportModel(const Arguments& arguments, const AskSql& ask) {
  const Result<JobWeights> found = FindJobWeights(arguments.target, ask);
  if (found.status().code() == StatusCode::kInvalidArgument) {
    return InvalidArgument(found.status().message() +
                           "; for the results of a sweep add --format csv, jsonl or tensorboard");
  }
  if (!found.ok()) return found.status();
  const JobWeights& job = *found;
  GYRE_ASSIGN_OR_RETURN(const ExportedModel model, DescribeModel(job, ask, GyreHome()));
  GYRE_RETURN_IF_ERROR(Fetch(arguments, job.hash));
  GYRE_RETURN_IF_ERROR(
      ExportFolder(GyreHome(), job.hash, model.config, model.files, arguments.folder));
  for (const std::string& what : model.not_in_transformers) {
    Say("transformers cannot compute this model: it does not know " + what +
        "; gyre-trainer reads the folder");
  }
  for (const std::string& note : model.notes) Say(note);
  Say("job " + std::to_string(job.job_id) + " (" + job.sweep + "/" + job.variant + "/" +
      std::to_string(job.seed) + ") at step " + std::to_string(job.step) + " is in " +
      arguments.folder);
  return OkStatus();
}

Status Export(const Arguments& arguments) {
  // On this machine nobody else waits for the answer.
  constexpr Millis kPatience{600000};
  std::unique_ptr<SweepClient> client;
  if (arguments.database.empty()) {
    GYRE_ASSIGN_OR_RETURN(client, SweepClient::Connect(arguments.coordinator));
  }
  const AskSql ask = [&](const std::string& sql) -> Result<QueryTable> {
    if (client == nullptr) return RunQuery(arguments.database, sql, /*max_rows=*/0, kPatience);
    GYRE_ASSIGN_OR_RETURN(const std::string json, client->Query(sql, kDefaultQueryRows));
    return QueryTableFromJson(json);
  };
  if (arguments.format == "huggingface") return ExportModel(arguments, ask);
  return ExportResults(arguments.target, arguments.format, ask, arguments.folder);
}

}  // namespace

void AddExportCommand(CLI::App& app, int* exit_code) {
  auto* command =
      app.add_subcommand("export", "A sweep's results as files, or a job's model as a folder");
  command->footer(
      "Two forms, and each writes a folder that is new or empty.\n\n"
      "gyre export SWEEP --format csv|jsonl|tensorboard: the results. csv and jsonl write one file "
      "a view of\n"
      "the database: curves, final, comparison, frequencies, contributions, head_scores, "
      "documents, failures, and\n"
      "jobs with their configuration (docs/database.md says what the columns mean). tensorboard "
      "writes one\n"
      "folder a variant and seed, with the curves by step.\n\n"
      "gyre export JOB: a job's model as a Hugging Face folder. JOB is a job's number or "
      "SWEEP/VARIANT/SEED;\n"
      "@STEP behind it takes another checkpoint than the newest. Writes config.json, "
      "model.safetensors (float32),\n"
      "README.md with where it comes from, and the tokenizer's model where there is one. What "
      "`transformers`\n"
      "cannot express is said, and makes it refuse the folder; `gyre-trainer eval`, `inspect` and "
      "train.init_from\n"
      "read it all the same.\n\n"
      "Examples:\n"
      "  gyre export quickstart --format csv -o results --db results.db\n"
      "  gyre export quickstart --format tensorboard -o runs\n"
      "  gyre export 12 -o model\n"
      "  gyre export quickstart/RoPE-10k/0 -o model --db results.db");
  auto arguments = std::make_shared<Arguments>();
  command
      ->add_option("TARGET", arguments->target,
                   "A sweep; or for a model a job's number, or SWEEP/VARIANT/SEED, with @STEP one "
                   "of its checkpoints")
      ->required();
  command->add_option("--format", arguments->format, "What to write")
      ->check(CLI::IsMember({"huggingface", "csv", "jsonl", "tensorboard"}))
      ->capture_default_str();
  command->add_option("-o,--output", arguments->folder, "A folder that is new or empty")
      ->type_name("DIR")
      ->required();
  AddCoordinatorOption(command, &arguments->coordinator);
  AddDatabaseOption(command, &arguments->database);
  command->callback([arguments, exit_code] {
    const Status status = Export(*arguments);
    *exit_code = status.ok() ? kExitDone : Fail(status);
  });
}

}  // namespace gyre
