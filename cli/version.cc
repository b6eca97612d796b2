#include <cstdio>

#include "cli/command.h"

namespace gyre {

void AddVersionCommand(CLI::App& app, int* exit_code) {
  auto* command = app.add_subcommand("version", "Print the version");
  command->footer("Example:\n  gyre version");
  command->callback([exit_code] {
    std::printf("gyre %s\n", GYRE_VERSION);
    *exit_code = 0;
  });
}

}  // namespace gyre
