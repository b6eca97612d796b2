#include "trainer/backend/load_plugin.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>

namespace gyre {
namespace {

std::filesystem::path PathOf(const PluginFile& plugin) {
  if (const char* named = std::getenv(plugin.variable)) return named;
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / plugin.file;
}

// The loader begins its message with the file that it could not use: the plug-in, or what it needs.
Status WhyNotLoaded(const PluginFile& plugin, const std::string& error) {
  const bool needed = error.starts_with("lib") && !error.starts_with(plugin.file);
  return Unavailable((needed ? "CUDA's libraries are missing: "
                             : std::string(plugin.file) + " cannot be loaded: ") +
                     error);
}

}  // namespace

Result<void*> LoadPlugin(const PluginFile& plugin) {
  const std::filesystem::path path = PathOf(plugin);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return Unavailable(std::string("no ") + plugin.file + " in this build (there is no " +
                       path.string() + "); " + plugin.remedy);
  }
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return WhyNotLoaded(plugin, dlerror());
  void* symbol = dlsym(library, plugin.symbol);
  return symbol != nullptr ? Result<void*>(symbol) : OtherVersion(path.string());
}

Status OtherVersion(const std::string& file) {
  return Unavailable(file +
                     " belongs to another version of Gyre; build both from the same sources");
}

}  // namespace gyre
