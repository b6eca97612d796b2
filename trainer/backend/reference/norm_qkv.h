#pragma once

#include <vector>

#include "trainer/backend/reference/linear.h"
#include "trainer/backend/reference/norm.h"

namespace gyre::reference {

/// Turns one head (d) at position t, or turns it back: the transpose, which is what gradients pass
/// through.
template <typename T, typename X>
void RotateHead(const RotationTable& table, int t, bool back, X* head) {
  for (const PairRun& run : table.runs) {
    for (int i = 0; i < run.count; ++i) {
      const int64_t at = static_cast<int64_t>(t) * table.pairs + run.pair + i;
      const double c = Data<T>(table.cosine)[at];
      const double s = back ? -Data<T>(table.sine)[at] : Data<T>(table.sine)[at];
      X& a = head[run.a + i * run.stride];
      X& b = head[run.b + i * run.stride];
      const double xa = a, xb = b;
      a = static_cast<X>(xa * c - xb * s);
      b = static_cast<X>(xb * c + xa * s);
    }
  }
}

template <typename T>
void NormQkvForward(const NormQkv& op) {
  const int d = op.head_dim, turned = op.heads + op.kv_heads;
  const int outputs = (op.heads + 2 * op.kv_heads) * d;
  std::vector<double> h(op.hidden);
  for (int64_t n = 0; n < static_cast<int64_t>(op.rows) * op.length; ++n) {
    Data<T>(op.inverse_rms)[n] = static_cast<T>(NormRowForward(
        Data<T>(op.x) + n * op.hidden, Data<T>(op.norm_weight), op.hidden, op.kind, h.data()));
    T* qkv = Data<T>(op.qkv) + n * outputs;
    MultiplyRow(Data<T>(op.weight), h.data(), op.hidden, outputs, qkv);
    for (int head = 0; head < turned; ++head) {
      T* x = qkv + head * d;
      if (op.q_norm) {
        T* raw = Data<T>(op.raw_qk) + (n * turned + head) * d;
        for (int c = 0; c < d; ++c) raw[c] = x[c];
        const Reals weight = head < op.heads ? op.q_norm : op.k_norm;
        Data<T>(op.qk_inverse_rms)[n * turned + head] = static_cast<T>(
            NormRowForward(raw, Data<T>(weight), d, NormKind{op.kind.epsilon, false}, x));
      }
      RotateHead<T>(*op.rotation, static_cast<int>(n % op.length), /*back=*/false, x);
    }
  }
}

template <typename T>
void NormQkvBackward(const NormQkv& op, const NormQkvGradients& g) {
  const int d = op.head_dim, turned = op.heads + op.kv_heads;
  const int outputs = (op.heads + 2 * op.kv_heads) * d;
  std::vector<double> h(op.hidden), dh(op.hidden), d_raw(d);
  for (int64_t n = 0; n < static_cast<int64_t>(op.rows) * op.length; ++n) {
    T* d_qkv = Data<T>(g.d_qkv) + n * outputs;
    for (int head = 0; head < turned; ++head) {
      T* dx = d_qkv + head * d;
      RotateHead<T>(*op.rotation, static_cast<int>(n % op.length), /*back=*/true, dx);
      if (!op.q_norm) continue;
      const bool query = head < op.heads;
      d_raw.assign(d, 0);
      NormRowBackward(Data<T>(op.raw_qk) + (n * turned + head) * d,
                      Data<T>(query ? op.q_norm : op.k_norm), d, NormKind{op.kind.epsilon, false},
                      Data<T>(op.qk_inverse_rms)[n * turned + head], dx, d_raw.data(),
                      Data<T>(query ? g.d_q_norm : g.d_k_norm));
      for (int c = 0; c < d; ++c) dx[c] = static_cast<T>(d_raw[c]);
    }
    const T* x = Data<T>(op.x) + n * op.hidden;
    NormRowForward(x, Data<T>(op.norm_weight), op.hidden, op.kind, h.data());
    MultiplyRowBackward(Data<T>(op.weight), h.data(), op.hidden, outputs, d_qkv, dh.data(),
                        Data<T>(g.d_weight));
    NormRowBackward(x, Data<T>(op.norm_weight), op.hidden, op.kind, Data<T>(op.inverse_rms)[n],
                    dh.data(), Data<T>(g.dx) + n * op.hidden, Data<T>(g.d_norm_weight));
  }
}

}  // namespace gyre::reference
