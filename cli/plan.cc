#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>

#include "base/files.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/output_format.h"
#include "cli/output_plan.h"
#include "cli/sweep_file.h"
#include "cli/terminal.h"
#include "sweeps/spec/sweep_spec.h"
#include "trainer/data/dataset.h"

namespace gyre {
namespace {

struct Arguments {
  std::string file;
  OutputFormat format = OutputFormat::kTable;
  bool jobs = false;
  int64_t max_jobs = SpecOptions().max_jobs;
};

int FileFault(const std::string& file, const std::string& message) {
  std::fputs(
      FormatDiagnostic({.file = file, .message = message, .help = "", .source_line = ""}).c_str(),
      stderr);
  return kExitBadInput;
}

// The hash of a data set that is prepared on this machine.
std::optional<std::string> PreparedHash(const std::string& request_key) {
  const Result<DatasetRequest> request = DatasetRequest::FromKey(request_key);
  if (!request.ok()) return std::nullopt;
  const Result<DatasetInfo> info = FindDataset(GyreHome(), *request);
  return info.ok() ? std::optional(info->hash) : std::nullopt;
}

SpecOptions OptionsFor(const Arguments& arguments) {
  SpecOptions options = SpecOptionsFor(arguments.file, arguments.max_jobs);
  options.dataset_hashes = PreparedHash;
  return options;
}

int RunPlan(const Arguments& arguments) {
  const Result<std::string> text = ReadFile(arguments.file, kMaxSweepFileBytes);
  if (!text.ok()) return FileFault(arguments.file, text.status().message());
  const ParsedSweeps parsed = ParseSweeps(*text, OptionsFor(arguments));
  for (const Diagnostic& diagnostic : parsed.diagnostics)
    std::fputs(FormatDiagnostic(diagnostic).c_str(), stderr);
  if (!parsed.diagnostics.empty()) return kExitBadInput;
  WritePlan(parsed.sweeps, arguments.format, arguments.jobs, TerminalOf(STDOUT_FILENO).width,
            [](std::string_view piece) { std::fwrite(piece.data(), 1, piece.size(), stdout); });
  return kExitDone;
}

}  // namespace

void AddPlanCommand(CLI::App& app, int* exit_code) {
  auto* command = app.add_subcommand("plan", "Check a sweep and show what it would run");
  command->footer(
      "Reads no text and trains nothing. Faults go to stderr, all of them, with exit code 2.\n\n"
      "Example:\n  gyre plan sweeps/quickstart.yaml --jobs");
  auto arguments = std::make_shared<Arguments>();
  command->add_option("sweep", arguments->file, "The sweep's YAML file")
      ->required()
      ->type_name("SWEEP.yaml");
  command->add_flag("--jobs", arguments->jobs, "A line for each job");
  AddFormatOption(command, &arguments->format);
  command->add_option("--max-jobs", arguments->max_jobs, "Refuse a sweep of more jobs than this")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 31))
      ->capture_default_str();
  command->callback([arguments, exit_code] { *exit_code = RunPlan(*arguments); });
}

}  // namespace gyre
