#pragma once

// Interventions: what a trained model would be without a part of its position encoding. Each is a
// change of weights and rotations alone, so that every backend can compute it:
//
//   zero      the pairs [a, b) supply nothing to any logit: rows of q_proj that make them are zero,
//             with qk_norm those numbers of q_norm's weight
//   freeze    they supply what they would if they did not turn: their frequencies are zero
//   position  the weights stay, the encoding is another one
//
// Here is what they are called and how one that was asked for becomes several;
// position/intervened.h has what they do. Pure.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "trainer/config/job_config.h"

namespace gyre {

/// More of them in one list are refused.
inline constexpr size_t kMaxInterventions = 1024;

/// What somebody asks for, of any model. Of zero and freeze one of pairs, share and bands is given.
struct InterventionRequest {
  std::string kind = kZero;
  std::optional<std::pair<int, int>> pairs;  // [a, b), 0 the fastest
  double share = 0;                          // floor(share * head_dim / 2) pairs...
  bool highest = false;                      // ...of the fastest, or of the slowest
  int bands = 0;                             // each of so many equal parts of the pairs by itself
  PositionConfig position;                   // of position: resolved for the model
  std::string position_name;                 // and what it is called: "p-0.75"
  std::vector<int> layers;                   // ascending; empty: all
  bool each_layer = false;                   // each of them by itself
  std::string name;                          // in place of the one made here; bands are added to it
};

/// For this model. INVALID_ARGUMENT: pairs or layers that it does not have, or too many.
Result<std::vector<Intervention>> ExpandIntervention(const InterventionRequest& request,
                                                     const ModelConfig& model);

/// Whether the model has these pairs and layers. INVALID_ARGUMENT.
Status CheckIntervention(const Intervention& intervention, const ModelConfig& model);

/// Whether the layer is changed.
bool Changes(const Intervention& intervention, int layer);

}  // namespace gyre
