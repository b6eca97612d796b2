#include <string>

#include "trainer/backend/cpu/cpu_backend.h"
#include "trainer/trainer.h"

namespace gyre {

Json Fingerprint(const std::string& backend, int threads) {
  const bool cpu = backend == "cpu";
  return {{"backend", backend},
          {"instruction_set", cpu ? CpuInstructionSet() : "plain"},
          {"threads", threads},
          {"libraries", cpu ? CpuLibraries() : "none"},
          {"numerics", kNumericsVersion}};
}

}  // namespace gyre
