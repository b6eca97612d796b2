#pragma once

// A whole number above 0, with a message that a person can read where it is none.

#include <CLI/CLI.hpp>

namespace gyre {

CLI::Validator PositiveInteger();

}  // namespace gyre
