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

struct Command {
  std::string words;    // "data list ", as far as they name a command
  std::string unknown;  // the message for the word after them that names none; empty if all is well
};

Command CommandOf(const CLI::App& app, int argc, char** argv) {
  Command command;
  const CLI::App* at = &app;
  for (int i = 1; i < argc && argv[i][0] != '-'; ++i) {
    const std::string word = argv[i];
    const std::vector<std::string> names = CommandNames(*at);
    if (names.empty()) break;
    if (std::find(names.begin(), names.end(), word) == names.end()) {
      const std::string advice = DidYouMean(word, names);
      command.unknown =
          "there is no command '" + command.words + word + "'" +
          (advice.empty() ? "; there are: " + List(names, names.size()) : "; " + advice);
      break;
    }
    at = at->get_subcommand(word);
    command.words += word + " ";
  }
  return command;
}

}  // namespace

int ParseAndRun(CLI::App& app, int argc, char** argv, const int* exit_code) {
  if (argc < 2) {
    std::fputs(app.help().c_str(), stderr);
    return kExitBadInput;
  }
  const Command command = CommandOf(app, argc, argv);
  if (!command.unknown.empty()) return Fail(InvalidArgument(command.unknown));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
      return app.exit(error, std::cout, std::cerr);
    }
    return Fail(InvalidArgument(std::string(error.what()) + "\n      see: gyre " + command.words +
                                "--help"));
  }
  return *exit_code;
}

}  // namespace gyre
