#include "trainer/backend/load_cuda.h"

#include "trainer/backend/load_plugin.h"

namespace gyre {
namespace {

Result<CudaPlugin*> Load() {
  GYRE_ASSIGN_OR_RETURN(void* const symbol,
                        LoadPlugin({.file = "libgyre_cuda.so",
                                    .variable = "GYRE_CUDA_PLUGIN",
                                    .remedy = "build Gyre where CUDA's compiler, nvcc, is",
                                    .symbol = "GyreCudaPlugin"}));
  CudaPlugin* plugin = reinterpret_cast<decltype(&GyreCudaPlugin)>(symbol)(GYRE_BACKEND_ABI);
  if (plugin == nullptr) return OtherVersion("libgyre_cuda.so");
  return plugin;
}

}  // namespace

Result<CudaPlugin*> LoadCudaPlugin() {
  static const Result<CudaPlugin*> loaded = Load();
  return loaded;
}

}  // namespace gyre
