#include "coordinator/store/backup.h"

#include <cstdio>
#include <memory>
#include <string>

#include "base/files.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/object_copy.h"
#include "cli/object_transfer.h"

namespace gyre {
namespace {

struct Arguments {
  std::string file;
  std::filesystem::path database, home, objects;
  bool force = false;
};

int RunBackup(const Arguments& arguments) {
  const auto facts = BackUpDatabase(arguments.database, arguments.file, arguments.force);
  if (!facts.ok()) {
    Fail(facts.status());
    return kExitFailed;
  }
  std::printf("%s: %lld sweeps with %lld jobs, %s\n", arguments.file.c_str(),
              static_cast<long long>(facts->sweeps), static_cast<long long>(facts->jobs),
              BytesInWords(facts->bytes).c_str());
  if (arguments.objects.empty()) {
    if (facts->objects.empty()) return kExitDone;
    std::printf("it refers to %zu checkpoints and data sets in %s; --objects DIR copies them\n",
                facts->objects.size(), arguments.home.c_str());
    return kExitDone;
  }
  const auto copied = CopyObjects(arguments.home, arguments.objects, facts->objects);
  if (!copied.ok()) {
    Fail(copied.status());
    return kExitFailed;
  }
  SayCopied(*copied, arguments.home, arguments.objects);
  return kExitDone;
}

}  // namespace

void AddBackupCommand(CLI::App& app, int* exit_code) {
  auto* command = app.add_subcommand("backup", "Copy the results database while it is in use");
  command->footer(
      "Copies the results database into FILE while the coordinator goes on, as it was at one "
      "moment:\n"
      "all that was acknowledged before is in it. FILE gets its name when it is whole and "
      "checked.\n"
      "What the jobs read and wrote stays in GYRE_HOME; --objects copies what FILE names of it, "
      "and\n"
      "the same folder again takes what is new.\n\n"
      "Examples:\n"
      "  gyre backup monday.db\n"
      "  gyre backup monday.db --objects backup-objects");
  auto arguments = std::make_shared<Arguments>();
  arguments->home = GyreHome();
  arguments->database = arguments->home / "results.db";
  command->add_option("FILE", arguments->file, "The copy")->required();
  command
      ->add_option("--db", arguments->database,
                   "The results database (default: $GYRE_HOME/results.db)")
      ->type_name("FILE");
  command
      ->add_option("--objects", arguments->objects,
                   "Also copy the checkpoints and data sets that it refers to into this folder")
      ->type_name("DIR");
  command
      ->add_option("--home", arguments->home,
                   "Where the coordinator keeps its objects (default: $GYRE_HOME)")
      ->type_name("DIR");
  command->add_flag("--force", arguments->force, "Replace FILE if it is there");
  command->callback([arguments, exit_code] { *exit_code = RunBackup(*arguments); });
}

}  // namespace gyre
