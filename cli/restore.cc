#include <cstdio>
#include <memory>
#include <string>

#include "base/files.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/object_copy.h"
#include "cli/object_transfer.h"
#include "coordinator/store/backup.h"

namespace gyre {
namespace {

struct Arguments {
  std::string file;
  std::filesystem::path database, home, objects;
  bool force = false;
};

int RunRestore(const Arguments& arguments) {
  const auto facts = RestoreDatabase(arguments.file, arguments.database, arguments.force);
  if (!facts.ok()) {
    Fail(facts.status());
    return kExitFailed;
  }
  std::printf("%s: %lld sweeps with %lld jobs\n", arguments.database.c_str(),
              static_cast<long long>(facts->sweeps), static_cast<long long>(facts->jobs));
  const std::filesystem::path& from =
      arguments.objects.empty() ? arguments.home : arguments.objects;
  const auto copied = CopyObjects(from, arguments.home, facts->objects);
  if (!copied.ok()) {
    Fail(copied.status());
    return kExitFailed;
  }
  SayCopied(*copied, from, arguments.home);
  return kExitDone;
}

}  // namespace

void AddRestoreCommand(CLI::App& app, int* exit_code) {
  auto* command =
      app.add_subcommand("restore", "Put a backup in the place of the results database");
  command->footer(
      "Puts a copy made by `gyre backup` in the place of the results database. The coordinator "
      "must\n"
      "be stopped. What ran when the copy was made runs again from its last checkpoint of that "
      "time;\n"
      "what workers report of the time since is refused. Jobs whose checkpoint is missing begin "
      "anew.\n\n"
      "Examples:\n"
      "  gyre restore monday.db\n"
      "  gyre restore monday.db --force --objects backup-objects");
  auto arguments = std::make_shared<Arguments>();
  arguments->home = GyreHome();
  arguments->database = arguments->home / "results.db";
  command->add_option("FILE", arguments->file, "A copy made by gyre backup")->required();
  command
      ->add_option("--db", arguments->database,
                   "The results database (default: $GYRE_HOME/results.db)")
      ->type_name("FILE");
  command
      ->add_option(
          "--objects", arguments->objects,
          "Also copy back the checkpoints and data sets that are missing, from this folder")
      ->type_name("DIR");
  command
      ->add_option("--home", arguments->home,
                   "Where the coordinator keeps its objects (default: $GYRE_HOME)")
      ->type_name("DIR");
  command->add_flag(
      "--force", arguments->force,
      "Replace a database that is there; it is kept as DB.replaced, the next as DB.replaced-2");
  command->callback([arguments, exit_code] { *exit_code = RunRestore(*arguments); });
}

}  // namespace gyre
