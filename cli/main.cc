#include "cli/command.h"

int main(int argc, char** argv) {
  CLI::App app("Gyre: sweeps of rotary position encodings, from a YAML file to a comparison", "gyre");
  app.require_subcommand(1);
  int exit_code = 0;

  gyre::AddWorkerCommand(app, &exit_code);
  gyre::AddVersionCommand(app, &exit_code);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return exit_code;
}
