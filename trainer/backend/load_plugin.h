#pragma once

// Libraries of our own that are loaded when they are first needed, because they bring along what
// few machines have.

#include <string>

#include "base/status.h"

namespace gyre {

struct PluginFile {
  const char* file;      // beside the program
  const char* variable;  // of the environment: another place for it
  const char* remedy;    // what to do where there is none
  const char* symbol;
};

/// The symbol. UNAVAILABLE: why there is none.
Result<void*> LoadPlugin(const PluginFile& plugin);

/// What to say when a plug-in was built from other headers.
Status OtherVersion(const std::string& file);

}  // namespace gyre
