#include "cli/command_line.h"

#include <algorithm>
#include <cstdio>
#include <iostream>

#include "cli/exit_code.h"
#include "sweeps/spec/nearest.h"

namespace gyre {
namespace {

std::vector<std::string> CommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

/// The message for a first word that is no command; empty if it is one, or an option.
std::string UnknownCommand(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return "";
  const std::string word = argv[1];
  const std::vector<std::string> names = CommandNames(app);
  if (std::find(names.begin(), names.end(), word) != names.end()) return "";
  const std::string advice = DidYouMean(word, names);
  return "there is no command '" + word + "'" +
         (advice.empty() ? "; there are: " + List(names, names.size()) : "; " + advice);
}

}  // namespace

int ParseAndRun(CLI::App& app, int argc, char** argv, const int* exit_code) {
  if (argc < 2) {
    std::fputs(app.help().c_str(), stderr);
    return kExitBadInput;
  }
  if (const std::string message = UnknownCommand(app, argc, argv); !message.empty()) {
    return Fail({StatusCode::kInvalidArgument, message});
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
      return app.exit(error, std::cout, std::cerr);
    }
    const std::string command = argv[1][0] == '-' ? "" : std::string(argv[1]) + " ";
    return Fail({StatusCode::kInvalidArgument,
                 std::string(error.what()) + "\n      see: gyre " + command + "--help"});
  }
  return *exit_code;
}

}  // namespace gyre
