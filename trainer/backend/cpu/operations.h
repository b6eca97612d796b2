#pragma once

// The operations of backend.h on a CPU, one file a family. Each divides its work among the threads
// in a way that depends on the shapes and the number of threads alone, and every sum over tokens
// has one fixed order.

#include "trainer/backend/backend.h"
#include "trainer/backend/cpu/device.h"

namespace gyre::cpu {

void EmbeddingForward(Device& device, const Embedding& op);
void EmbeddingBackward(Device& device, const Embedding& op, Reals dx, Reals d_table);
void NormForward(Device& device, const Norm& op);
void NormBackward(Device& device, const Norm& op, Reals dy, Reals dx, Reals d_weight);
void NormQkvForward(Device& device, const NormQkv& op);
void NormQkvBackward(Device& device, const NormQkv& op, const NormQkvGradients& gradients);
void AttentionForward(Device& device, const Attention& op);
void AttentionBackward(Device& device, const Attention& op, const AttentionGradients& gradients);
void LinearResidualForward(Device& device, const LinearResidual& op);
void LinearResidualBackward(Device& device, const LinearResidual& op,
                            const LinearResidualGradients& gradients);
void NormGateUpForward(Device& device, const NormGateUp& op);
void NormGateUpBackward(Device& device, const NormGateUp& op, const NormGateUpGradients& gradients);
/// Without gradients: forward only.
void LinearCrossEntropyRows(Device& device, const LinearCrossEntropy& op,
                            const LinearCrossEntropyGradients* gradients);
void Linear(Device& device, int64_t tokens, int inputs, int outputs, Reals x, Reals weight,
            Reals y);
void Norm2(Device& device, Reals x, int64_t count, Reals norm);
void AdamWStep(Device& device, const AdamW& op);

}  // namespace gyre::cpu
