#include "cli/command.h"
#include "cli/command_line.h"

int main(int argc, char** argv) {
  CLI::App app("Gyre: sweeps of rotary position encodings, from a YAML file to a comparison",
               "gyre");
  app.require_subcommand(1);
  app.footer("Every command has --help with an example.");
  int exit_code = 0;

  gyre::AddRunCommand(app, &exit_code);
  gyre::AddPlanCommand(app, &exit_code);
  gyre::AddSubmitCommand(app, &exit_code);
  gyre::AddStatusCommand(app, &exit_code);
  gyre::AddWatchCommand(app, &exit_code);
  gyre::AddExplainCommand(app, &exit_code);
  gyre::AddLogsCommand(app, &exit_code);
  gyre::AddPauseCommand(app, &exit_code);
  gyre::AddResumeCommand(app, &exit_code);
  gyre::AddRetryCommand(app, &exit_code);
  gyre::AddCancelCommand(app, &exit_code);
  gyre::AddCompareCommand(app, &exit_code);
  gyre::AddPlotCommand(app, &exit_code);
  gyre::AddReportCommand(app, &exit_code);
  gyre::AddQueryCommand(app, &exit_code);
  gyre::AddExportCommand(app, &exit_code);
  gyre::AddAnalyzeCommand(app, &exit_code);
  gyre::AddTheoryCommand(app, &exit_code);
  gyre::AddCoordinatorCommand(app, &exit_code);
  gyre::AddWorkerCommand(app, &exit_code);
  gyre::AddDataCommand(app, &exit_code);
  gyre::AddDoctorCommand(app, &exit_code);
  gyre::AddBackupCommand(app, &exit_code);
  gyre::AddRestoreCommand(app, &exit_code);
  gyre::AddGcCommand(app, &exit_code);
  gyre::AddCertificatesCommand(app, &exit_code);
  gyre::AddTokenCommand(app, &exit_code);
  gyre::AddVersionCommand(app, &exit_code);

  return gyre::ParseAndRun(app, argc, argv, &exit_code);
}
