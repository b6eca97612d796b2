#pragma once

// Theorem 5.3 of Barbero et al. (arXiv 2410.06205): RoPE can attend to the token itself, or to the
// one before, as sharply as one likes. The theorem lets the norm grow without limit; here is how
// much of it is needed, by frequency, length and sharpness. Pure; any thread.
//
// Queries and keys of all tokens are psi (for the previous token, keys are psi turned by one token:
// rotating the key is the consistent sign, the paper's Figure 1 has the other). With S = |psi|^2,
// of which pair k holds the share w_k, a key at distance m is below the sharpest one by
//   S gap(m) / sqrt(d),  gap(m) = sum_k w_k (1 - cos(m f_k))        (previous: gap(m - 1))
// and attention to the sharpest is at least 1 - eps for all of the first N tokens if and only if
//   sum over the other keys of exp(-S gap / sqrt(d)) <= eps / (1 - eps)
// at the last of them, whose other keys are at distances 1..N-1 (previous: 0 and 2..N-1).

#include <vector>

namespace gyre {

enum class SharpPattern { kDiagonal, kPrevious };

struct SharpHead {
  std::vector<double> frequencies;  // of the pairs that hold psi
  std::vector<double> shares;       // as many; of |psi|^2, their sum is 1 (times A^2 with YaRN)
  int head_dim = 0;                 // d of sqrt(d)
  int length = 0;                   // N, at least 1
  double eps = 0.01;                // within (0, 1)
};

/// `frequencies`, each with the same share.
SharpHead EvenlyShared(std::vector<double> frequencies, int head_dim, int length, double eps);

/// The smallest |psi|^2 that is enough. Infinity where none is: a pair that does not rotate cannot
/// tell distances apart (Proposition 5.2).
double NormBudget(const SharpHead& head, SharpPattern pattern);

/// sqrt(d) ln((N-1)(1-eps)/eps) / min gap: enough for the diagonal, never less than NormBudget().
double SufficientBudget(const SharpHead& head);

/// Attention to the sharpest key at the last of the N tokens, with |psi|^2 = `norm`.
double SharpAttention(const SharpHead& head, SharpPattern pattern, double norm);

}  // namespace gyre
