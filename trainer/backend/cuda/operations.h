#pragma once

// The operations of backend.h on a CUDA device: kernels and products in the order of one stream,
// with no atomics and no choice that depends on timing, so that the same shapes give the same bits.
// What an operation needs for itself it takes from the device's memory and gives back. A failure
// throws CudaError. Narrow is float or Bf16.

#include "trainer/backend/backend.h"
#include "trainer/backend/cuda/device.h"

namespace gyre::cuda {

void EmbeddingForward(const Device& device, const Embedding& op);
void EmbeddingBackward(const Device& device, const Embedding& op, Reals dx, Reals d_table);
void NormForward(const Device& device, const Norm& op);
void NormBackward(const Device& device, const Norm& op, Reals dy, Reals dx, Reals d_weight);
void Norm2(const Device& device, Reals x, int64_t count, Reals norm);
/// Weights that products have taken are rounded again on the way.
void AdamWStep(const Device& device, const AdamW& op);

template <typename Narrow>
void NormQkvForward(const Device& device, const NormQkv& op);
template <typename Narrow>
void NormQkvBackward(const Device& device, const NormQkv& op, const NormQkvGradients& g);
template <typename Narrow>
void AttentionForward(const Device& device, const Attention& op);
template <typename Narrow>
void AttentionBackward(const Device& device, const Attention& op, const AttentionGradients& g);
template <typename Narrow>
void CollectAttentionStatistics(const Device& device, const AttentionStatistics& op);
template <typename Narrow>
void LinearResidualForward(const Device& device, const LinearResidual& op);
template <typename Narrow>
void LinearResidualBackward(const Device& device, const LinearResidual& op,
                            const LinearResidualGradients& g);
template <typename Narrow>
void MlpForward(const Device& device, const Mlp& op);
template <typename Narrow>
void MlpBackward(const Device& device, const Mlp& op, const MlpGradients& g);
template <typename Narrow>
void LinearCrossEntropyForward(const Device& device, const LinearCrossEntropy& op);
template <typename Narrow>
void LinearCrossEntropyForwardBackward(const Device& device, const LinearCrossEntropy& op,
                                       const LinearCrossEntropyGradients& g);
template <typename Narrow>
void Linear(const Device& device, int64_t tokens, int inputs, int outputs, Reals x, Reals weight,
            Reals y);

/// Rows whose logits cross-entropy holds at a time, and from one row of them to the next.
int64_t LogitRowsAtATime(int64_t logits, int vocab);
int64_t LogitStride(int vocab);

}  // namespace gyre::cuda
