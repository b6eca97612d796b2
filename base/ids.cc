#include "base/ids.h"

#include <random>

namespace gyre {

std::string NewId() {
  std::random_device device;
  std::string id;
  for (int word = 0; word < 4; ++word) {
    const unsigned bits = device();
    for (int shift = 28; shift >= 0; shift -= 4) id += "0123456789abcdef"[(bits >> shift) & 15];
  }
  return id;
}

}  // namespace gyre
