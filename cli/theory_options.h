#pragma once

// The heads that `gyre theory` computes with: --head-dim, --theta, --p and the other keys of
// position, as the sweep language has them.

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "trainer/position/rotation.h"

namespace gyre {

struct HeadOptions {
  int head_dim = 128;
  std::vector<double> thetas = {10000}, shares = {1};  // --theta, --p; all combinations
  std::string keep = "high", spacing = "full", band, scaling = "none";
  double factor = 1;
  int original_length = 0;
};

struct TheoryHead {
  std::string name;  // "RoPE θ=10k", "0.75-RoPE θ=10k", "NoPE"
  double theta = 0, p = 1;
  Rotation rotation;
};

/// What a computation would take at most: values of head_dim/2 times places.
inline constexpr double kMostTheoryWork = 1 << 28;

void AddHeadOptions(CLI::App* command, HeadOptions* options);

/// One a combination of theta and p, in their order; NoPE (p = 0) once. `length` matters to dynamic
/// scaling. INVALID_ARGUMENT names the option.
Result<std::vector<TheoryHead>> MakeHeads(const HeadOptions& options, int length);

/// The same where there may be but one. INVALID_ARGUMENT: there are several.
Result<TheoryHead> MakeOneHead(const HeadOptions& options, int length);

/// The rotation with this theta and p. `length` and errors as MakeHeads() has them.
Result<Rotation> MakeRotation(const HeadOptions& options, double theta, double p, int length);

/// "8:16" as pairs 8..15, at least one of 0..pairs-1. INVALID_ARGUMENT names the option.
Result<std::pair<int, int>> ReadPairs(const std::string& option, const std::string& text,
                                      int pairs);

/// INVALID_ARGUMENT: so many pairs times places are too much; what to make smaller.
Status CheckWork(int head_dim, double places, const std::string& smaller);

}  // namespace gyre
