#include "results/plots/p_series.h"

#include <gtest/gtest.h>

#include <cmath>

namespace gyre {
namespace {

using Json = nlohmann::ordered_json;

PlottedVariant Variant(const std::string& name, const Json& position) {
  PlottedVariant variant;
  variant.name = name;
  variant.config["position"] = position;
  variant.position_type = position["type"];
  variant.context = 256;
  if (variant.position_type == "rope") {
    variant.p = position["p"];
    variant.theta = 10000;
  }
  return variant;
}

Json Rope(double p, const Json& more = Json::object()) {
  Json position = {{"type", "rope"},     {"p", p},           {"keep", "high"}, {"spacing", "full"},
                   {"scaling", nullptr}, {"layers", nullptr}};
  position.update(more);
  return position;
}

std::vector<PSeries> Find(const PlottedSweep& sweep) {
  std::vector<std::string> left_out;
  return FindPSeries(sweep, &left_out);
}

TEST(PSeries, PStarIsTheShareThatCompletesATurnWithinTheContext) {
  const PlottedSweep sweep{.name = "s",
                           .variants = {Variant("a", Rope(0.5)), Variant("b", Rope(1))}};
  const auto series = Find(sweep);
  ASSERT_EQ(series.size(), 1u);
  EXPECT_NEAR(series[0].PStar(), 0.40252, 1e-5);  // ln(256 / 2 pi) / ln 10000
}

TEST(PSeries, OtherLaddersHaveNoPStar) {
  for (const Json& other : {Json{{"keep", "low"}}, Json{{"spacing", "respaced"}},
                            Json{{"scaling", {{"type", "linear"}, {"factor", 8}}}},
                            Json{{"layers", {{{"layers", {0}}, {"type", "nope"}}}}}}) {
    const PlottedSweep sweep{
        .name = "s", .variants = {Variant("a", Rope(0.5, other)), Variant("b", Rope(1, other))}};
    const auto series = Find(sweep);
    ASSERT_EQ(series.size(), 1u) << other;
    EXPECT_TRUE(std::isnan(series[0].PStar())) << other;
  }
}

TEST(PSeries, NoPEIsPZeroWhereTheEncodingIsTheSameEverywhere) {
  const Json some = {{"layers", {{{"layers", {0}}, {"type", "nope"}}}}};
  const Json nope = {{"type", "nope"}};
  const PlottedSweep plain{
      .name = "s",
      .variants = {Variant("a", Rope(0.5)), Variant("b", Rope(1)), Variant("n", nope)}};
  EXPECT_EQ(Find(plain)[0].variants.size(), 3u);
  EXPECT_EQ(Find(plain)[0].variants[0].variant->name, "n");
  const PlottedSweep layered{
      .name = "s",
      .variants = {Variant("a", Rope(0.5, some)), Variant("b", Rope(1, some)), Variant("n", nope)}};
  EXPECT_EQ(Find(layered)[0].variants.size(), 2u);
}

}  // namespace
}  // namespace gyre
