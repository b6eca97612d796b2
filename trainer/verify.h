#pragma once

// Holds this build on this machine against numbers that somebody else computed: a folder with
// config.json, model.safetensors and expected.json in the format of
// tests/trainer/reference/README.md. Quantities and tolerances are those of its sections 4 to 8.

#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include "base/status.h"
#include "trainer/backend/backend.h"

namespace gyre {

struct VerifyOptions {
  std::string backend = "cpu";
  int threads = 1;
  Precision precision = Precision::kFloat32;
};

/// One quantity: its largest deviation, what is allowed, and where the largest was. Or why it was
/// not looked at.
struct VerifiedQuantity {
  std::string name;
  bool checked = true;
  double deviation = 0,
         tolerance = 0;  // NaN on either side of a comparison is an infinite deviation
  std::string where;     // or, if not checked, why

  bool holds() const { return !checked || deviation <= tolerance; }
};

struct VerifyReport {
  std::vector<VerifiedQuantity> quantities;

  bool holds() const;
};

/// UNIMPLEMENTED: the backend does not compute in this precision here.
/// INVALID_ARGUMENT, NOT_FOUND, DATA_LOSS: the folder is no such folder, or nothing in its
/// expected.json can be checked.
Result<VerifyReport> VerifyFolder(const std::filesystem::path& folder,
                                  const VerifyOptions& options);

/// A line a quantity, for people.
void Print(const VerifyReport& report, std::ostream& out);

}  // namespace gyre
