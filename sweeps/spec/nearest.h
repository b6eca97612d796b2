#pragma once

// "Did you mean": the known word that a person most likely had in mind.

#include <string>
#include <string_view>
#include <vector>

namespace gyre {

/// The nearest of `known` to `word`, or empty if none is near: few slips of the fingers
/// (Damerau-Levenshtein), all parts of the word in the same order (num_layers: num_hidden_layers),
/// or the name that other programs have for it.
std::string Nearest(std::string_view word, const std::vector<std::string>& known);

/// "did you mean 'x'?", or empty.
std::string DidYouMean(std::string_view word, const std::vector<std::string>& known);

/// "a, b, c and 4 more".
std::string List(const std::vector<std::string>& words, size_t most = 12);

}  // namespace gyre
