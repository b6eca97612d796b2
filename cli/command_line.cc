#include "cli/command_line.h"

#include <algorithm>
#include <cstdio>
#include <iostream>

#include "cli/exit_code.h"

namespace gyre {
namespace {

/// Optimal string alignment distance: letters added, left out, changed, or two neighbours swapped.
size_t Distance(const std::string& a, const std::string& b) {
  std::vector<size_t> before, previous(b.size() + 1), current(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) previous[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        current[j] = std::min(current[j], before[j - 2] + 1);
      }
    }
    before = previous;
    previous = current;
  }
  return previous[b.size()];
}

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
  std::string message = "there is no command '" + word + "'";
  const std::string nearest = NearestWord(word, names);
  if (!nearest.empty()) return message + "; did you mean '" + nearest + "'?";
  message += "; there are:";
  for (const std::string& name : names) message += " " + name;
  return message;
}

}  // namespace

std::string NearestWord(const std::string& word, const std::vector<std::string>& candidates) {
  std::string nearest;
  size_t best = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const size_t distance = Distance(word, candidate);
    if (distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

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
