// planted_faults NAME: exit 0 if nothing was noticed.

#include <cstdio>
#include <cstring>

#include "tests/emulation/error.h"
#include "tests/emulation/planted_fault.h"
#include "trainer/backend/cuda/check.h"

namespace gyre::planted {
namespace {

int Run(const PlantedFault& fault) {
  try {
    if (fault.run()) return 0;
    std::puts("wrong result");
    return 1;
  } catch (const emulation::Error& error) {
    std::puts(error.what());
  } catch (const cuda::CudaError& thrown) {
    std::puts(thrown.error.message.c_str());
  }
  return 1;
}

}  // namespace
}  // namespace gyre::planted

int main(int count, char** arguments) {
  for (const auto* faults : {&gyre::planted::KernelFaults(), &gyre::planted::HostFaults()}) {
    for (const gyre::planted::PlantedFault& fault : *faults) {
      if (count == 2 && std::strcmp(fault.name, arguments[1]) == 0)
        return gyre::planted::Run(fault);
    }
  }
  std::puts("no such fault");
  return 1;
}
