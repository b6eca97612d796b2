#pragma once

// How the database has what a layer knows about positions: in `rotation` of jobs and of models.

#include "trainer/position/rotation.h"

namespace gyre {

/// {"frequencies", "attention_factor", "pairs"}, and "alibi_slopes" and "window" where there are
/// any.
Json ToJson(const LayerPosition& position);

}  // namespace gyre
