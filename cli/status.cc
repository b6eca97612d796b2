#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/coordinator_option.h"
#include "cli/exit_code.h"
#include "cli/output_status.h"
#include "cli/sweep_client.h"
#include "cli/terminal.h"

namespace gyre {
namespace {

struct Arguments {
  std::string sweep, coordinator, database;
  OutputFormat format = OutputFormat::kTable;
};

template <typename T>
int Print(const Result<T>& status, OutputFormat format) {
  if (!status.ok()) return Fail(status.status());
  const Terminal terminal = TerminalOf(STDOUT_FILENO);
  // A line stays free for the prompt.
  const int height = terminal.height > 0 ? terminal.height - 1 : 0;
  std::fputs(RenderStatus(*status, format, terminal.width, height).c_str(), stdout);
  return kExitDone;
}

int AskCoordinator(const Arguments& arguments) {
  const auto client = SweepClient::Connect(arguments.coordinator);
  if (!client.ok()) return Fail(client.status());
  if (arguments.sweep.empty()) return Print((*client)->GetCluster(), arguments.format);
  return Print((*client)->GetSweep(arguments.sweep), arguments.format);
}

int ReadDatabase(const Arguments& arguments) {
  const auto database = Database::OpenReadOnly(arguments.database);
  if (!database.ok()) return Fail(database.status());
  if (arguments.sweep.empty()) return Print(ReadClusterStatus(*database), arguments.format);
  return Print(ReadSweepStatus(*database, arguments.sweep), arguments.format);
}

}  // namespace

void AddStatusCommand(CLI::App& app, int* exit_code) {
  auto* command = app.add_subcommand("status", "How the cluster or one sweep stands, once");
  command->footer(
      "Examples:\n"
      "  gyre status\n"
      "  gyre status quickstart --db results.db --format json");
  auto arguments = std::make_shared<Arguments>();
  command->add_option("SWEEP", arguments->sweep, "A sweep's name (default: the cluster)");
  AddCoordinatorOption(command, &arguments->coordinator);
  AddDatabaseOption(command, &arguments->database);
  AddFormatOption(command, &arguments->format);
  command->callback([arguments, exit_code] {
    *exit_code =
        arguments->database.empty() ? AskCoordinator(*arguments) : ReadDatabase(*arguments);
  });
}

}  // namespace gyre
