#include "tests/analysis/theory/synthetic.h"

#include <gtest/gtest.h>

#include "base/files.h"

namespace gyre {

const nlohmann::json& Synthetic() {
  static const nlohmann::json values =
      nlohmann::json::parse(*ReadFile("tests/trainer/reference/synthetic.json"));
  return values;
}

Rotation RopeRotation(int head_dim, double theta, double p) {
  auto rotation = RotationOfHead({.theta = theta, .p = p}, head_dim, 1);
  EXPECT_TRUE(rotation.ok()) << rotation.status();
  return rotation.ok() ? *std::move(rotation) : Rotation();
}

}  // namespace gyre
