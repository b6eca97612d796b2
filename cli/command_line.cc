#include "cli/command_line.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
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
  const CLI::App* app = nullptr;
  std::string words;    // "data list ", as far as they name a command
  std::string unknown;  // the message for the word after them that names none; empty if all is well
};

Command CommandOf(const CLI::App& app, int argc, char** argv) {
  Command command{&app, "", ""};
  for (int i = 1; i < argc && argv[i][0] != '-'; ++i) {
    const std::string word = argv[i];
    const std::vector<std::string> names = CommandNames(*command.app);
    if (names.empty()) break;
    if (std::find(names.begin(), names.end(), word) == names.end()) {
      const std::string advice = DidYouMean(word, names);
      command.unknown =
          "there is no command '" + command.words + word + "'" +
          (advice.empty() ? "; there are: " + List(names, names.size()) : "; " + advice);
      break;
    }
    command.app = command.app->get_subcommand(word);
    command.words += word + " ";
  }
  return command;
}

// The first of these words that would be an option and is none of this command's; empty: all are.
std::string UnknownOption(const CLI::App& command, int argc, char** argv) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (int i = 1; i < argc; ++i) {
    const std::string word(argv[i], std::strcspn(argv[i], "="));
    if (!word.starts_with("--") || word == "--") continue;
    if (std::find(names.begin(), names.end(), word) != names.end()) continue;
    const std::string advice = DidYouMean(word, names);
    return "there is no option '" + word + "'" + (advice.empty() ? "" : "; " + advice);
  }
  return "";
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
    std::string what = error.what();
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError)) {
      const std::string option = UnknownOption(*command.app, argc, argv);
      if (!option.empty()) what = option;
    }
    return Fail(InvalidArgument(what + "\n      see: gyre " + command.words + "--help"));
  }
  return *exit_code;
}

}  // namespace gyre
