#include "cli/target_command.h"

#include <cstdio>
#include <memory>
#include <string_view>

#include "cli/coordinator_option.h"
#include "cli/exit_code.h"

namespace gyre {
namespace {

constexpr std::string_view kSweepPrefix = "sweep:";

struct Arguments {
  std::string target, coordinator;
};

int RunTargetCommand(const TargetCommand& command, const Arguments& arguments) {
  const auto client = SweepClient::Connect(arguments.coordinator);
  if (!client.ok()) return Fail(client.status());
  const Result<TargetAnswer> answer = ((**client).*command.call)(ParseTarget(arguments.target));
  if (!answer.ok()) return Fail(answer.status());
  std::printf("%s\n", command.say(*answer).c_str());
  if (!answer->note.empty()) Say(answer->note);
  return kExitDone;
}

}  // namespace

SweepOrJob ParseTarget(const std::string& text) {
  if (text.starts_with(kSweepPrefix)) return {.sweep = text.substr(kSweepPrefix.size())};
  const bool is_number = text.find_first_not_of("0123456789") == std::string::npos;
  if (!is_number || text.empty() || text.size() > 18) return {.sweep = text};
  return {.sweep = "", .job = std::stoll(text)};
}

void AddTargetCommand(CLI::App& app, const TargetCommand& command, int* exit_code) {
  auto* added = app.add_subcommand(command.name, command.summary);
  added->footer(command.footer);
  auto arguments = std::make_shared<Arguments>();
  added
      ->add_option("TARGET", arguments->target,
                   "A sweep's name, or a job's number (digits alone; sweep:NAME for such a name)")
      ->required()
      ->type_name("SWEEP|JOB");
  AddCoordinatorOption(added, &arguments->coordinator);
  added->callback(
      [command, arguments, exit_code] { *exit_code = RunTargetCommand(command, *arguments); });
}

std::string Jobs(int count) { return std::to_string(count) + (count == 1 ? " job" : " jobs"); }

}  // namespace gyre
