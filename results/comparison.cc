// What the names of metrics say.

#include "results/comparison.h"

namespace gyre {

std::string MetricQuantity(std::string_view metric) {
  const size_t slash = metric.find('/');
  if (slash != std::string_view::npos) metric.remove_prefix(slash + 1);
  return std::string(metric.substr(0, metric.find_first_of("@/")));
}

std::string DifferenceUnit(std::string_view metric) {
  const std::string quantity = MetricQuantity(metric);
  if (quantity == "perplexity" || quantity.starts_with("loss")) return "nats";
  if (quantity == "bits_per_byte") return "bits per byte";
  return quantity;
}

bool LowerIsBetter(std::string_view metric) {
  const std::string unit = DifferenceUnit(metric);
  return unit == "nats" || unit == "bits per byte";
}

}  // namespace gyre
