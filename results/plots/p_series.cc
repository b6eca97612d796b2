#include "results/plots/p_series.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <set>

#include "results/numbers.h"
#include "results/plots/gnuplot_text.h"

namespace gyre {
namespace {

using Json = nlohmann::ordered_json;

struct Candidate {
  PSeries series;
  Json config;  // without p
};

/// Of a block `position`: whether the key is there and says something.
bool Says(const Json& config, const char* key) {
  const auto position = config.find("position");
  if (position == config.end() || !position->is_object()) return false;
  const auto value = position->find(key);
  return value != position->end() && !value->is_null() && !value->empty();
}

bool IsPlain(const Json& config) {
  const auto is = [&](const char* key, const char* word) {
    return !Says(config, key) || config["position"][key] == word;
  };
  return is("keep", "high") && is("spacing", "full") && !Says(config, "scaling") &&
         !Says(config, "layers") && !Says(config, "band") && !Says(config, "switch");
}

/// What says more than one encoding for all layers and all the time.
bool Varies(const Json& config) { return Says(config, "layers") || Says(config, "switch"); }

std::string WithoutPosition(Json config) {
  config.erase("position");
  return config.dump();
}

bool HasP(const PSeries& series, double p) {
  return std::any_of(series.variants.begin(), series.variants.end(),
                     [&](const PVariant& v) { return v.p == p; });
}

std::string ValueInWords(const Json& value) {
  if (value.is_number()) {
    const auto number = value.get<double>();
    return number >= 1000 ? FormatCount(number) : GnuplotNumber(number);
  }
  return value.is_string() ? value.get<std::string>() : value.dump();
}

/// Gives each series the values by which it differs from others.
void NameSeries(std::vector<Candidate>* candidates) {
  std::map<std::string, std::set<std::string>> values;
  std::vector<Json> flat;
  for (const Candidate& candidate : *candidates) {
    flat.push_back(candidate.config.flatten());
    for (const auto& [path, value] : flat.back().items()) values[path].insert(value.dump());
  }
  for (const auto& [path, different] : values) {
    for (size_t i = 0; i < candidates->size(); ++i) {
      const bool everywhere = std::all_of(
          flat.begin(), flat.end(), [&path = path](const Json& f) { return f.contains(path); });
      if ((different.size() < 2 && everywhere) || !flat[i].contains(path)) continue;
      std::string& name = (*candidates)[i].series.name;
      name += (name.empty() ? "" : " ") + path.substr(path.rfind('/') + 1) + "=" +
              ValueInWords(flat[i].at(path));
    }
  }
}

void AddRotary(const PlottedVariant& variant, std::vector<Candidate>* candidates) {
  Json config = variant.config;
  if (config.contains("position")) config["position"].erase("p");
  auto found = std::find_if(candidates->begin(), candidates->end(),
                            [&](const Candidate& c) { return c.config == config; });
  if (found == candidates->end()) {
    candidates->push_back({{.name = "",
                            .theta = variant.theta.value_or(0),
                            .context = variant.context,
                            .plain = IsPlain(config),
                            .variants = {}},
                           std::move(config)});
    found = candidates->end() - 1;
  }
  if (!HasP(found->series, *variant.p)) found->series.variants.push_back({*variant.p, &variant});
}

}  // namespace

double PSeries::PStar() const {
  if (!plain) return std::numeric_limits<double>::quiet_NaN();
  return std::log(context / (2 * std::numbers::pi)) / std::log(theta);
}

std::set<const PlottedVariant*> VariantsOf(const std::vector<PSeries>& series) {
  std::set<const PlottedVariant*> variants;
  for (const PSeries& one : series) {
    for (const PVariant& v : one.variants) variants.insert(v.variant);
  }
  return variants;
}

std::vector<PSeries> FindPSeries(const PlottedSweep& sweep, std::vector<std::string>* left_out) {
  std::vector<Candidate> candidates;
  for (const PlottedVariant& variant : sweep.variants) {
    if (variant.position_type == "rope" && variant.p) AddRotary(variant, &candidates);
  }
  for (const PlottedVariant& variant : sweep.variants) {
    if (variant.position_type != "nope") continue;
    for (Candidate& candidate : candidates) {
      if (HasP(candidate.series, 0) || Varies(candidate.config) || Varies(variant.config)) continue;
      if (WithoutPosition(candidate.config) != WithoutPosition(variant.config)) continue;
      candidate.series.variants.push_back({0, &variant});
    }
  }
  std::erase_if(candidates, [](const Candidate& c) {
    // NoPE joins every series; one variant and NoPE are no series over p.
    const auto rotary = std::count_if(c.series.variants.begin(), c.series.variants.end(),
                                      [](auto& v) { return v.variant->position_type == "rope"; });
    return rotary < 2;
  });
  NameSeries(&candidates);
  std::vector<PSeries> series;
  for (Candidate& candidate : candidates) {
    auto& variants = candidate.series.variants;
    std::sort(variants.begin(), variants.end(), [](auto& a, auto& b) { return a.p < b.p; });
    series.push_back(std::move(candidate.series));
  }
  const std::set<const PlottedVariant*> used = VariantsOf(series);
  for (const PlottedVariant& variant : sweep.variants) {
    if (!used.contains(&variant)) left_out->push_back(variant.name);
  }
  return series;
}

}  // namespace gyre
