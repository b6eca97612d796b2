#include "results/query.h"

#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/coordinator_option.h"
#include "cli/exit_code.h"
#include "cli/output_table.h"
#include "cli/sweep_client.h"
#include "cli/terminal.h"

namespace gyre {
namespace {

struct Arguments {
  std::string sql, coordinator, database;
  int64_t max_rows = kDefaultQueryRows;
  OutputFormat format = OutputFormat::kTable;
};

Result<QueryTable> AskCoordinator(const Arguments& arguments) {
  GYRE_ASSIGN_OR_RETURN(const auto client, SweepClient::Connect(arguments.coordinator));
  GYRE_ASSIGN_OR_RETURN(const std::string json, client->Query(arguments.sql, arguments.max_rows));
  return QueryTableFromJson(json);
}

int RunQueryCommand(const Arguments& arguments) {
  const Result<QueryTable> table =
      arguments.database.empty() ? AskCoordinator(arguments)
                                 : RunQuery(arguments.database, arguments.sql, arguments.max_rows);
  if (!table.ok()) return Fail(table.status());
  const int width = TerminalOf(STDOUT_FILENO).width;
  std::fputs(RenderQueryTable(*table, arguments.format, width).c_str(), stdout);
  return kExitDone;
}

}  // namespace

void AddQueryCommand(CLI::App& app, int* exit_code) {
  auto* command = app.add_subcommand("query", "Ask the results in SQL, read-only");
  command->footer(
      "One statement that only reads; any SQLite client can do the same on the database file. "
      "Views for\n"
      "people: curves, final, comparison, frequencies, contributions, head_census, documents, "
      "failures.\n\n"
      "Examples:\n"
      "  gyre query \"SELECT * FROM comparison\" --db results.db\n"
      "  gyre query \"SELECT variant, seed, step, value FROM curves WHERE metric = 'train/loss'\" "
      "--format csv");
  auto arguments = std::make_shared<Arguments>();
  command->add_option("SQL", arguments->sql, "The statement")->required();
  command->add_option("--max-rows", arguments->max_rows, "Refuse an answer with more rows")
      ->check(CLI::Range(1, 10000000))
      ->capture_default_str();
  AddCoordinatorOption(command, &arguments->coordinator);
  AddDatabaseOption(command, &arguments->database);
  AddFormatOption(command, &arguments->format);
  command->callback([arguments, exit_code] { *exit_code = RunQueryCommand(*arguments); });
}

}  // namespace gyre
