// In place of trainer/backend/load_cuda.cc, which loads the plug-in from its file: here it is part
// of the program.

#include "trainer/backend/load_cuda.h"

namespace gyre {

Result<CudaPlugin*> LoadCudaPlugin() { return GyreCudaPlugin(GYRE_BACKEND_ABI); }

}  // namespace gyre
