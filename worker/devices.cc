#include "worker/devices.h"

#include <algorithm>
#include <sstream>

#include "base/machine.h"

namespace gyre {

Machine ReadMachine(const std::filesystem::path& root) {
  Machine machine;
  machine.cores = UsableCores(root);
  machine.memory_bytes = MemoryBytes(root);
  machine.devices.push_back({"cpu", "cpu", ProcessorModel(root), machine.memory_bytes});
  return machine;
}

Status CheckDevices(const std::string& devices, const Machine& machine) {
  std::string known;
  for (const auto& device : machine.devices) known += (known.empty() ? "" : ", ") + device.name;
  std::istringstream names(devices);
  for (std::string name; std::getline(names, name, ',');) {
    const bool found = std::any_of(machine.devices.begin(), machine.devices.end(),
                                   [&](const DeviceInfo& device) { return device.name == name; });
    if (!found)
      return InvalidArgument("this machine has no device '" + name + "'; it has: " + known);
  }
  return OkStatus();
}

}  // namespace gyre
