#include "trainer/position/rotation.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <tuple>

namespace gyre {
namespace {

// The frequencies of the rotated slice before truncation, and the attention factor.
struct Ladder {
  std::vector<double> frequencies;  // (size/2)
  double attention_factor = 1;
};

std::string Number(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

Status OneOf(const std::string& path, const std::string& value,
             std::initializer_list<const char*> known) {
  std::string list;
  for (const char* name : known) {
    if (value == name) return OkStatus();
    list += (list.empty() ? "" : ", ") + std::string(name);
  }
  return InvalidArgument(path + ": '" + value + "' is not one of " + list);
}

Status CheckScaling(const std::string& path, const ScalingConfig& scaling) {
  GYRE_RETURN_IF_ERROR(
      OneOf(path + ".type", scaling.type, {"none", "linear", "dynamic", "yarn", "llama3"}));
  if (scaling.type == "none") return OkStatus();
  if (!std::isfinite(scaling.factor) || scaling.factor <= 0) {
    return InvalidArgument(path + ".factor must be a finite number above 0");
  }
  if (scaling.type == "linear") return OkStatus();
  if (scaling.original_max_position_embeddings <= 0) {
    return InvalidArgument(path + ".original_max_position_embeddings must be above 0 for '" +
                           scaling.type + "'");
  }
  if (scaling.type == "llama3" && !(scaling.high_freq_factor > scaling.low_freq_factor)) {
    return InvalidArgument(path + ".high_freq_factor must be above low_freq_factor");
  }
  if (scaling.type == "yarn" && !(scaling.beta_fast > scaling.beta_slow && scaling.beta_slow > 0)) {
    return InvalidArgument(path + ".beta_fast must be above beta_slow, and beta_slow above 0");
  }
  if (scaling.attention_factor &&
      !(std::isfinite(*scaling.attention_factor) && *scaling.attention_factor > 0)) {
    return InvalidArgument(path + ".attention_factor must be a finite number above 0");
  }
  return OkStatus();
}

Status CheckEncoding(const std::string& path, const EncodingConfig& encoding, int head_dim) {
  GYRE_RETURN_IF_ERROR(OneOf(path + ".type", encoding.type, {"rope", "nope", "alibi"}));
  if (encoding.type != "rope") return OkStatus();
  GYRE_RETURN_IF_ERROR(OneOf(path + ".keep", encoding.keep, {"high", "low"}));
  GYRE_RETURN_IF_ERROR(OneOf(path + ".spacing", encoding.spacing, {"full", "respaced"}));
  GYRE_RETURN_IF_ERROR(OneOf(path + ".pairing", encoding.pairing, {"half", "interleaved"}));
  if (head_dim % 2 != 0) {
    return InvalidArgument("model.head_dim = " + std::to_string(head_dim) +
                           " is odd, and a rotation needs pairs of coordinates");
  }
  if (!std::isfinite(encoding.theta) || encoding.theta <= 1) {
    return InvalidArgument(path + ".theta must be a finite number above 1");
  }
  if (!(encoding.p >= 0 && encoding.p <= 1)) {
    return InvalidArgument(path + ".p must be between 0 and 1, and is " + Number(encoding.p));
  }
  const double size = std::floor(encoding.p * head_dim);
  if (encoding.spacing == "respaced" && static_cast<int>(size) % 2 != 0) {
    return InvalidArgument(path + ".p: p·head_dim = " + Number(size) +
                           " is odd, and spacing 'respaced' needs an even number");
  }
  if (encoding.spacing == "respaced" && encoding.keep == "low") {
    return InvalidArgument(path +
                           ".keep: low needs spacing 'full': a respaced ladder is kept whole");
  }
  if (encoding.band) {
    const auto [first, last] = *encoding.band;
    if (first < 0 || first > last || last > head_dim / 2) {
      return InvalidArgument(path + ".band must lie within [0, " + std::to_string(head_dim / 2) +
                             "), the pairs of a head");
    }
    if (encoding.p != 1 || encoding.keep != "high") {
      return InvalidArgument(path + ".band excludes p and keep");
    }
  }
  return CheckScaling(path + ".scaling", encoding.scaling);
}

// Llama 3: frequencies that turn often within the original length stay, slow ones are divided.
double Llama3(const ScalingConfig& scaling, double frequency) {
  const double turns =
      scaling.original_max_position_embeddings * frequency / (2 * std::numbers::pi);
  const double mix = std::clamp(
      (turns - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor), 0.0,
      1.0);
  return (1 - mix) * frequency / scaling.factor + mix * frequency;
}

// YaRN (arXiv 2309.00071), with the ramp over pair indices as Hugging Face has it.
void Yarn(const EncodingConfig& encoding, int size, Ladder* ladder) {
  const ScalingConfig& scaling = encoding.scaling;
  const auto pair_with = [&](double turns) {
    return size *
           std::log(scaling.original_max_position_embeddings / (2 * std::numbers::pi * turns)) /
           (2 * std::log(encoding.theta));
  };
  const double first = std::max(std::floor(pair_with(scaling.beta_fast)), 0.0);
  double last = std::min(std::ceil(pair_with(scaling.beta_slow)), size - 1.0);
  if (first == last) last += 0.001;
  for (size_t j = 0; j < ladder->frequencies.size(); ++j) {
    double& f = ladder->frequencies[j];
    const double ramp = std::clamp((static_cast<double>(j) - first) / (last - first), 0.0, 1.0);
    f = ramp * f / scaling.factor + (1 - ramp) * f;
  }
  ladder->attention_factor = scaling.attention_factor.value_or(
      scaling.factor > 1 ? 0.1 * std::log(scaling.factor) + 1 : 1.0);
}

Ladder ScaledLadder(const EncodingConfig& encoding, int size, int length) {
  const ScalingConfig& scaling = encoding.scaling;
  double theta = encoding.theta;
  // A ladder of one frequency is theta^0, whatever theta is; the exponent below would divide by 0.
  if (scaling.type == "dynamic" && size > 2) {
    const double original = scaling.original_max_position_embeddings;
    const double stretch =
        scaling.factor * std::max<double>(length, original) / original - (scaling.factor - 1);
    theta *= std::pow(stretch, size / (size - 2.0));
  }
  Ladder ladder;
  for (int j = 0; j < size / 2; ++j) {
    double f = std::pow(theta, -2.0 * j / size);
    if (scaling.type == "linear") f /= scaling.factor;
    if (scaling.type == "llama3") f = Llama3(scaling, f);
    ladder.frequencies.push_back(f);
  }
  if (scaling.type == "yarn" && size > 0) Yarn(encoding, size, &ladder);
  return ladder;
}

// Pairs within the `size` coordinates that start at `begin`.
void AppendPairs(int begin, int size, bool interleaved, std::vector<std::pair<int, int>>* pairs) {
  for (int k = 0; k < size / 2; ++k) {
    const int a = interleaved ? begin + 2 * k : begin + k;
    pairs->emplace_back(a, interleaved ? a + 1 : a + size / 2);
  }
}

Rotation ResolveRotation(const EncodingConfig& encoding, int head_dim, int length) {
  const int half = head_dim / 2;
  const bool rope = encoding.type == "rope";
  const bool respaced = rope && encoding.spacing == "respaced";
  const bool interleaved = rope && encoding.pairing == "interleaved";
  const int size = respaced ? static_cast<int>(encoding.p * head_dim) : head_dim;

  Rotation rotation;
  rotation.frequencies.assign(half, 0.0);
  rotation.scaled.assign(half, true);
  AppendPairs(0, size, interleaved, &rotation.pairs);
  AppendPairs(size, head_dim - size, interleaved, &rotation.pairs);
  if (!rope) return rotation;

  const Ladder ladder = ScaledLadder(encoding, size, length);
  rotation.attention_factor = ladder.attention_factor;
  // The reference counts kept pairs as int(p * d // 2) in double precision; so do we.
  const int kept = respaced ? size / 2 : static_cast<int>(std::floor(encoding.p * head_dim / 2));
  auto [first, last] = encoding.keep == "low" ? std::pair(half - kept, half) : std::pair(0, kept);
  if (encoding.band) std::tie(first, last) = *encoding.band;
  for (int k = first; k < last; ++k) rotation.frequencies[k] = ladder.frequencies[k];
  if (respaced) std::fill(rotation.scaled.begin() + size / 2, rotation.scaled.end(), false);
  return rotation;
}

// Press et al., arXiv 2108.12409: a geometric ladder; other numbers than powers of two take every
// second slope of the next ladder.
std::vector<double> AlibiSlopes(int heads) {
  int power = 1;
  while (2 * power <= heads) power *= 2;
  std::vector<double> slopes;
  for (int h = 0; h < power; ++h) slopes.push_back(std::exp2(-8.0 * (h + 1) / power));
  for (int i = 0; i < heads - power; ++i) slopes.push_back(std::exp2(-4.0 * (2 * i + 1) / power));
  return slopes;
}

}  // namespace

Result<std::vector<LayerPosition>> ResolvePositions(const PositionConfig& position,
                                                    const ModelConfig& model, int length) {
  const int layers = model.num_hidden_layers;
  if (layers <= 0 || model.head_dim <= 0 || model.num_attention_heads <= 0) {
    return InvalidArgument(
        "model: num_hidden_layers, head_dim and num_attention_heads must be above 0");
  }
  const auto wrong_count = [&](const char* key, size_t count) {
    return InvalidArgument(std::string(key) + " has " + std::to_string(count) + " entries for " +
                           std::to_string(layers) + " layers");
  };
  const size_t count = static_cast<size_t>(layers);
  if (!position.layers.empty() && position.layers.size() != count) {
    return wrong_count("position.layers", position.layers.size());
  }
  if (!position.windows.empty() && position.windows.size() != count) {
    return wrong_count("position.windows", position.windows.size());
  }
  std::vector<LayerPosition> resolved;
  for (int l = 0; l < layers; ++l) {
    const bool own = !position.layers.empty();
    const EncodingConfig& encoding = own ? position.layers[l] : position.common;
    const std::string path = own ? "position.layers[" + std::to_string(l) + "]" : "position";
    GYRE_RETURN_IF_ERROR(CheckEncoding(path, encoding, model.head_dim));
    LayerPosition layer;
    layer.rotation = ResolveRotation(encoding, model.head_dim, length);
    if (encoding.type == "alibi") layer.alibi_slopes = AlibiSlopes(model.num_attention_heads);
    layer.window = position.windows.empty() ? model.sliding_window : position.windows[l];
    if (layer.window < 0) {
      return InvalidArgument(path + ".sliding_window must not be negative");
    }
    resolved.push_back(std::move(layer));
  }
  return resolved;
}

}  // namespace gyre
