#include <cstring>

#include "trainer/backend/cpu/device.h"

namespace gyre::cpu {
namespace {

int Width(const NormQkv& op) { return (op.heads + 2 * op.kv_heads) * op.head_dim; }

NormRows HiddenRows(const NormQkv& op, Range rows) {
  return {rows.size(), op.hidden, static_cast<float>(op.kind.epsilon), op.kind.one_plus,
          Data(op.x) + rows.begin * op.hidden, Data(op.norm_weight)};
}

// The query heads of one token, or its key heads, as rows of their norm: always of the plain form.
NormRows Heads(const NormQkv& op, bool query, int64_t token) {
  const int64_t first = token * (op.heads + op.kv_heads) + (query ? 0 : op.heads);
  return {query ? op.heads : op.kv_heads, op.head_dim, static_cast<float>(op.kind.epsilon), false,
          Data(op.raw_qk) + first * op.head_dim, Data(query ? op.q_norm : op.k_norm)};
}

float* HeadRms(const NormQkv& op, bool query, int64_t token) {
  return Data(op.qk_inverse_rms) + token * (op.heads + op.kv_heads) + (query ? 0 : op.heads);
}

void RotateToken(const Kernels& kernels, const NormQkv& op, int64_t token, float direction,
                 float* qk) {
  const RotationTable& table = *op.rotation;
  const int64_t at = token % op.length * table.pairs;
  kernels.rotate(op.heads + op.kv_heads, op.head_dim, table.runs.data(),
                 static_cast<int>(table.runs.size()), Data(table.cosine) + at,
                 Data(table.sine) + at, direction, qk);
}

}  // namespace

// Norms and turns the queries and keys of these rows.
void Device::FinishQk(const NormQkv& op, Range rows) const {
  if (op.rotation->runs.empty() && !op.q_norm) return;
  const int turned = (op.heads + op.kv_heads) * op.head_dim;
  Split(rows.size(), [&](int, Range part) {
    for (int64_t n = rows.begin + part.begin; n < rows.begin + part.end; ++n) {
      float* qk = Data(op.qkv) + n * Width(op);
      if (op.q_norm) {
        std::memcpy(Data(op.raw_qk) + n * turned, qk, sizeof(float) * static_cast<size_t>(turned));
        kernels_.norm_forward(Heads(op, true, n), qk, HeadRms(op, true, n));
        kernels_.norm_forward(Heads(op, false, n), qk + op.heads * op.head_dim,
                              HeadRms(op, false, n));
      }
      RotateToken(kernels_, op, n, 1, qk);
    }
  });
}

// Takes d_qkv of these rows back to the gradient of the product.
void Device::UndoQk(const NormQkv& op, const NormQkvGradients& g, Range rows) {
  if (op.rotation->runs.empty() && !op.q_norm) return;
  const int d = op.head_dim;
  std::memset(partials_, 0, sizeof(float) * static_cast<size_t>(threads_) * 2 * d);
  Split(rows.size(), [&](int thread, Range part) {
    float* d_q_norm = partials_ + int64_t{thread} * 2 * d;
    for (int64_t n = rows.begin + part.begin; n < rows.begin + part.end; ++n) {
      float* d_qk = Data(g.d_qkv) + n * Width(op);
      RotateToken(kernels_, op, n, -1, d_qk);
      if (!op.q_norm) continue;
      float* d_k = d_qk + op.heads * d;
      kernels_.norm_backward(Heads(op, true, n), HeadRms(op, true, n), d_qk, /*add=*/false, d_qk,
                             d_q_norm);
      kernels_.norm_backward(Heads(op, false, n), HeadRms(op, false, n), d_k, /*add=*/false, d_k,
                             d_q_norm + d);
    }
  });
  if (!op.q_norm) return;
  AddPartials(d, 2 * d, partials_, Data(g.d_q_norm));
  AddPartials(d, 2 * d, partials_ + d, Data(g.d_k_norm));
}

void Device::NormQkvForward(const NormQkv& op) {
  Blocks(int64_t{op.rows} * op.length, RowBlock(), [&](Range rows) {
    NormRowsForward(HiddenRows(op, rows), normed_, Data(op.inverse_rms) + rows.begin);
    Forward(rows.size(), op.hidden, Width(op), normed_, Data(op.weight), 0,
            Data(op.qkv) + rows.begin * Width(op));
    FinishQk(op, rows);
  });
}

void Device::NormQkvBackward(const NormQkv& op, const NormQkvGradients& g) {
  Blocks(int64_t{op.rows} * op.length, RowBlock(), [&](Range rows) {
    UndoQk(op, g, rows);
    const NormRows hidden = HiddenRows(op, rows);
    float* inverse_rms = Data(op.inverse_rms) + rows.begin;
    NormRowsForward(hidden, normed_, inverse_rms);  // the same values again
    const float* d_qkv = Data(g.d_qkv) + rows.begin * Width(op);
    BackwardWeight(rows.size(), op.hidden, Width(op), d_qkv, normed_, Data(g.d_weight));
    BackwardInput(rows.size(), op.hidden, Width(op), d_qkv, Data(op.weight), d_normed_);
    NormRowsBackward(hidden, inverse_rms, d_normed_, /*add=*/true,
                     Data(g.dx) + rows.begin * op.hidden, Data(g.d_norm_weight));
  });
}

}  // namespace gyre::cpu
