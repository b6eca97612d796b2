#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "base/files.h"
#include "cli/command.h"
#include "cli/coordinator_option.h"
#include "cli/exit_code.h"
#include "cli/exported_model.h"
#include "cli/object_transfer.h"
#include "cli/sweep_client.h"
#include "objects/object_store.h"
#include "results/job_weights.h"
#include "trainer/pretrained/export_folder.h"

namespace gyre {
namespace {

struct Arguments {
  std::string job, format = "huggingface", folder, coordinator, database;
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

Status Export(const Arguments& arguments) {
  std::unique_ptr<SweepClient> client;
  if (arguments.database.empty()) {
    GYRE_ASSIGN_OR_RETURN(client, SweepClient::Connect(arguments.coordinator));
  }
  const AskSql ask = [&](const std::string& sql) -> Result<QueryTable> {
    if (client == nullptr) return RunQuery(arguments.database, sql, /*max_rows=*/0);
    GYRE_ASSIGN_OR_RETURN(const std::string json, client->Query(sql, kDefaultQueryRows));
    return QueryTableFromJson(json);
  };
  GYRE_ASSIGN_OR_RETURN(const JobWeights job, FindJobWeights(arguments.job, ask));
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

}  // namespace

void AddExportCommand(CLI::App& app, int* exit_code) {
  auto* command = app.add_subcommand("export", "A job's model as a Hugging Face folder");
  command->footer(
      "JOB is a job's number or SWEEP/VARIANT/SEED; @STEP behind it takes another checkpoint than "
      "the newest.\n"
      "Writes config.json, model.safetensors (float32), README.md with where it comes from, and "
      "the tokenizer's\n"
      "model where there is one. What `transformers` cannot express is said, and makes it refuse "
      "the folder;\n"
      "`gyre-trainer eval`, `inspect` and train.init_from read it all the same.\n\n"
      "Examples:\n"
      "  gyre export 12 --format huggingface -o model\n"
      "  gyre export quickstart/RoPE-10k/0 -o model --db results.db");
  auto arguments = std::make_shared<Arguments>();
  command
      ->add_option("JOB", arguments->job,
                   "Its number, or SWEEP/VARIANT/SEED; with @STEP one of its "
                   "checkpoints")
      ->required();
  command->add_option("--format", arguments->format, "What to write")
      ->check(CLI::IsMember({"huggingface"}))
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
