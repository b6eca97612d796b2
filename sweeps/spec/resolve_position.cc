// The position block of a merged point: the common encoding, overrides spread over the layers,
// windows.

#include <algorithm>
#include <cmath>

#include "sweeps/spec/nearest.h"
#include "sweeps/spec/point_checks.h"
#include "sweeps/spec/scalar.h"

namespace gyre {
namespace {

const int kHiddenLayers = FieldIndexOrDie("model.num_hidden_layers");
const int kHeadDim = FieldIndexOrDie("model.head_dim");
const int kHidden = FieldIndexOrDie("model.hidden_size");
const int kHeads = FieldIndexOrDie("model.num_attention_heads");
const int kWindow = FieldIndexOrDie("model.sliding_window");
const int kUseWindow = FieldIndexOrDie("model.use_sliding_window");
const int kLayerTypes = FieldIndexOrDie("model.layer_types");
const int kMaxPositions = FieldIndexOrDie("model.max_position_embeddings");

const int kType = FieldIndexOrDie("position.type");
const int kTheta = FieldIndexOrDie("position.theta");
const int kP = FieldIndexOrDie("position.p");
const int kKeep = FieldIndexOrDie("position.keep");
const int kSpacing = FieldIndexOrDie("position.spacing");
const int kBand = FieldIndexOrDie("position.band");
const int kPairing = FieldIndexOrDie("position.pairing");
const int kScaling = FieldIndexOrDie("position.scaling.type");
const int kFactor = FieldIndexOrDie("position.scaling.factor");
const int kOriginal = FieldIndexOrDie("position.scaling.original_max_position_embeddings");
const int kLowFactor = FieldIndexOrDie("position.scaling.low_freq_factor");
const int kHighFactor = FieldIndexOrDie("position.scaling.high_freq_factor");
const int kBetaFast = FieldIndexOrDie("position.scaling.beta_fast");
const int kBetaSlow = FieldIndexOrDie("position.scaling.beta_slow");
const int kAttentionFactor = FieldIndexOrDie("position.scaling.attention_factor");
const int kLayers = FieldIndexOrDie("position.layers");
const int kSwitch = FieldIndexOrDie("position.switch");
const int kTokens = FieldIndexOrDie("train.tokens");
const int kRopeParameters = FieldIndexOrDie("position.rope_parameters");
const int kNoRopeLayers = FieldIndexOrDie("position.no_rope_layers");
const int kNoRopeInterval = FieldIndexOrDie("position.no_rope_layer_interval");

ScalingConfig ReadScaling(const PointChecks& checks, ScalingConfig scaling) {
  const std::string type = checks.Get(kScaling, scaling.type);
  if (type == "none") return {};
  if (type != scaling.type) scaling = {};
  scaling.type = type;
  scaling.factor = checks.Get(kFactor, scaling.factor);
  if (scaling.type != "linear") {
    scaling.original_max_position_embeddings =
        checks.Get(kOriginal, checks.Get(kMaxPositions, scaling.original_max_position_embeddings));
  }
  if (scaling.type == "llama3") {
    scaling.low_freq_factor = checks.Get(kLowFactor, scaling.low_freq_factor);
    scaling.high_freq_factor = checks.Get(kHighFactor, scaling.high_freq_factor);
  }
  if (scaling.type == "yarn") {
    scaling.beta_fast = checks.Get(kBetaFast, scaling.beta_fast);
    scaling.beta_slow = checks.Get(kBetaSlow, scaling.beta_slow);
    if (checks.Has(kAttentionFactor)) scaling.attention_factor = checks.Get(kAttentionFactor, 1.0);
  }
  return scaling;
}

// `encoding` holds the defaults.
EncodingConfig ReadEncoding(const PointChecks& checks, EncodingConfig encoding) {
  if (checks.Has(kP) || checks.Has(kKeep)) encoding.band.reset();
  encoding.type = checks.Get(kType, encoding.type);
  encoding.theta = checks.Get(kTheta, encoding.theta);
  encoding.p = checks.Get(kP, encoding.p);
  encoding.keep = checks.Get(kKeep, encoding.keep);
  encoding.spacing = checks.Get(kSpacing, encoding.spacing);
  if (const Setting* band = checks.point().At(kBand)) {
    encoding.band = {band->value[0].get<int>(), band->value[1].get<int>()};
    encoding.p = 1;
    encoding.keep = "high";
  }
  encoding.pairing = checks.Get(kPairing, encoding.pairing);
  encoding.scaling = ReadScaling(checks, encoding.scaling);
  return encoding;
}

void CheckScaling(PointChecks* checks, const ScalingConfig& scaling, Notes* notes) {
  const std::string type = "position.scaling.type " + scaling.type;
  if (scaling.type == "none" && !checks->Has(kScaling)) {
    for (const int field :
         {kFactor, kOriginal, kLowFactor, kHighFactor, kBetaFast, kBetaSlow, kAttentionFactor}) {
      if (!checks->Has(field)) continue;
      checks->Add({field, kScaling},
                  std::string(AllFields()[field].path) + " is said without position.scaling.type",
                  "give the type: linear, dynamic, yarn or llama3");
    }
  }
  if (scaling.type != "none") {
    if (checks->Has(kScaling) && !checks->Has(kFactor))
      checks->Add({kScaling, kFactor}, type + " needs position.scaling.factor");
    if (scaling.type != "linear" && scaling.original_max_position_embeddings == 0) {
      checks->Add({kScaling, kOriginal, kMaxPositions},
                  type + " needs position.scaling.original_max_position_embeddings");
    }
  }
  if (!(scaling.low_freq_factor < scaling.high_freq_factor)) {
    checks->Add({kHighFactor, kLowFactor},
                "position.scaling.high_freq_factor must be above low_freq_factor");
  }
  if (!(scaling.beta_slow < scaling.beta_fast)) {
    checks->Add({kBetaFast, kBetaSlow}, "position.scaling.beta_fast must be above beta_slow");
  }
  const auto no_effect = [&](std::initializer_list<int> fields, const char* owner) {
    if (scaling.type == owner) return;
    for (const int field : fields) {
      if (checks->Has(field) && checks->Has(kScaling)) {
        notes->Add(std::string(AllFields()[field].path) + " has no effect under scaling " +
                   scaling.type);
      }
    }
  };
  no_effect({kLowFactor, kHighFactor}, "llama3");
  no_effect({kBetaFast, kBetaSlow, kAttentionFactor}, "yarn");
}

void CheckEncoding(PointChecks* checks, const EncodingConfig& encoding, int head_dim,
                   Notes* notes) {
  if (checks->Has(kBand) && (checks->Has(kP) || checks->Has(kKeep))) {
    checks->Add({kBand, kP, kKeep},
                "position.band stands in place of p and keep, and not together with them",
                "leave band out, or set the others to null");
  }
  if (encoding.type != "rope") return;
  CheckScaling(checks, encoding.scaling, notes);
  if (head_dim % 2 != 0) {
    checks->Add({kHeadDim, kHidden, kHeads, kType},
                "model.head_dim must be even, since a rotation turns pairs, and is " +
                    std::to_string(head_dim));
    return;
  }
  const int rotated = static_cast<int>(encoding.p * head_dim);
  if (encoding.spacing == "respaced" && rotated % 2 != 0) {
    checks->Add({kP, kSpacing, kHeadDim, kHidden, kHeads},
                "position.p: under spacing respaced p * head_dim must be even, and is " +
                    FormatNumber(encoding.p) + " * " + std::to_string(head_dim) + " = " +
                    std::to_string(rotated));
  }
  if (encoding.spacing == "respaced" && encoding.keep == "low") {
    checks->Add(
        {kKeep, kSpacing},
        "position.keep low goes with spacing full alone: a re-spaced ladder is not truncated");
  }
  if (encoding.band && encoding.band->second > head_dim / 2) {
    checks->Add({kBand, kHeadDim, kHidden, kHeads},
                "position.band ends at " + std::to_string(encoding.band->second) +
                    ", and a head of " + std::to_string(head_dim) + " has " +
                    std::to_string(head_dim / 2) + " pairs");
  }
}

// Spreads the overrides over the layers. One GridPoint a layer that has any, starting as the common
// one.
class LayerSpreader {
 public:
  LayerSpreader(PointChecks* checks, int layers) : checks_(checks), layers_(layers) {}

  void ByLayerType(const std::vector<std::string>& types) {
    const Setting* setting = checks_->point().At(kRopeParameters);
    if (setting == nullptr) return;
    if (types.empty()) {
      return checks_->Add({kRopeParameters, kLayerTypes},
                          "position.rope_parameters by layer type needs model.layer_types");
    }
    for (const LayerOverride& override : setting->overrides) {
      for (int layer = 0; layer < layers_; ++layer) {
        if (types[layer] == override.layer_type) At(layer)->Overlay(override.settings);
      }
    }
  }

  // Hugging Face: 1 rotates, 0 does not; every n-th layer does not.
  void NoRope() {
    if (const Setting* flags = checks_->point().At(kNoRopeLayers)) {
      if (static_cast<int>(flags->value.size()) != layers_) {
        return checks_->Add({kNoRopeLayers, kHiddenLayers},
                            "position.no_rope_layers has " + std::to_string(flags->value.size()) +
                                " entries for " + std::to_string(layers_) + " layers");
      }
      for (int layer = 0; layer < layers_; ++layer) {
        if (!flags->value[layer].get<bool>()) At(layer)->Overlay(Nope());
      }
    }
    if (const int interval = checks_->Get(kNoRopeInterval, 0); interval > 0) {
      if (checks_->Has(kNoRopeLayers)) {
        return checks_->Add(
            {kNoRopeInterval, kNoRopeLayers},
            "position.no_rope_layer_interval and no_rope_layers say the same: keep one");
      }
      for (int layer = interval - 1; layer < layers_; layer += interval) At(layer)->Overlay(Nope());
    }
  }

  void Written(std::vector<PointFault>* faults) {
    const Setting* setting = checks_->point().At(kLayers);
    if (setting == nullptr || !checks_->Usable({kHiddenLayers})) return;
    std::map<std::pair<int, int>, const Setting*> said;
    for (const LayerOverride& override : setting->overrides) {
      for (auto [first, last] : override.ranges) {
        if (first == LayerOverride::kLast) first = layers_ - 1;
        if (last == LayerOverride::kLast) last = layers_ - 1;
        if (first > last || last >= layers_) {
          const Setting* count = checks_->point().Written(kHiddenLayers);
          const bool blame_count = count != nullptr && count->rank > setting->rank;
          faults->push_back(
              {blame_count ? count->place : override.place, "layer that does not exist",
               "position.layers: there is no layer " + std::to_string(std::max(first, last)) +
                   "; the model has " + std::to_string(layers_) + ", counted from 0",
               ""});
          continue;
        }
        for (int layer = first; layer <= last; ++layer) {
          for (const auto& [field, own] : override.settings) {
            const auto [found, is_new] = said.emplace(std::pair(layer, field), own);
            if (!is_new && found->second->value != own->value) {
              faults->push_back({own->place, "said twice",
                                 "position.layers says two things about " +
                                     std::string(AllFields()[field].path) + " of layer " +
                                     std::to_string(layer),
                                 ""});
            }
          }
          At(layer)->Overlay(override.settings);
        }
      }
    }
  }

  std::map<int, GridPoint>& points() { return points_; }

 private:
  GridPoint* At(int layer) { return &points_.try_emplace(layer, checks_->point()).first->second; }

  static const Settings& Nope() {
    static const Setting setting{.field = kType, .value = "nope", .place = {}, .overrides = {}};
    static const Settings settings{{kType, &setting}};
    return settings;
  }

  PointChecks* checks_;
  int layers_;
  std::map<int, GridPoint> points_;
};

std::vector<std::string> LayerTypes(PointChecks* checks, int layers) {
  const Setting* types = checks->point().At(kLayerTypes);
  if (types == nullptr) return {};
  if (static_cast<int>(types->value.size()) != layers) {
    checks->Add({kLayerTypes, kHiddenLayers},
                "model.layer_types has " + std::to_string(types->value.size()) + " entries for " +
                    std::to_string(layers) + " layers");
    return {};
  }
  return types->value.get<std::vector<std::string>>();
}

std::vector<int> WindowsByType(PointChecks* checks, const std::vector<std::string>& types,
                               int window) {
  if (std::find(types.begin(), types.end(), "sliding_attention") == types.end())
    return std::vector<int>(types.size(), 0);
  if (window == 0 && checks->Get(kUseWindow, true)) {
    checks->Add({kLayerTypes, kWindow},
                "model.layer_types has sliding_attention, and there is no model.sliding_window");
  }
  std::vector<int> windows;
  for (const std::string& type : types) windows.push_back(type == "sliding_attention" ? window : 0);
  return windows;
}

}  // namespace

void ResolvePosition(PointChecks* checks, const ModelConfig& model, PositionConfig* position,
                     Notes* notes) {
  const int layers = model.num_hidden_layers;
  const EncodingConfig common_default = position->common;
  // Of weights whose layers differ; not where the sweep has another number of layers, which is a
  // fault anyway.
  std::vector<EncodingConfig> layer_defaults = std::move(position->layers);
  if (static_cast<int>(layer_defaults.size()) != layers) layer_defaults.clear();
  const bool says_window = checks->Has(kWindow) || !checks->Get(kUseWindow, true);
  if (says_window || static_cast<int>(position->windows.size()) != layers) {
    position->windows.clear();
  }
  position->layers.clear();
  position->common = ReadEncoding(*checks, common_default);
  for (const EncodingConfig& own : layer_defaults) {
    position->layers.push_back(ReadEncoding(*checks, own));
  }
  const std::vector<std::string> types = LayerTypes(checks, layers);
  if (!types.empty()) position->windows = WindowsByType(checks, types, model.sliding_window);

  LayerSpreader spreader(checks, layers);
  spreader.ByLayerType(types);
  spreader.NoRope();
  spreader.Written(checks->faults());

  const bool all_overridden = static_cast<int>(spreader.points().size()) == layers;
  if (!all_overridden) CheckEncoding(checks, position->common, model.head_dim, notes);
  for (auto& [layer, point] : spreader.points()) {
    PointChecks own(point, checks->fallback(), checks->faults());
    const EncodingConfig encoding = ReadEncoding(
        own, layer_defaults.empty() ? common_default : layer_defaults[static_cast<size_t>(layer)]);
    CheckEncoding(&own, encoding, model.head_dim, notes);
    if (encoding != position->common && position->layers.empty()) {
      position->layers.assign(layers, position->common);
    }
    if (!position->layers.empty()) position->layers[layer] = encoding;
    const int window = own.Get(kUseWindow, true) ? own.Get(kWindow, 0) : 0;
    if (point.Written(kWindow) == checks->point().Written(kWindow)) continue;
    if (position->windows.empty()) position->windows.assign(layers, model.sliding_window);
    position->windows[layer] = window;
  }
}

void ResolveSwitches(PointChecks* checks, const PositionConfig& defaults, JobConfig* config,
                     Notes* notes) {
  const Setting* setting = checks->point().At(kSwitch);
  if (setting == nullptr) return;
  GridPoint in_force = checks->point();
  for (const LayerOverride& change : setting->overrides) {
    if (change.at > config->train.tokens) {
      checks->Add({kSwitch, kTokens}, "position.switch.at " + std::to_string(change.at) +
                                          " lies beyond train.tokens " +
                                          std::to_string(config->train.tokens));
    }
    in_force.Overlay(change.settings);
    PointChecks own(in_force, change.place, checks->faults());
    PositionSwitch& made = config->position.switches.emplace_back();
    made.at = change.at;
    made.to = defaults;
    ResolvePosition(&own, config->model, &made.to, notes);
  }
}

}  // namespace gyre
