#include "trainer/pretrained/gguf_rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "trainer/pretrained/json_reader.h"

namespace gyre {
namespace {

constexpr double kNever = 1e20;  // a divisor so large means that the pair does not rotate

bool Near(double a, double b) { return std::abs(a - b) <= 1e-3 * std::abs(b); }

bool AllNear(const std::vector<float>& divisors, size_t from, size_t to, double value) {
  return std::all_of(divisors.begin() + static_cast<std::ptrdiff_t>(from),
                     divisors.begin() + static_cast<std::ptrdiff_t>(to),
                     [value](float divisor) { return Near(divisor, value); });
}

// The fastest pairs as they are, the slowest divided, between them a ramp over turns in the
// original length: which length that is, a pair on the ramp tells.
Json LlamaThree(const std::vector<float>& divisors, double theta) {
  constexpr double kLow = 1, kHigh = 4;
  const double factor = divisors.back();
  const auto turns_per_token = [&](size_t j) {
    return std::pow(theta,
                    -2.0 * static_cast<double>(j) / (2.0 * static_cast<double>(divisors.size()))) /
           (2 * std::numbers::pi);
  };
  double original = 0;
  for (size_t j = 0; j < divisors.size() && original == 0; ++j) {
    const double mix = (1 / double{divisors[j]} - 1 / factor) / (1 - 1 / factor);
    if (mix > 0.01 && mix < 0.99)
      original = std::round((mix * (kHigh - kLow) + kLow) / turns_per_token(j));
  }
  if (!(original > 0 && original < 1e9)) return {};
  for (size_t j = 0; j < divisors.size(); ++j) {
    const double mix =
        std::clamp((original * turns_per_token(j) - kLow) / (kHigh - kLow), 0.0, 1.0);
    if (!Near(divisors[j], 1 / ((1 - mix) / factor + mix))) return {};
  }
  return {{"rope_type", "llama3"},
          {"factor", factor},
          {"low_freq_factor", kLow},
          {"high_freq_factor", kHigh},
          {"original_max_position_embeddings", static_cast<int64_t>(original)}};
}

Status ParseScaling(const std::string& prefix, JsonReader* in, Json* rope) {
  const auto key = [&prefix](const char* name) { return prefix + "rope." + name; };
  std::string type = "none";
  double factor = 1, linear = 1;
  in->Optional(key("scaling.type"), &type);
  in->Optional(key("scaling.factor"), &factor);
  if (in->Optional(key("scale_linear"), &linear) && type == "none" && linear != 1) {
    type = "linear";
    factor = linear;
  }
  int context = 0, original = 0;
  in->Optional(prefix + "context_length", &context);
  in->Optional(key("scaling.original_context_length"), &original);
  for (const char* name :
       {"scaling.attn_factor", "scaling.yarn_attn_factor", "scaling.yarn_ext_factor"}) {
    double one = 1;
    if (in->Optional(key(name), &one) && one != 1) in->Fail(key(name), "is not 1");
  }
  double fast = 32, slow = 1;
  in->Optional(key("scaling.yarn_beta_fast"), &fast);
  in->Optional(key("scaling.yarn_beta_slow"), &slow);
  if (type == "none") return OkStatus();
  if (type == "linear") {
    *rope = {{"rope_type", "linear"}, {"factor", factor}};
  } else if (type == "yarn") {
    *rope = {{"rope_type", "yarn"},
             {"factor", factor},
             {"beta_fast", fast},
             {"beta_slow", slow},
             {"original_max_position_embeddings", original > 0 ? original : context}};
  } else {
    in->Fail(key("scaling.type"), "is '" + type + "'; none, linear and yarn are known");
  }
  return OkStatus();
}

// The share of head_dim that gives exactly `rotated` coordinates.
double ShareOf(int rotated, int head_dim) {
  const double share = static_cast<double>(rotated) / head_dim;
  return static_cast<int>(share * head_dim) == rotated ? share : std::nextafter(share, 1.0);
}

}  // namespace

Result<Json> RopeOfDivisors(const std::vector<float>& divisors, double theta) {
  const size_t pairs = divisors.size();
  if (AllNear(divisors, 0, pairs, 1)) return Json();
  const auto tail = static_cast<size_t>(
      std::find_if(divisors.begin(), divisors.end(), [](float d) { return d > kNever; }) -
      divisors.begin());
  const bool never = std::all_of(divisors.begin() + static_cast<std::ptrdiff_t>(tail),
                                 divisors.end(), [](float d) { return d > kNever; });
  if (tail < pairs && never && AllNear(divisors, 0, tail, 1)) {
    const double share = ShareOf(static_cast<int>(tail), static_cast<int>(pairs));
    return Json{{"rope_type", "proportional"}, {"partial_rotary_factor", share}};
  }
  const double last = divisors.back();
  if (std::isfinite(last) && last > 0 && AllNear(divisors, 0, pairs, last)) {
    return Json{{"rope_type", "linear"}, {"factor", last}};
  }
  Json llama3 = LlamaThree(divisors, theta);
  if (!llama3.is_null()) return llama3;
  return InvalidArgument(std::string("the divisors in ") + kGgufRopeDivisors +
                         " are those of no scaling that is known here (llama3, linear, p-RoPE)");
}

Status WriteGgufRope(const GgufFile& file, const std::string& prefix, int head_dim, Json* config) {
  Status status;
  JsonReader in(file.values(), "", &status);
  double theta = 0, local = 0;
  if (in.Optional(prefix + "rope.freq_base", &theta)) (*config)["rope_theta"] = theta;
  if (in.Optional(prefix + "rope.freq_base_swa", &local)) (*config)["rope_local_base_freq"] = local;
  int rotated = head_dim;
  in.Optional(prefix + "rope.dimension_count", &rotated);
  if (rotated < 0 || rotated > head_dim || rotated % 2 != 0) {
    in.Fail(prefix + "rope.dimension_count", "must be even and at most the size of a head");
  } else if (rotated < head_dim) {
    (*config)["partial_rotary_factor"] = ShareOf(rotated, head_dim);
  }
  Json rope;
  GYRE_RETURN_IF_ERROR(ParseScaling(prefix, &in, &rope));
  bool finetuned = false;
  in.Optional(prefix + "rope.scaling.finetuned", &finetuned);
  in.NoOtherKeys(prefix + "rope.");
  if (file.HasList(prefix + "rope.dimension_sections")) {
    in.Fail(prefix + "rope.dimension_sections", "is not a key known here");
  }
  GYRE_RETURN_IF_ERROR(status);
  if (const TensorEntry* entry = file.tensors().Find(kGgufRopeDivisors); entry != nullptr) {
    if (entry->shape != std::vector<int64_t>{rotated / 2} || rotated == 0) {
      return InvalidArgument(std::string(kGgufRopeDivisors) + " must have one number a pair");
    }
    if (!rope.is_null()) {
      return InvalidArgument(prefix + "rope.scaling.type and " + kGgufRopeDivisors +
                             " are both there; one of them can be followed");
    }
    std::vector<float> divisors(static_cast<size_t>(rotated / 2));
    GYRE_RETURN_IF_ERROR(file.tensors().Read(*entry, 0, divisors));
    GYRE_ASSIGN_OR_RETURN(rope, RopeOfDivisors(divisors, theta > 0 ? theta : 10000));
  }
  if (!rope.is_null()) (*config)["rope_scaling"] = rope;
  return OkStatus();
}

}  // namespace gyre
