#pragma once

// One file a command: each adds its subcommand, with help and an example, to `app`; when it is
// chosen, its callback does the work and sets `*exit_code` (cli/exit_code.h).

#include <CLI/CLI.hpp>

namespace gyre {

void AddAnalyzeCommand(CLI::App& app, int* exit_code);
void AddBackupCommand(CLI::App& app, int* exit_code);
void AddCancelCommand(CLI::App& app, int* exit_code);
void AddCertificatesCommand(CLI::App& app, int* exit_code);
void AddCompareCommand(CLI::App& app, int* exit_code);
void AddCoordinatorCommand(CLI::App& app, int* exit_code);
void AddDataCommand(CLI::App& app, int* exit_code);
void AddExplainCommand(CLI::App& app, int* exit_code);
void AddExportCommand(CLI::App& app, int* exit_code);
void AddLogsCommand(CLI::App& app, int* exit_code);
void AddPauseCommand(CLI::App& app, int* exit_code);
void AddDoctorCommand(CLI::App& app, int* exit_code);
void AddGcCommand(CLI::App& app, int* exit_code);
void AddPlanCommand(CLI::App& app, int* exit_code);
void AddPlotCommand(CLI::App& app, int* exit_code);
void AddQueryCommand(CLI::App& app, int* exit_code);
void AddReportCommand(CLI::App& app, int* exit_code);
void AddRestoreCommand(CLI::App& app, int* exit_code);
void AddResumeCommand(CLI::App& app, int* exit_code);
void AddRetryCommand(CLI::App& app, int* exit_code);
void AddRunCommand(CLI::App& app, int* exit_code);
void AddStatusCommand(CLI::App& app, int* exit_code);
void AddSubmitCommand(CLI::App& app, int* exit_code);
void AddTheoryCommand(CLI::App& app, int* exit_code);
void AddTokenCommand(CLI::App& app, int* exit_code);
void AddVersionCommand(CLI::App& app, int* exit_code);
void AddWatchCommand(CLI::App& app, int* exit_code);
void AddWorkerCommand(CLI::App& app, int* exit_code);

}  // namespace gyre
