#pragma once

// The operations of backend.h on a CPU, one file a family. Each divides its work among the threads
// in a way that depends on the shapes and the number of threads alone, and every sum over tokens
// has one fixed order. Those with products exist for Narrow = float and Bf16.

#include "trainer/backend/backend.h"
#include "trainer/backend/cpu/device.h"

namespace gyre::cpu {

void EmbeddingForward(Device& device, const Embedding& op);
void EmbeddingBackward(Device& device, const Embedding& op, Reals dx, Reals d_table);
void NormForward(Device& device, const Norm& op);
void NormBackward(Device& device, const Norm& op, Reals dy, Reals dx, Reals d_weight);
void Norm2(Device& device, Reals x, int64_t count, Reals norm);
void AdamWStep(Device& device, const AdamW& op);

template <typename Narrow>
void NormQkvForward(NarrowDevice<Narrow>& device, const NormQkv& op);
template <typename Narrow>
void NormQkvBackward(NarrowDevice<Narrow>& device, const NormQkv& op, const NormQkvGradients& g);
template <typename Narrow>
void AttentionForward(NarrowDevice<Narrow>& device, const Attention& op);
template <typename Narrow>
void AttentionBackward(NarrowDevice<Narrow>& device, const Attention& op,
                       const AttentionGradients& g);
template <typename Narrow>
void CollectAttentionStatistics(NarrowDevice<Narrow>& device, const AttentionStatistics& op);
template <typename Narrow>
void LinearResidualForward(NarrowDevice<Narrow>& device, const LinearResidual& op);
template <typename Narrow>
void LinearResidualBackward(NarrowDevice<Narrow>& device, const LinearResidual& op,
                            const LinearResidualGradients& g);
template <typename Narrow>
void MlpForward(NarrowDevice<Narrow>& device, const Mlp& op);
template <typename Narrow>
void MlpBackward(NarrowDevice<Narrow>& device, const Mlp& op, const MlpGradients& g);
template <typename Narrow>
void LinearCrossEntropyForward(NarrowDevice<Narrow>& device, const LinearCrossEntropy& op);
template <typename Narrow>
void LinearCrossEntropyForwardBackward(NarrowDevice<Narrow>& device, const LinearCrossEntropy& op,
                                       const LinearCrossEntropyGradients& g);
template <typename Narrow>
void Linear(NarrowDevice<Narrow>& device, int64_t tokens, int inputs, int outputs, Reals x,
            Reals weight, Reals y);

}  // namespace gyre::cpu
