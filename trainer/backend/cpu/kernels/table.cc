#include "trainer/backend/cpu/kernels/kernels.h"

#define GYRE_TEXT_OF(name) #name
#define GYRE_TEXT(name) GYRE_TEXT_OF(name)

namespace gyre::cpu::GYRE_INSTRUCTION_SET {

Kernels Table() {
  Kernels kernels;
  kernels.instruction_set = GYRE_TEXT(GYRE_INSTRUCTION_SET);
  AddConversion(&kernels);
  AddNorm(&kernels);
  AddRotation(&kernels);
  AddActivation(&kernels);
  AddSoftmax(&kernels);
  AddAttentionStatistics(&kernels);
  AddCrossEntropy(&kernels);
  AddFlat(&kernels);
  AddProduct(&kernels);
  AddTranspose(&kernels);
  AddTiles(&kernels);
  AddTileActivation(&kernels);
  AddTileAttention(&kernels);
  return kernels;
}

}  // namespace gyre::cpu::GYRE_INSTRUCTION_SET
