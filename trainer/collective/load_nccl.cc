#include "trainer/collective/load_nccl.h"

#include "trainer/backend/load_plugin.h"

namespace gyre {
namespace {

Result<NcclPlugin*> Load() {
  GYRE_ASSIGN_OR_RETURN(
      void* const symbol,
      LoadPlugin({.file = "libgyre_nccl.so",
                  .variable = "GYRE_NCCL_PLUGIN",
                  .remedy = "build Gyre where CUDA's compiler (nvcc) and NCCL are",
                  .symbol = "GyreNcclPlugin"}));
  NcclPlugin* plugin = reinterpret_cast<decltype(&GyreNcclPlugin)>(symbol)(GYRE_BACKEND_ABI);
  if (plugin == nullptr) return OtherVersion("libgyre_nccl.so");
  return plugin;
}

}  // namespace

Result<NcclPlugin*> LoadNcclPlugin() {
  static const Result<NcclPlugin*> loaded = Load();
  return loaded;
}

}  // namespace gyre
