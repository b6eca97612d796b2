#include "trainer/backend/load_cuda.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>

namespace gyre {
namespace {

constexpr char kFile[] = "libgyre_cuda.so";

std::filesystem::path PluginPath() {
  if (const char* named = std::getenv("GYRE_CUDA_PLUGIN")) return named;
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / kFile;
}

Result<CudaPlugin*> Load() {
  const std::filesystem::path path = PluginPath();
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return Unavailable("this build has no CUDA backend: " + path.string() +
                       " does not exist; build Gyre where CUDA's compiler (nvcc) is");
  }
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return Unavailable(std::string("the CUDA backend cannot be loaded: ") + dlerror());
  }
  const auto make = reinterpret_cast<decltype(&GyreCudaPlugin)>(dlsym(library, "GyreCudaPlugin"));
  CudaPlugin* plugin = make == nullptr ? nullptr : make(GYRE_BACKEND_ABI);
  if (plugin == nullptr) {
    return Unavailable(path.string() +
                       " belongs to another version of Gyre; build both from the same sources");
  }
  return plugin;
}

}  // namespace

Result<CudaPlugin*> LoadCudaPlugin() {
  static const Result<CudaPlugin*> loaded = Load();
  return loaded;
}

}  // namespace gyre
