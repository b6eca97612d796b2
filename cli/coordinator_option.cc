#include "cli/coordinator_option.h"

#include "cli/sweep_client.h"

namespace gyre {

void AddCoordinatorOption(CLI::App* command, std::string* address) {
  *address = kDefaultCoordinator;
  command->add_option("--coordinator", *address, "HOST:PORT of the coordinator")
      ->envname("GYRE_COORDINATOR")
      ->capture_default_str();
}

void AddDatabaseOption(CLI::App* command, std::string* path) {
  command->add_option("--db", *path, "Read this results database; no coordinator is needed")
      ->type_name("FILE");
}

}  // namespace gyre
