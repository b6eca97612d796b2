#include "trainer/position/rotation_json.h"

namespace gyre {

Json ToJson(const LayerPosition& position) {
  const Rotation& rotation = position.rotation;
  Json layer = {{"frequencies", rotation.frequencies},
                {"attention_factor", rotation.attention_factor},
                {"pairs", rotation.pairs}};
  if (!position.alibi_slopes.empty()) layer["alibi_slopes"] = position.alibi_slopes;
  if (position.window > 0) layer["window"] = position.window;
  return layer;
}

}  // namespace gyre
