#pragma once

// The backends that the contract is held against: each instruction set with each precision and
// several numbers of threads.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "trainer/backend/backend.h"

namespace gyre {

struct Subject {
  std::string name;
  Precision precision = Precision::kFloat32;
  std::function<std::unique_ptr<Backend>()> create;  // null: not on this machine
};

std::vector<Subject> Subjects();

}  // namespace gyre
