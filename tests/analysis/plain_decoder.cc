#include "tests/analysis/plain_decoder.h"

#include <cmath>

namespace gyre {
namespace {

using Row = std::vector<double>;
using Rows = std::vector<Row>;

Row Product(const Row& matrix, const Row& x) {
  Row y(matrix.size() / x.size());
  for (size_t o = 0; o < y.size(); ++o) {
    for (size_t i = 0; i < x.size(); ++i) y[o] += matrix[o * x.size() + i] * x[i];
  }
  return y;
}

Row Normed(const Row& x, const Row& weight, bool adds_one, double epsilon) {
  double squares = 0;
  for (const double value : x) squares += value * value;
  Row y(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    y[i] = (weight[i] + (adds_one ? 1 : 0)) * x[i] /
           std::sqrt(squares / static_cast<double>(x.size()) + epsilon);
  }
  return y;
}

void AddTo(Row* x, const Row& y) {
  for (size_t i = 0; i < y.size(); ++i) (*x)[i] += y[i];
}

double Capped(double x, double cap) { return cap > 0 ? cap * std::tanh(x / cap) : x; }

class Decoder {
 public:
  Decoder(const HuggingFaceConfig& config, const PlainWeights& weights)
      : model_(config.model),
        extras_(config.extras),
        weights_(weights),
        gemma_(config.model.model_type == "gemma") {}

  Row Norm(const Row& x, const std::string& name) const {
    return Normed(x, weights_.at(name + ".weight"), gemma_, model_.rms_norm_eps);
  }

  // Heads of q, k or v, before they are turned.
  Rows Heads(const Row& h, const std::string& prefix, const std::string& tensor) const {
    Row all = Product(weights_.at(prefix + tensor + "_proj.weight"), h);
    if (extras_.qkv_bias) AddTo(&all, weights_.at(prefix + tensor + "_proj.bias"));
    Rows heads;
    for (auto at = all.begin(); at != all.end(); at += model_.head_dim) {
      heads.emplace_back(at, at + model_.head_dim);
      if (!model_.qk_norm || tensor == "v") continue;
      heads.back() = Normed(heads.back(), weights_.at(prefix + tensor + "_norm.weight"),
                            extras_.qk_norm_adds_one, model_.rms_norm_eps);
    }
    return heads;
  }

  static void Turn(const Rotation& rotation, size_t place, Rows* heads) {
    for (Row& x : *heads) {
      for (size_t k = 0; k < rotation.pairs.size(); ++k) {
        const auto a = static_cast<size_t>(rotation.pairs[k].first);
        const auto b = static_cast<size_t>(rotation.pairs[k].second);
        const double angle = static_cast<double>(place) * rotation.frequencies[k];
        const double factor = rotation.scaled[k] ? rotation.attention_factor : 1;
        const double xa = x[a], xb = x[b];
        x[a] = factor * (xa * std::cos(angle) - xb * std::sin(angle));
        x[b] = factor * (xb * std::cos(angle) + xa * std::sin(angle));
      }
    }
  }

  // What attention gives each token, as o_proj takes it.
  Rows Attend(const Rows& x, const std::string& prefix, const LayerPosition& position,
              PlainLayer* found) const {
    std::vector<Rows> q, k, v;
    const auto heads = static_cast<size_t>(model_.num_attention_heads);
    const size_t pairs = position.rotation.pairs.size();
    found->query_norms.assign(heads, Row(pairs));
    for (const Row& token : x) {
      const Row h = Norm(token, prefix + "input_layernorm");
      q.push_back(Heads(h, prefix + "self_attn.", "q"));
      k.push_back(Heads(h, prefix + "self_attn.", "k"));
      v.push_back(Heads(h, prefix + "self_attn.", "v"));
      for (size_t head = 0; head < heads; ++head) {
        for (size_t p = 0; p < pairs; ++p) {
          const auto [a, b] = position.rotation.pairs[p];
          found->query_norms[head][p] += std::hypot(q.back()[head][static_cast<size_t>(a)],
                                                    q.back()[head][static_cast<size_t>(b)]) /
                                         static_cast<double>(x.size());
        }
      }
      Turn(position.rotation, q.size() - 1, &q.back());
      Turn(position.rotation, k.size() - 1, &k.back());
    }
    Rows out(x.size());
    for (size_t head = 0; head < heads; ++head) {
      LookAtHead(q, k, v, head, position, found, &out);
    }
    return out;
  }

  Row Mlp(const Row& x, const std::string& prefix) const {
    const Row gate = Product(weights_.at(prefix + "mlp.gate_proj.weight"), x);
    Row up = Product(weights_.at(prefix + "mlp.up_proj.weight"), x);
    for (size_t i = 0; i < up.size(); ++i) {
      const double z = gate[i];
      const double gelu =
          0.5 * z * (1 + std::tanh(std::sqrt(2 / M_PI) * (z + 0.044715 * z * z * z)));
      up[i] *= gemma_ ? gelu : z / (1 + std::exp(-z));
    }
    return Product(weights_.at(prefix + "mlp.down_proj.weight"), up);
  }

  void RunLayer(const std::string& prefix, const LayerPosition& position, Rows* x,
                PlainLayer* found) const {
    const Rows attended = Attend(*x, prefix, position, found);
    for (size_t t = 0; t < x->size(); ++t) {
      Row add = Product(weights_.at(prefix + "self_attn.o_proj.weight"), attended[t]);
      if (extras_.post_norms) add = Norm(add, prefix + "post_attention_layernorm");
      AddTo(&(*x)[t], add);
      Row fed = Mlp(Norm((*x)[t], prefix + (extras_.post_norms ? "pre_feedforward_layernorm"
                                                               : "post_attention_layernorm")),
                    prefix);
      if (extras_.post_norms) fed = Norm(fed, prefix + "post_feedforward_layernorm");
      AddTo(&(*x)[t], fed);
    }
  }

  double Loss(const Row& x, int32_t target) const {
    Row logits = Product(
        weights_.at(model_.tie_word_embeddings ? "model.embed_tokens.weight" : "lm_head.weight"),
        Norm(x, "model.norm"));
    double sum = 0;
    for (double& logit : logits) sum += std::exp(logit = Capped(logit, extras_.logit_softcap));
    return std::log(sum) - logits[static_cast<size_t>(target)];
  }

  Row Embedding(int32_t token) const {
    const Row& table = weights_.at("model.embed_tokens.weight");
    const auto begin = table.begin() + int64_t{token} * model_.hidden_size;
    Row x(begin, begin + model_.hidden_size);
    for (double& value : x) value *= gemma_ ? std::sqrt(model_.hidden_size) : 1;
    return x;
  }

 private:
  void LookAtHead(const std::vector<Rows>& q, const std::vector<Rows>& k,
                  const std::vector<Rows>& v, size_t head, const LayerPosition& position,
                  PlainLayer* found, Rows* out) const {
    const size_t tokens = q.size(), pairs = position.rotation.pairs.size();
    const size_t key_head =
        head / static_cast<size_t>(model_.num_attention_heads / model_.num_key_value_heads);
    const double scale =
        extras_.query_scale > 0 ? extras_.query_scale : 1 / std::sqrt(model_.head_dim);
    double diagonal = 0, previous = 0, first = 0, entropy = 0, distance = 0, seen = 0;
    Row contributions(pairs);
    for (size_t i = 0; i < tokens; ++i) {
      const size_t begin = position.window > 0 && i + 1 > static_cast<size_t>(position.window)
                               ? i + 1 - static_cast<size_t>(position.window)
                               : 0;
      Row alpha(tokens);
      double sum = 0;
      for (size_t j = begin; j <= i; ++j) {
        double logit = 0;
        for (size_t p = 0; p < pairs; ++p) {
          const auto a = static_cast<size_t>(position.rotation.pairs[p].first);
          const auto b = static_cast<size_t>(position.rotation.pairs[p].second);
          const double part =
              scale * (q[i][head][a] * k[j][key_head][a] + q[i][head][b] * k[j][key_head][b]);
          contributions[p] += std::abs(part);
          logit += part;
        }
        ++seen;
        logit = Capped(logit, extras_.attention_softcap);
        sum += alpha[j] = std::exp(logit);
      }
      Row mixed(static_cast<size_t>(model_.head_dim));
      for (size_t j = begin; j <= i; ++j) {
        alpha[j] /= sum;
        entropy -= alpha[j] * std::log(alpha[j]);
        distance += alpha[j] * static_cast<double>(i - j);
        for (size_t c = 0; c < mixed.size(); ++c) mixed[c] += alpha[j] * v[j][key_head][c];
      }
      diagonal += alpha[i];
      previous += i > 0 ? alpha[i - 1] : 0;
      first += alpha[0];
      (*out)[i].insert((*out)[i].end(), mixed.begin(), mixed.end());
    }
    const auto count = static_cast<double>(tokens);
    for (double& part : contributions) part /= seen;
    found->contributions.push_back(contributions);
    found->diagonal.push_back(diagonal / count);
    found->previous.push_back(previous / (count - 1));
    found->first.push_back(first / count);
    found->entropy.push_back(entropy / count);
    found->distance.push_back(distance / count);
  }

  const ModelConfig& model_;
  const ModelExtras& extras_;
  const PlainWeights& weights_;
  const bool gemma_;
};

}  // namespace

PlainPass RunPlainly(const HuggingFaceConfig& config, const std::vector<LayerPosition>& positions,
                     const PlainWeights& weights, const std::vector<int32_t>& tokens) {
  const Decoder decoder(config, weights);
  PlainPass pass;
  Rows x;
  for (const int32_t token : tokens) x.push_back(decoder.Embedding(token));
  for (size_t l = 0; l < positions.size(); ++l) {
    decoder.RunLayer("model.layers." + std::to_string(l) + ".", positions[l], &x,
                     &pass.layers.emplace_back());
  }
  for (size_t t = 0; t + 1 < tokens.size(); ++t) {
    pass.nll.push_back(decoder.Loss(x[t], tokens[t + 1]));
  }
  return pass;
}

}  // namespace gyre
