#include "trainer/backend/cpu/linear.h"
#include "trainer/backend/cpu/operations.h"
#include "trainer/backend/cpu/scratch.h"

namespace gyre::cpu {
namespace {

int64_t Width(const NormQkv& op) { return int64_t{op.heads + 2 * op.kv_heads} * op.head_dim; }

NormRows Normed(const NormQkv& op, Range rows) {
  return {Data(op.x) + rows.begin * op.hidden, Data(op.norm_weight), rows.size(), op.hidden,
          op.kind};
}

RotatedRows Rotated(const NormQkv& op, Range rows) {
  const RotationTable& table = *op.rotation;
  return {.heads = op.heads + op.kv_heads,
          .head_dim = op.head_dim,
          .width = static_cast<int>(Width(op)),
          .first = rows.begin,
          .count = rows.size(),
          .length = op.length,
          .runs = table.runs.data(),
          .run_count = static_cast<int>(table.runs.size()),
          .pairs = table.pairs,
          .cosine = Data(table.cosine),
          .sine = Data(table.sine)};
}

// The queries or the keys of one token.
struct Heads {
  Heads(const NormQkv& op, bool keys)
      : first(keys ? op.heads : 0),
        count(keys ? op.kv_heads : op.heads),
        norm_weight(Data(keys ? op.k_norm : op.q_norm)) {}

  NormRows Norm(const NormQkv& op, const float* x) const {
    return {x, norm_weight, count, op.head_dim, NormKind{op.kind.epsilon, false}};
  }
  int first, count;
  const float* norm_weight;
};

// raw (rows, width): queries and keys are normed where they are; raw_qk keeps what they were.
template <typename Narrow>
void NormHeads(NarrowDevice<Narrow>& device, const NormQkv& op, Range rows, float* raw) {
  const int turned = op.heads + op.kv_heads;
  for (int64_t n = rows.begin; n < rows.end; ++n, raw += Width(op)) {
    device.narrow.narrow(raw, turned * op.head_dim,
                         Data<Narrow>(op.raw_qk) + n * turned * op.head_dim);
    for (const bool keys : {false, true}) {
      const Heads heads(op, keys);
      float* x = raw + heads.first * op.head_dim;
      device.kernels.to_float.normalize(heads.Norm(op, x), x,
                                        Data(op.qk_inverse_rms) + n * turned + heads.first);
    }
  }
}

// d (rows, width) becomes the gradient before the norm. x is scratch for one token's heads; d_sums
// (2 head_dim): of the q_norm, then of the k_norm.
template <typename Narrow>
void NormHeadsBackward(NarrowDevice<Narrow>& device, const NormQkv& op, Range rows, float* d,
                       float* x, float* d_sums) {
  const int turned = op.heads + op.kv_heads;
  for (int64_t n = rows.begin; n < rows.end; ++n, d += Width(op)) {
    device.narrow.widen(Data<Narrow>(op.raw_qk) + n * turned * op.head_dim, turned * op.head_dim,
                        x);
    for (const bool keys : {false, true}) {
      const Heads heads(op, keys);
      const int at = heads.first * op.head_dim;
      device.kernels.normalize_backward_assign(heads.Norm(op, x + at),
                                               Data(op.qk_inverse_rms) + n * turned + heads.first,
                                               d + at, d + at, d_sums + (keys ? op.head_dim : 0));
    }
  }
}

}  // namespace

template <typename Narrow>
void NormQkvForward(NarrowDevice<Narrow>& device, const NormQkv& op) {
  const QkvScratch<Narrow> scratch(device.workspace.Carve(), Shape(op), device.threads());
  const int64_t width = Width(op);
  const auto weight = ForwardForm(Data(op.weight), width, op.hidden, scratch.weight);
  device.pool.Run([&](int thread) { device.Pack(weight, thread); });
  ForRows(device, op.rows * int64_t{op.length}, [&](Range rows, int thread) {
    Narrow* normed = scratch.normed + thread * kRowsPerThread<Narrow> * op.hidden;
    Narrow* qkv = Data<Narrow>(op.qkv) + rows.begin * width;
    float* raw = device.Wide(qkv, scratch.raw.Of(thread));
    device.narrow.normalize(Normed(op, rows), normed, Data(op.inverse_rms) + rows.begin);
    MultiplyRows(device, rows.size(), normed, weight, raw);
    if (op.q_norm) NormHeads(device, op, rows, raw);
    device.narrow.rotate(Rotated(op, rows), raw, qkv);
  });
}

template <typename Narrow>
void NormQkvBackward(NarrowDevice<Narrow>& device, const NormQkv& op, const NormQkvGradients& g) {
  const QkvScratch<Narrow> scratch(device.workspace.Carve(), Shape(op), device.threads());
  const int64_t width = Width(op);
  const auto weight = BackwardForm(Data(op.weight), width, op.hidden, scratch.weight);
  device.pool.Run([&](int thread) { device.Pack(weight, thread); });
  ZeroSums(device, scratch.sums, op.hidden + 2 * op.head_dim);
  const WeightGradient<Narrow> d_weight(device, width, width, op.hidden, scratch.d_transposed,
                                        scratch.normed);
  ForBlocks(
      device, op.rows * int64_t{op.length}, kBlockRows<Narrow>, kRowsPerThread<Narrow>,
      [&](const BlockRows& mine, int thread) {
        const Range rows = mine.rows;
        Narrow* normed = d_weight.PlaceOfX(mine, scratch.own_normed.Of(thread));
        Narrow* d_qkv = Data<Narrow>(g.d_qkv) + rows.begin * width;
        float* d_normed = scratch.d_normed.Of(thread);
        float* sums = scratch.sums.Of(thread);
        const float* inverse_rms = Data(op.inverse_rms) + rows.begin;
        if (op.q_norm) {
          float* raw = device.Wide(d_qkv, scratch.raw.Of(thread));
          device.narrow.rotate_back(Rotated(op, rows), d_qkv, raw);
          NormHeadsBackward(device, op, rows, raw, scratch.heads.Of(thread), sums + op.hidden);
          device.Narrowed(raw, rows.size() * width, d_qkv);
        } else {
          device.narrow.rotate_back_in_place(Rotated(op, rows), d_qkv);
        }
        d_weight.LeaveDy(mine, d_qkv);
        MultiplyRows(device, rows.size(), d_qkv, weight, d_normed);
        device.narrow.normalize_backward_add(Normed(op, rows), inverse_rms, d_normed,
                                             Data(g.dx) + rows.begin * op.hidden, sums, normed);
        d_weight.LeaveX(mine, normed);
      },
      [&](Range block, int thread) { d_weight.Add(block.size(), thread, Data(g.d_weight)); });
  AddSums(device, scratch.sums, 0, op.hidden, Data(g.d_norm_weight));
  if (!op.q_norm) return;
  AddSums(device, scratch.sums, op.hidden, op.head_dim, Data(g.d_q_norm));
  AddSums(device, scratch.sums, op.hidden + op.head_dim, op.head_dim, Data(g.d_k_norm));
}

#define GYRE_INSTANTIATE(Narrow)                                       \
  template void NormQkvForward(NarrowDevice<Narrow>&, const NormQkv&); \
  template void NormQkvBackward(NarrowDevice<Narrow>&, const NormQkv&, const NormQkvGradients&);
GYRE_INSTANTIATE(float)
GYRE_INSTANTIATE(Bf16)

}  // namespace gyre::cpu
