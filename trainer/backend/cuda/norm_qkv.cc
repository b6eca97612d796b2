#include "trainer/backend/cuda/operations.h"

namespace gyre::cuda {
namespace {

int64_t Tokens(const NormQkv& op) { return int64_t{op.rows} * op.length; }
int64_t Width(const NormQkv& op) { return int64_t{op.heads + 2 * op.kv_heads} * op.head_dim; }

NormRows Normed(const NormQkv& op) {
  return {Data(op.x), Data(op.norm_weight), Tokens(op), op.hidden, op.kind};
}

RotatedHeads Rotated(const NormQkv& op) {
  const RotationTable& table = *op.rotation;
  RotatedHeads heads{.tokens = Tokens(op),
                     .length = op.length,
                     .heads = op.heads,
                     .kv_heads = op.kv_heads,
                     .head_dim = op.head_dim,
                     .cosine = Data(table.cosine),
                     .sine = Data(table.sine),
                     .columns = table.pairs};
  RotatedPairs& pairs = heads.pairs;
  for (const PairRun& run : table.runs) {
    for (int i = 0; i < run.count; ++i, ++pairs.count) {
      pairs.a[pairs.count] = static_cast<uint8_t>(run.a + i * run.stride);
      pairs.b[pairs.count] = static_cast<uint8_t>(run.b + i * run.stride);
      pairs.pair[pairs.count] = static_cast<uint8_t>(run.pair + i);
    }
  }
  return heads;
}

HeadNorms NormsOf(const NormQkv& op) { return {Data(op.q_norm), Data(op.k_norm), op.kind.epsilon}; }

}  // namespace

template <typename Narrow>
void NormQkvForward(const Device& device, const NormQkv& op) {
  const cudaStream_t stream = device.stream;
  const Temporary<Narrow> normed(device.memory, Tokens(op) * op.hidden);
  Narrow* qkv = Data<Narrow>(op.qkv);
  Normalize<Narrow>(stream, Normed(op), normed, Data(op.inverse_rms));
  MultiplyRows<Narrow>(device, Tokens(op), op.hidden, Width(op), normed,
                       device.Weight<Narrow>(op.weight), qkv);
  if (op.q_norm) {
    NormAndRotate(stream, Rotated(op), NormsOf(op), qkv, Data<Narrow>(op.raw_qk),
                  Data(op.qk_inverse_rms));
  } else {
    Rotate(stream, Rotated(op), /*back=*/false, qkv);
  }
}

template <typename Narrow>
void NormQkvBackward(const Device& device, const NormQkv& op, const NormQkvGradients& g) {
  const cudaStream_t stream = device.stream;
  const int64_t tokens = Tokens(op), width = Width(op);
  Narrow* d_qkv = Data<Narrow>(g.d_qkv);
  if (op.q_norm) {
    const Temporary<float> sums(device.memory, HeadNormSums(Rotated(op)));
    NormAndRotateBackward<Narrow>(stream, Rotated(op), NormsOf(op), Data<Narrow>(op.raw_qk),
                                  Data(op.qk_inverse_rms), d_qkv, sums, Data(g.d_q_norm),
                                  Data(g.d_k_norm));
  } else {
    Rotate(stream, Rotated(op), /*back=*/true, d_qkv);
  }
  const Temporary<Narrow> normed(device.memory, tokens * op.hidden);
  const Temporary<float> d_normed(device.memory, tokens * op.hidden);
  const Temporary<float> sums(device.memory, NormSums(tokens, op.hidden));
  NormalizeAgain<Narrow>(stream, Normed(op), Data(op.inverse_rms), normed);
  AddWeightGradient<Narrow>(device, tokens, op.hidden, width, d_qkv, width, normed,
                            Data(g.d_weight));
  MultiplyBack<Narrow, float>(device, tokens, op.hidden, width, d_qkv, width,
                              device.Weight<Narrow>(op.weight), d_normed);
  NormalizeBackward(stream, Normed(op), Data(op.inverse_rms), d_normed, /*add=*/true, Data(g.dx),
                    sums, Data(g.d_norm_weight));
}

#define GYRE_INSTANTIATE(Narrow)                                       \
  template void NormQkvForward<Narrow>(const Device&, const NormQkv&); \
  template void NormQkvBackward<Narrow>(const Device&, const NormQkv&, const NormQkvGradients&);
GYRE_INSTANTIATE(float)
GYRE_INSTANTIATE(Bf16)

}  // namespace gyre::cuda
