#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "cli/command.h"
#include "cli/coordinator_option.h"
#include "cli/doctor_checks.h"
#include "cli/exit_code.h"
#include "cli/output_format.h"
#include "cli/output_table.h"
#include "results/query.h"

namespace gyre {
namespace {

struct Arguments {
  DoctorOptions doctor;
  OutputFormat format = OutputFormat::kTable;
};

const char* NameOf(FindingState state) {
  switch (state) {
    case FindingState::kOk:
      return "ok";
    case FindingState::kNote:
      return "note";
    case FindingState::kMissing:
      return "missing";
  }
  return "";
}

void PrintLines(const std::vector<Finding>& findings) {
  size_t width = 0;
  for (const Finding& finding : findings) width = std::max(width, finding.name.size());
  for (const Finding& finding : findings) {
    std::printf("%-7s  %-*s  %s\n", NameOf(finding.state), static_cast<int>(width),
                finding.name.c_str(), finding.found.c_str());
    if (!finding.fix.empty()) {
      std::printf("%-7s  %-*s  -> %s\n", "", static_cast<int>(width), "", finding.fix.c_str());
    }
  }
}

void PrintJson(const std::vector<Finding>& findings, bool ok) {
  nlohmann::ordered_json json = {{"ok", ok}, {"checks", nlohmann::ordered_json::array()}};
  for (const Finding& finding : findings) {
    json["checks"].push_back({{"name", finding.name},
                              {"state", NameOf(finding.state)},
                              {"found", finding.found},
                              {"fix", finding.fix.empty() ? nlohmann::ordered_json()
                                                          : nlohmann::ordered_json(finding.fix)}});
  }
  std::printf("%s\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

int RunDoctor(const Arguments& arguments) {
  std::vector<Finding> findings = ExamineMachine(arguments.doctor);
  for (Finding& finding : ExamineAccess(arguments.doctor)) findings.push_back(std::move(finding));
  const bool ok = std::none_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.state == FindingState::kMissing;
  });
  if (arguments.format == OutputFormat::kJson) {
    PrintJson(findings, ok);
  } else if (arguments.format == OutputFormat::kTable) {
    PrintLines(findings);
  } else {
    QueryTable table;
    table.columns = {"check", "state", "found", "fix"};
    for (const Finding& finding : findings) {
      table.rows.push_back({finding.name, NameOf(finding.state), finding.found, finding.fix});
    }
    std::fputs(RenderQueryTable(table, arguments.format, 0).c_str(), stdout);
  }
  return ok ? kExitDone : kExitFailed;
}

}  // namespace

void AddDoctorCommand(CLI::App& app, int* exit_code) {
  auto* command = app.add_subcommand("doctor", "What this machine has and lacks, one fix a line");
  command->footer(
      "Exit code 1 if something is missing that Gyre needs; notes are about what it works "
      "without.\n\n"
      "Examples:\n"
      "  gyre doctor\n"
      "  gyre doctor --coordinator gpu-box:7470 --format json");
  auto arguments = std::make_shared<Arguments>();
  AddCoordinatorOption(command, &arguments->doctor.coordinator);
  AddFormatOption(command, &arguments->format);
  command->callback([arguments, command, exit_code] {
    DoctorOptions& doctor = arguments->doctor;
    doctor.home = GyreHome();
    doctor.needs_coordinator = command->count("--coordinator") > 0;  // also from GYRE_COORDINATOR
    if (const char* path = std::getenv("PATH")) doctor.search_path = path;
    *exit_code = RunDoctor(*arguments);
  });
}

}  // namespace gyre
