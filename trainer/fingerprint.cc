#include <string>

#include "trainer/backend/cpu/cpu_backend.h"
#include "trainer/trainer.h"

namespace gyre {

Json Fingerprint(const std::string& backend, int threads) {
  const bool cpu = backend == "cpu";
  return {{"backend", backend},
<<<<<<< HEAD
          {"instruction_set", cpu ? CpuInstructionSet() : "plain"},
          {"threads", threads},
          {"libraries", cpu ? CpuLibraries() : "none"},
=======
          {"instruction_set", CpuInstructionSet()},
          {"threads", threads},
          {"libraries", {{"products", CpuLibraries()}, {"compiler", __VERSION__}}},
>>>>>>> 0cc9174 (trainer: verify fails on every falsified quantity; gradients of every encoding by finite differences)
          {"numerics", kNumericsVersion}};
}

}  // namespace gyre
