#include "sweeps/spec/nearest.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace gyre {
namespace {

constexpr size_t kLongestCompared = 64;
constexpr size_t kMostCompared = 2000;

// What other programs call it.
constexpr std::pair<std::string_view, std::string_view> kElsewhere[] = {
    {"learning_rate", "lr"},
    {"n_layer", "num_hidden_layers"},
    {"n_layers", "num_hidden_layers"},
    {"depth", "num_hidden_layers"},
    {"n_head", "num_attention_heads"},
    {"n_heads", "num_attention_heads"},
    {"heads", "num_attention_heads"},
    {"d_model", "hidden_size"},
    {"n_embd", "hidden_size"},
    {"dim", "hidden_size"},
    {"d_ff", "intermediate_size"},
    {"batch_size", "batch_tokens"},
    {"max_steps", "tokens"},
    {"steps", "tokens"},
    {"epochs", "tokens"},
    {"seq_len", "context"},
    {"context_length", "context"},
    {"block_size", "context"},
    {"base", "theta"},
    {"rotary_pct", "p"},
    {"encoding", "type"},
    {"dataset", "train"},
    {"eval", "evaluate"},
    {"name", "sweep"},
    {"dtype", "precision"},
    {"grad_clip", "clip_norm"},
    {"kv_heads", "num_key_value_heads"},
    {"n_kv_heads", "num_key_value_heads"},
};

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    c = c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

// Insertions, deletions, substitutions and swaps of neighbours from one to the other.
int Slips(std::string_view a, std::string_view b) {
  std::vector<int> before(b.size() + 1), row(b.size() + 1), next(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    next[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      next[j] = std::min({row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] != b[j - 1])});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) next[j] = std::min(next[j], before[j - 2] + 1);
    }
    before = std::exchange(row, next);
  }
  return row[b.size()];
}

// Whether every part of `word` is a part of `known`, in order: num_layers of num_hidden_layers.
bool HasAllParts(std::string_view word, std::string_view known) {
  const auto next_part = [](std::string_view& rest) {
    const std::string_view part = rest.substr(0, rest.find('_'));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    return part;
  };
  while (!word.empty()) {
    const std::string_view wanted = next_part(word);
    bool found = false;
    while (!found && !known.empty()) found = next_part(known) == wanted;
    if (!found) return false;
  }
  return true;
}

}  // namespace

std::string Nearest(std::string_view word, const std::vector<std::string>& known) {
  if (word.empty() || word.size() > kLongestCompared) return "";
  const std::string lower = Lower(word);
  std::string best;
  int best_slips = static_cast<int>(std::max<size_t>(word.size() / 3, 1)) + 1;
  for (size_t i = 0; i < std::min(known.size(), kMostCompared); ++i) {
    if (known[i].size() > kLongestCompared) continue;
    const std::string candidate = Lower(known[i]);
    const int slips = Slips(lower, candidate);
    // A word of one or two letters is near to everything; then only the case may differ.
    if (slips < best_slips && (slips == 0 || std::min(lower.size(), candidate.size()) > 2)) {
      best = known[i];
      best_slips = slips;
    }
  }
  if (!best.empty()) return best;
  for (const auto& [theirs, ours] : kElsewhere) {
    if (lower == theirs && std::find(known.begin(), known.end(), ours) != known.end())
      return std::string(ours);
  }
  for (const std::string& candidate : known) {
    if (candidate.size() > kLongestCompared) continue;
    if (HasAllParts(lower, Lower(candidate)) || HasAllParts(Lower(candidate), lower))
      return candidate;
  }
  return "";
}

std::string DidYouMean(std::string_view word, const std::vector<std::string>& known) {
  const std::string nearest = Nearest(word, known);
  return nearest.empty() ? "" : "did you mean '" + nearest + "'?";
}

std::string List(const std::vector<std::string>& words, size_t most) {
  std::string list;
  const size_t shown = words.size() > most ? most - 1 : words.size();
  for (size_t i = 0; i < shown; ++i) list += (i == 0 ? "" : ", ") + words[i];
  if (shown < words.size()) list += " and " + std::to_string(words.size() - shown) + " more";
  return list;
}

}  // namespace gyre
