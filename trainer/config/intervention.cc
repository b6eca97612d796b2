#include "trainer/config/intervention.h"

#include <algorithm>
#include <cmath>

namespace gyre {
namespace {

std::string Text(int number) { return std::to_string(number); }

// "", "-layer-3", "-layers-0-3_5": runs of neighbours as ranges.
std::string LayersName(const std::vector<int>& layers) {
  if (layers.empty()) return "";
  if (layers.size() == 1) return "-layer-" + Text(layers[0]);
  std::string name = "-layers-";
  for (size_t begin = 0, end = 0; begin < layers.size(); begin = end) {
    for (end = begin + 1; end < layers.size() && layers[end] == layers[end - 1] + 1;) ++end;
    name += (begin == 0 ? "" : "_") + Text(layers[begin]);
    if (end - begin > 1) name += "-" + Text(layers[end - 1]);
  }
  return name;
}

Result<std::vector<std::pair<int, int>>> PairsOf(const InterventionRequest& request, int pairs) {
  if (request.pairs) return std::vector{*request.pairs};
  if (request.bands > pairs) {
    return InvalidArgument(Text(request.bands) + " bands of a head with " + Text(pairs) +
                           " pairs: there are fewer pairs than bands");
  }
  std::vector<std::pair<int, int>> list;
  for (int band = 0; band < request.bands; ++band) {
    list.emplace_back(band * pairs / request.bands, (band + 1) * pairs / request.bands);
  }
  if (!list.empty()) return list;
  // A little more, so that 0.3 of 10 pairs are 3.
  const int count = std::min(static_cast<int>(std::floor(request.share * pairs + 1e-9)), pairs);
  if (count < 1) {
    return InvalidArgument("so small a share of " + Text(pairs) + " pairs is not one pair");
  }
  return std::vector{request.highest ? std::pair(0, count) : std::pair(pairs - count, pairs)};
}

}  // namespace

bool Changes(const Intervention& intervention, int layer) {
  const auto& layers = intervention.layers;
  return layers.empty() || std::binary_search(layers.begin(), layers.end(), layer);
}

Status CheckIntervention(const Intervention& intervention, const ModelConfig& model) {
  for (const int layer : intervention.layers) {
    if (layer >= 0 && layer < model.num_hidden_layers) continue;
    return InvalidArgument("there is no layer " + Text(layer) + "; the model has " +
                           Text(model.num_hidden_layers) + ", counted from 0");
  }
  if (intervention.kind == kPosition) return OkStatus();
  const auto [first, end] = intervention.pairs;
  if (first >= 0 && first < end && end <= model.head_dim / 2) return OkStatus();
  return InvalidArgument("[" + Text(first) + ", " + Text(end) +
                         "] is no range of pairs; a head of " + Text(model.head_dim) +
                         " has the pairs 0 to " + Text(model.head_dim / 2 - 1));
}

Result<std::vector<Intervention>> ExpandIntervention(const InterventionRequest& request,
                                                     const ModelConfig& model) {
  std::vector<std::pair<int, int>> pairs = {{0, 0}};
  if (request.kind != kPosition) {
    GYRE_ASSIGN_OR_RETURN(pairs, PairsOf(request, model.head_dim / 2));
  }
  std::vector<std::vector<int>> layers = {request.layers};
  if (request.each_layer) {
    layers.clear();
    for (int layer = 0; layer < model.num_hidden_layers; ++layer) {
      if (Changes({.name = "", .kind = "", .layers = request.layers, .position = {}}, layer)) {
        layers.push_back({layer});
      }
    }
  }
  if (pairs.size() * layers.size() > kMaxInterventions) {
    return InvalidArgument(std::to_string(pairs.size() * layers.size()) +
                           " bands and layers are more than " + std::to_string(kMaxInterventions));
  }
  std::vector<Intervention> list;
  for (const auto& [first, end] : pairs) {
    for (const std::vector<int>& own : layers) {
      Intervention one{.name = request.name,
                       .kind = request.kind,
                       .layers = own,
                       .pairs = {first, end},
                       .position = request.position};
      const std::string range = "-" + Text(first) + "-" + Text(end);
      if (one.name.empty()) {
        one.name = request.kind == kPosition ? request.position_name : request.kind + range;
        one.name += LayersName(own);
      } else {
        if (request.bands > 0) one.name += range;
        if (request.each_layer) one.name += LayersName(own);
      }
      GYRE_RETURN_IF_ERROR(CheckIntervention(one, model));
      list.push_back(std::move(one));
    }
  }
  return list;
}

}  // namespace gyre
