// Files of weights: what opens has tensors within the file, and all of them can be read.

#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "tests/fuzz/fuzz.h"
#include "trainer/pretrained/safetensors.h"

namespace gyre {
namespace {

void Read(const SafetensorsFile& file) {
  for (const TensorEntry& tensor : file.tensors()) {
    Require(
        tensor.offset <= file.bytes().size() && tensor.bytes <= file.bytes().size() - tensor.offset,
        "a tensor lies within its file");
    const bool known = tensor.dtype == "F32" || tensor.dtype == "F16" || tensor.dtype == "BF16";
    if (!known) continue;
    std::vector<float> values(tensor.bytes / (tensor.dtype == "F32" ? 4 : 2));
    const Status read = file.Read(tensor, values);
    Require(read.ok(), "a tensor of a known type can be read");
    Require(file.Find(tensor.name) == &tensor, "names are unique");
  }
}

}  // namespace
}  // namespace gyre

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const int fd = memfd_create("fuzz", 0);
  if (write(fd, data, size) == static_cast<ssize_t>(size)) {
    const auto file = gyre::SafetensorsFile::Open("/proc/self/fd/" + std::to_string(fd));
    if (file.ok()) gyre::Read(*file);
  }
  close(fd);
  return 0;
}
