#pragma once

// The seam between the model and a device. A Backend owns memory and offers about twenty fused
// operations on it, forward and backward; the model owns their order and never looks at data in
// between. trainer/backend/reference is the specification in plain loops; every other backend is
// held against it by one conformance suite.
//
// Standard C++ only, so that a plug-in needs nothing else of ours. Calls are carried out in the
// order they are made, but not necessarily before they return; Read waits. Operations report
// nothing: an error of the device is kept, what follows it is undefined, and the next Read returns
// it. Shapes are row-major. In what follows N = rows * length tokens, C = hidden, H = heads, K =
// kv_heads, d = head_dim, I = intermediate, V = vocabulary. "assigns" and "adds to" are meant
// literally; whatever isn't named as written stays as it was. What is read and what is written
// never overlap. Sums that run over tokens are carried out in an order that depends on the shapes
// and the number of threads alone. One thread at a time uses a Backend.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gyre {

class Communicator;  // trainer/collective/communicator.h

/// What went wrong, as plain values.
struct [[nodiscard]] BackendError {
  enum class Kind { kNone, kOutOfMemory, kDevice, kPeer };  // kPeer: another rank is gone
  Kind kind = Kind::kNone;
  std::string message;  // for people

  bool ok() const { return kind == Kind::kNone; }
};

/// Where elements start in a backend's memory. Only the backend that made it may look inside.
template <typename Element>
struct Place {
  void* memory = nullptr;
  int64_t offset = 0;  // elements

  Place At(int64_t elements) const { return {memory, offset + elements}; }
  explicit operator bool() const { return memory != nullptr; }
};

struct Real {
};  // the backend's own real number: float, but double in the double-precision reference
using Reals = Place<Real>;
using Ints = Place<int32_t>;

/// What matrix products multiply. At Precision::kFloat32 that is Real itself; at kBf16 it is
/// bfloat16: weights, and whatever else a product takes, are rounded to it (to nearest, ties to
/// even) just before, products are summed in float32, and the places below that are Narrows keep
/// it, as may the gradient of `activated` within an Mlp. Everything else (norms, softmax,
/// activations, rotations, the residual stream, losses, gradients of weights, AdamW) is of Real.
struct Narrow {};
using Narrows = Place<Narrow>;

/// At kTf32 everything is float32, and products may round what they multiply to ten bits of
/// mantissa.
enum class Precision { kFloat32, kTf32, kBf16 };

/// The largest shapes that will be asked for, so that a backend can plan its private workspace.
struct WorkspaceShape {
  int64_t tokens = 0;  // N
  int length = 0;      // T
  int hidden = 0, intermediate = 0, vocab = 0;
  int heads = 0, kv_heads = 0, head_dim = 0;
};

/// Pairs pair .. pair + count - 1 turn the coordinates (a + i * stride, b + i * stride) of a head.
struct PairRun {
  int pair = 0, a = 0, b = 0, stride = 1, count = 0;
};

/// What one layer does to queries and keys at position t of their row: for each pair of the runs,
/// with c = cosine[t][pair] and s = sine[t][pair],  y[a] = x[a] c - x[b] s  and  y[b] = x[b] c +
/// x[a] s. Coordinates in no run pass through unchanged.
struct RotationTable {
  Reals cosine, sine;  // (T, pairs)
  int pairs = 0;
  std::vector<PairRun> runs;
};

/// Root mean square norm: y = g x / sqrt(mean(x^2) + epsilon), g = weight, or 1 + weight if
/// `one_plus`.
struct NormKind {
  double epsilon = 1e-6;
  bool one_plus = false;
};

/// x = scale * table[ids].
struct Embedding {
  int64_t tokens = 0;
  int hidden = 0;
  double scale = 1;
  Ints ids;     // (N), each in 0..V-1
  Reals table;  // (V, C)
  Reals x;      // (N, C)   forward assigns
};

struct Norm {
  int64_t tokens = 0;
  int hidden = 0;
  NormKind kind;
  Reals x, weight;    // (N, C), (C)
  Reals y;            // (N, C)   forward assigns
  Reals inverse_rms;  // (N)      forward assigns, backward reads
};

/// h = norm(x); qkv = h weight^T, of which q and k are normed per head if there is a q_norm, then
/// rotated.
struct NormQkv {
  int rows = 0, length = 0;
  int hidden = 0, heads = 0, kv_heads = 0, head_dim = 0;
  NormKind kind;
  Reals x, norm_weight;  // (N, C), (C)
  Reals weight;          // ((H + 2K) d, C): the rows of q, then k, then v
  Reals q_norm, k_norm;  // (d) each, or none; always the plain form of the norm
  const RotationTable* rotation = nullptr;
  Reals inverse_rms;     // (N)              forward assigns, backward reads
  Narrows qkv;           // (N, (H + 2K) d)  forward assigns
  Narrows raw_qk;        // (N, (H + K) d)   before their norm; only with q_norm. As inverse_rms
  Reals qk_inverse_rms;  // (N, H + K)       only with q_norm. As inverse_rms
};
struct NormQkvGradients {
  Narrows d_qkv;                  // (N, (H + 2K) d)  read, then destroyed
  Reals dx;                       // (N, C)           added to
  Reals d_norm_weight, d_weight;  // added to
  Reals d_q_norm, d_k_norm;       // added to; only with q_norm
};

/// Causal attention: o(i) = sum_j softmax_j(logit(i, j)) v(j), logit(i, j) = q(i) k(j) / sqrt(d) -
/// slope (i - j), over the keys j of the same row with j <= i, j > i - window, j >=
/// document_starts(i). Query head h reads key/value head floor(h / (H / K)). Never holds more than
/// a block of queries times their keys.
struct Attention {
  int rows = 0, length = 0;
  int heads = 0, kv_heads = 0, head_dim = 0;
  int window = 0;        // 0 = no limit
  Reals alibi_slopes;    // (H), or none
  Ints document_starts;  // (N), places in the row, never falling along it; or none
  Narrows qkv;           // (N, (H + 2K) d)
  Narrows output;        // (N, H d)   forward assigns, backward reads
  Reals log_sum_exp;     // (N, H)     forward assigns, backward reads: ln sum_j exp(logit)
};
struct AttentionGradients {
  Narrows d_output;  // (N, H d)          read
  Narrows d_qkv;     // (N, (H + 2K) d)   backward assigns
};

/// What the pairs of a layer's heads are used for, of the first lengths(row) tokens of each row;
/// the others are padding, and never read. Pair k is the coordinates (a, b) = pairs(k) of a head:
/// its norm is that of (x[a], x[b]), divided by amplitudes(k) in q and k, and c(i, j) = (q(i)[a]
/// k(j)[a] + q(i)[b] k(j)[b]) / sqrt(d) is what it supplies to logit(i, j). Of each row sums, over
/// tokens or over queries i and the keys j that they see, so that means over rows of any lengths
/// can be made of them.
struct AttentionStatistics {
  Attention attention;  // as forward had it, but for output, which is not needed. No documents
  Ints lengths;         // (rows), each in 0..T
  Ints pairs;           // (d/2, 2)
  Reals amplitudes;     // (d/2): by how much the layer's rotation lengthened the pair; not 0
  Reals norms;          // (rows, H + 2K, d/2)   assigned: of the tokens but the first
  Reals first_norms;    // (rows, H + 2K, d/2)   assigned: of the first token
  Reals contributions;  // (rows, H, d/2)        assigned: |c|, keys but the first
  Reals first_contributions;  // (rows, H, d/2)  assigned: |c|, the first key
  Reals scores;               // (rows, H, HeadScore::kCount)   assigned
};
/// Of alpha(i, j) = exp(logit(i, j) - log_sum_exp(i)), which is 0 where i does not see j.
struct HeadScore {
  enum Index {
    kDiagonal,  // alpha(i, i)
    kPrevious,  // alpha(i, i - 1), i >= 1
    kFirst,     // alpha(i, 0)
    kEntropy,   // sum_j -alpha ln alpha
    kDistance,  // sum_j alpha (i - j)
    kCount
  };
};

/// y = residual + x weight^T.
struct LinearResidual {
  int64_t tokens = 0;
  int inputs = 0, outputs = 0;
  Narrows x;               // (N, inputs)
  Reals weight, residual;  // (outputs, inputs), (N, outputs)
  Reals y;                 // (N, outputs)   forward assigns
};
struct LinearResidualGradients {
  Reals dy;        // (N, outputs)   read; it is also the residual's gradient
  Narrows dx;      // (N, inputs)    backward assigns
  Reals d_weight;  // added to
};

enum class Activation {
  kSilu,      // z / (1 + exp(-z))
  kGeluTanh,  // z (1 + tanh(sqrt(2/pi) (z + 0.044715 z^3))) / 2
};

/// y = x + activated down^T with h = norm(x), and, if `gated`, gate, up = h weight^T and activated
/// = activation(gate) * up; else up = h weight^T and activated = activation(up). Forward keeps gate
/// and up; what is activated is computed again backward.
struct Mlp {
  int64_t tokens = 0;
  int hidden = 0, intermediate = 0;
  NormKind kind;
  Activation activation = Activation::kSilu;
  bool gated = true;
  Reals x, norm_weight;  // (N, C), (C)
  Reals weight;          // (2I, C): the rows of gate, then up; (I, C) if not gated
  Reals down;            // (C, I)
  Reals inverse_rms;     // (N)      forward assigns, backward reads
  Narrows gate_up;       // (N, 2I), or (N, I)   forward assigns, backward reads
  Reals y;               // (N, C)   forward assigns
};
struct MlpGradients {
  Reals d_residual;  // (N, C): the gradient of y becomes that of x, which y contains
  Reals d_norm_weight, d_weight, d_down;  // added to
};

/// nll = ln sum_v exp(logit(v)) - logit(target), logits = x weight^T, in chunks of rows: all logits
/// are never held.
struct LinearCrossEntropy {
  int64_t tokens = 0;
  int hidden = 0, vocab = 0;
  Ints targets;     // (N), -1 = ignored: nll 0, no gradient
  Reals x, weight;  // (N, C), (V, C)
  Reals nll;        // (N)      assigned
};
struct LinearCrossEntropyGradients {  // of the sum of nll
  Reals dx;                           // (N, C)   assigned
  Reals d_weight;                     // added to
};

/// With g = gradient * gradient_scale, G = norm of all gradients times gradient_scale, and g *=
/// min(1, clip_norm / G):
///   m = beta1 m + (1 - beta1) g            v = beta2 v + (1 - beta2) g^2
///   w = w - lr ((m / (1 - beta1^step)) / (sqrt(v / (1 - beta2^step)) + epsilon) + weight_decay w)
/// A norm that is not finite makes every weight NaN: nothing hides a broken step.
struct AdamW {
  int64_t count = 0;
  int64_t step = 1;  // counts from 1
  double lr = 0, beta1 = 0, beta2 = 0, epsilon = 0, weight_decay = 0;
  double clip_norm = 0;  // 0 = no clipping
  double gradient_scale = 1;
  Reals gradient, gradient_norm;  // (count), (1): 2-norm of all gradients before scaling
  Reals weight, first_moment, second_moment;  // (count)   updated
};

class Backend {
 public:
  virtual ~Backend() = default;

  /// Zeros. A place stays valid until it is freed or the backend ends.
  virtual BackendError Allocate(int64_t count, Reals* place) = 0;
  virtual BackendError Allocate(int64_t count, Narrows* place) = 0;
  virtual BackendError Allocate(int64_t count, Ints* place) = 0;
  /// Of a place as Allocate gave it.
  virtual void Free(Reals place) = 0;
  virtual void Free(Narrows place) = 0;
  virtual void Free(Ints place) = 0;
  /// Grows the private workspace to these shapes, so that what does not fit fails here and not in
  /// the middle of a step. Afterwards no operation allocates, but the first one with a weight
  /// matrix: it may keep that in another form too (rounded, packed), which is made anew when its
  /// memory has been written to by Write, Zero, AllReduce or AdamWStep.
  virtual BackendError Reserve(const WorkspaceShape& shape) = 0;

  /// Values cross as doubles, so that none lose precision, whatever Real is.
  virtual void Write(Reals to, std::span<const double> values) = 0;
  virtual void Write(Narrows to, std::span<const double> values) = 0;
  virtual void Write(Ints to, std::span<const int32_t> values) = 0;
  virtual BackendError Read(Reals from, std::span<double> values) = 0;
  virtual BackendError Read(Narrows from, std::span<double> values) = 0;
  virtual void Zero(Reals place, int64_t count) = 0;

  virtual void EmbeddingForward(const Embedding& op) = 0;
  /// d_table (V, C) is added to.
  virtual void EmbeddingBackward(const Embedding& op, Reals dx, Reals d_table) = 0;
  virtual void NormForward(const Norm& op) = 0;
  /// Assigns dx (N, C), adds to d_weight (C).
  virtual void NormBackward(const Norm& op, Reals dy, Reals dx, Reals d_weight) = 0;
  virtual void NormQkvForward(const NormQkv& op) = 0;
  virtual void NormQkvBackward(const NormQkv& op, const NormQkvGradients& gradients) = 0;
  virtual void AttentionForward(const Attention& op) = 0;
  virtual void AttentionBackward(const Attention& op, const AttentionGradients& gradients) = 0;
  virtual void CollectAttentionStatistics(const AttentionStatistics& op) = 0;
  virtual void LinearResidualForward(const LinearResidual& op) = 0;
  virtual void LinearResidualBackward(const LinearResidual& op,
                                      const LinearResidualGradients& gradients) = 0;
  virtual void MlpForward(const Mlp& op) = 0;
  virtual void MlpBackward(const Mlp& op, const MlpGradients& gradients) = 0;
  virtual void LinearCrossEntropyForward(const LinearCrossEntropy& op) = 0;
  virtual void LinearCrossEntropyForwardBackward(const LinearCrossEntropy& op,
                                                 const LinearCrossEntropyGradients& gradients) = 0;
  /// Assigns y (tokens, outputs) = x (tokens, inputs) weight^T.
  virtual void Linear(int64_t tokens, int inputs, int outputs, Reals x, Reals weight, Reals y) = 0;
  /// Assigns norm (1): the 2-norm of `count` numbers.
  virtual void Norm2(Reals x, int64_t count, Reals norm) = 0;
  virtual void AdamWStep(const AdamW& op) = 0;
  /// Each rank's `count` numbers become their sum over all ranks, the same bits on each.
  virtual void AllReduce(Reals place, int64_t count, Communicator& ranks) = 0;
};

}  // namespace gyre
