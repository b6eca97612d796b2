#include "trainer/backend/create_backend.h"

#include "trainer/backend/cpu/cpu_backend.h"
#include "trainer/backend/reference/reference_backend.h"

namespace gyre {

Result<std::unique_ptr<Backend>> CreateBackend(const std::string& name, int threads) {
  if (threads < 1) return InvalidArgument("a backend needs at least one thread");
  if (name == "cpu") return CreateCpuBackend(threads);
  if (name == "reference") return CreateReferenceBackend();
  return InvalidArgument("no backend is called '" + name + "'; there are cpu and reference");
}

}  // namespace gyre
