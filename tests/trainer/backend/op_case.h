#pragma once

// One operation with its memory, so that one harness can run it on any backend, compare it with the
// double-precision reference, look for writes where none belong, and check its backward half by
// finite differences.

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "trainer/backend/backend.h"

namespace gyre {

using RealBuffers = std::map<std::string, std::vector<double>>;
using IntBuffers = std::map<std::string, std::vector<int32_t>>;

/// The places of a case's buffers in a backend, by name.
struct Places {
  std::map<std::string, Reals> reals;
  std::map<std::string, Narrows> narrows;
  std::map<std::string, Ints> ints;
  Reals R(const std::string& name) const { return reals.at(name); }
  Narrows N(const std::string& name) const { return narrows.at(name); }
  Ints I(const std::string& name) const { return ints.at(name); }
};

using Operation = std::function<void(Backend&, const Places&)>;

struct GradientOf {
  std::string input, gradient;
  bool adds;  // else assigns
};

struct OpCase {
  std::string name;
  WorkspaceShape shape;
  RealBuffers reals;
  RealBuffers narrows;  // numbers that bfloat16 has, so that every precision starts from the same
  IntBuffers ints;
  Operation forward, backward;       // backward may be empty
  std::vector<std::string> outputs;  // what forward writes
  std::string output, cotangent;  // the output that the gradients belong to, and d loss / d output
  std::vector<GradientOf> gradients;  // what backward writes
  std::set<std::string> destroyed;    // what backward may leave in any state
  /// Of outputs whose columns are numbers of different kinds, and are compared column by column:
  /// how many there are.
  std::map<std::string, size_t> columns;
  /// By how much relative errors of what goes in may grow on the way out.
  double amplification = 1;

  std::vector<double>& Values(const std::string& name) {
    return reals.contains(name) ? reals.at(name) : narrows.at(name);
  }
};

/// Those of CollectAttentionStatistics, of all operations.
std::vector<OpCase> StatisticsCases();
/// Made once: their numbers take their time.
const std::vector<OpCase>& AllOpCases();

/// What is in the buffers of real and narrow numbers after the operations. Fails the test if
/// anything beside the buffers was written.
RealBuffers RunOn(Backend& backend, const OpCase& op, const std::vector<Operation>& operations);

}  // namespace gyre
