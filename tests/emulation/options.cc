#include "tests/emulation/options.h"

#include <cstdlib>
#include <sstream>
#include <string>

#include "tests/emulation/error.h"

namespace gyre::emulation {
namespace {

uint64_t Number(const std::string& part, const std::string& value) {
  char* end = nullptr;
  const uint64_t number = std::strtoull(value.c_str(), &end, 10);
  const std::string unit = end;
  if (end != value.c_str()) {
    if (unit.empty()) return number;
    if (unit == "m") return number << 20;
    if (unit == "g") return number << 30;
  }
  throw Error("GYRE_EMULATION: " + part + ": not a number (units: m, g)");
}

void Apply(const std::string& part, Options* options) {
  const size_t equals = part.find('=');
  const std::string key = part.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : part.substr(equals + 1);
  if (part == "lazy") {
    options->lazy = true;
  } else if (part == "order=forward") {
    options->order = Order::kForward;
  } else if (part == "order=reverse") {
    options->order = Order::kReverse;
  } else if (part == "order=random") {
    options->order = Order::kRandom;
  } else if (key == "seed") {
    options->seed = Number(part, value);
  } else if (key == "devices") {
    options->devices = static_cast<int>(Number(part, value));
  } else if (key == "memory") {
    options->memory_bytes = Number(part, value);
  } else if (key == "fail") {
    options->allocations_to_failure = Number(part, value);
  } else {
    throw Error(
        "GYRE_EMULATION: unknown part '" + part +
        "'; there are order=forward|reverse|random, seed=N, lazy, devices=N, memory=N, fail=N");
  }
}

Options FromEnvironment() {
  Options options;
  const char* text = std::getenv("GYRE_EMULATION");
  std::istringstream parts(text == nullptr ? "" : text);
  for (std::string part; std::getline(parts, part, ',');) Apply(part, &options);
  return options;
}

}  // namespace

Options& TheOptions() {
  static Options options = FromEnvironment();
  return options;
}

}  // namespace gyre::emulation
