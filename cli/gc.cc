#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/garbage.h"
#include "cli/object_transfer.h"

namespace gyre {
namespace {

constexpr int64_t kHour = 3600 * 1000;

struct Arguments {
  GarbageOptions options;
  double hours = 24;
};

int RunGc(Arguments arguments) {
  GarbageOptions& options = arguments.options;
  if (options.root.empty()) options.root = GyreHome();
  options.grace = Millis(static_cast<int64_t>(arguments.hours * kHour));
  const auto freed = CollectGarbage(
      options, Clock::Real().WallTime(), [&](const std::string& what, int64_t bytes) {
        std::printf("%s%s, %s\n", options.dry_run ? "would remove " : "removed ", what.c_str(),
                    BytesInWords(bytes).c_str());
      });
  if (!freed.ok()) {
    Fail(freed.status());
    return kExitFailed;
  }
  std::printf("%s %s: %d objects, %d data sets, %d unfinished transfers and the like\n",
              options.dry_run ? "would free" : "freed", BytesInWords(freed->bytes).c_str(),
              freed->objects, freed->datasets, freed->partial);
  return kExitDone;
}

}  // namespace

void AddGcCommand(CLI::App& app, int* exit_code) {
  auto* command = app.add_subcommand("gc", "Delete checkpoints and leftovers that nothing needs");
  command->footer(
      "Deletes from GYRE_HOME the objects that no checkpoint of any database refers to (each\n"
      "coordinator, and `gyre run`, notes there which database it writes), and what is left of\n"
      "transfers and workers that are no more. Younger things stay, so that it may run at any "
      "time.\n\n"
      "Examples:\n"
      "  gyre gc --dry-run\n"
      "  gyre gc --datasets --older-than 72");
  auto arguments = std::make_shared<Arguments>();
  command->add_flag("--dry-run", arguments->options.dry_run, "Only say what would be deleted");
  command->add_flag("--datasets", arguments->options.datasets,
                    "Also data sets that no unfinished job reads; they can be prepared again");
  command
      ->add_option("--older-than", arguments->hours,
                   "What is younger stays; 0 only while nothing is at work")
      ->type_name("HOURS")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  command
      ->add_option("--objects", arguments->options.root,
                   "The folder of a coordinator's --objects (default: $GYRE_HOME)")
      ->type_name("DIR")
      ->check(CLI::ExistingDirectory);
  command->add_option("--db", arguments->options.databases, "A further database to ask")
      ->type_name("FILE");
  command
      ->add_option("--forget", arguments->options.forgotten,
                   "A database that is gone for good, with all that only it referred to")
      ->type_name("FILE");
  command->callback([arguments, exit_code] { *exit_code = RunGc(*arguments); });
}

}  // namespace gyre
