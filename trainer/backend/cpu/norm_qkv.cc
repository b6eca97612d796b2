#include "trainer/backend/cpu/norm_linear.h"
#include "trainer/backend/cpu/operations.h"

namespace gyre::cpu {
namespace {

NormLinear LinearPart(const NormQkv& op) {
  return {.tokens = int64_t{op.rows} * op.length,
          .hidden = op.hidden,
          .outputs = (op.heads + 2 * op.kv_heads) * op.head_dim,
          .kind = op.kind,
          .x = Data(op.x),
          .norm_weight = Data(op.norm_weight),
          .weight = Data(op.weight),
          .inverse_rms = Data(op.inverse_rms),
          .y = Data(op.qkv)};
}

RotatedRows Rotated(const NormQkv& op, Range rows, float* qkv) {
  const RotationTable& table = *op.rotation;
  const int64_t stride = int64_t{op.heads + 2 * op.kv_heads} * op.head_dim;
  return {.x = qkv + rows.begin * stride,
          .stride = stride,
          .heads = op.heads + op.kv_heads,
          .head_dim = op.head_dim,
          .first = rows.begin,
          .count = rows.size(),
          .length = op.length,
          .runs = table.runs.data(),
          .run_count = static_cast<int>(table.runs.size()),
          .pairs = table.pairs,
          .cosine = Data(table.cosine),
          .sine = Data(table.sine)};
}

// The queries or the keys of one token, before their norm.
struct RawHeads {
  RawHeads(const NormQkv& op, int64_t token, bool keys) {
    const int turned = op.heads + op.kv_heads, first = keys ? op.heads : 0;
    offset = first * op.head_dim;
    inverse_rms = Data(op.qk_inverse_rms) + token * turned + first;
    raw = Data(op.raw_qk) + (token * turned + first) * op.head_dim;
    norm = {raw, Data(keys ? op.k_norm : op.q_norm), keys ? op.kv_heads : op.heads, op.head_dim,
            NormKind{op.kind.epsilon, false}};
  }
  int offset;  // in the token's qkv
  float* raw;
  float* inverse_rms;
  NormRows norm;
};

void NormHeads(Device& device, const NormQkv& op, Range rows) {
  const int64_t width = int64_t{op.heads + 2 * op.kv_heads} * op.head_dim;
  for (int64_t n = rows.begin; n < rows.end; ++n) {
    for (const bool keys : {false, true}) {
      const RawHeads heads(op, n, keys);
      float* x = Data(op.qkv) + n * width + heads.offset;
      std::copy_n(x, heads.norm.rows * op.head_dim, heads.raw);
      device.kernels.normalize(heads.norm, x, heads.inverse_rms);
    }
  }
}

// d_sums (2 head_dim): of the q_norm, then of the k_norm.
void NormHeadsBackward(Device& device, const NormQkv& op, Range rows, float* d_qkv, float* d_sums) {
  const int64_t width = int64_t{op.heads + 2 * op.kv_heads} * op.head_dim;
  for (int64_t n = rows.begin; n < rows.end; ++n) {
    for (const bool keys : {false, true}) {
      const RawHeads heads(op, n, keys);
      float* dx = d_qkv + n * width + heads.offset;
      device.kernels.normalize_backward_assign(heads.norm, heads.inverse_rms, dx, dx,
                                               d_sums + (keys ? op.head_dim : 0));
    }
  }
}

}  // namespace

void NormQkvForward(Device& device, const NormQkv& op) {
  NormLinearForward(device, LinearPart(op), [&](Range rows) {
    if (op.q_norm) NormHeads(device, op, rows);
    device.kernels.rotate(Rotated(op, rows, Data(op.qkv)));
  });
}

void NormQkvBackward(Device& device, const NormQkv& op, const NormQkvGradients& g) {
  float* d_qkv = Data(g.d_qkv);
  const ThreadSums q_sums(device, op.hidden, op.head_dim);
  const ThreadSums k_sums(device, op.hidden + op.head_dim, op.head_dim);
  NormLinearBackward(device, LinearPart(op), d_qkv, Data(g.dx), Data(g.d_norm_weight),
                     Data(g.d_weight), [&](Range rows, int thread) {
                       device.kernels.rotate_back(Rotated(op, rows, d_qkv));
                       if (op.q_norm) {
                         NormHeadsBackward(device, op, rows, d_qkv, q_sums.Of(thread));
                       }
                     });
  if (!op.q_norm) return;
  q_sums.AddTo(Data(g.d_q_norm));
  k_sums.AddTo(Data(g.d_k_norm));
}

}  // namespace gyre::cpu
