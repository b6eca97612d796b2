#pragma once

// --coordinator and --db, as the commands have them that ask a coordinator or read a database.

#include <CLI/CLI.hpp>
#include <string>

namespace gyre {

/// --coordinator HOST:PORT, else GYRE_COORDINATOR, else kDefaultCoordinator.
void AddCoordinatorOption(CLI::App* command, std::string* address);

/// --db FILE, for commands that only read: the file is read in place of asking a coordinator.
void AddDatabaseOption(CLI::App* command, std::string* path);

}  // namespace gyre
