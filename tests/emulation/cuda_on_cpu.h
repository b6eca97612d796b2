#pragma once

// What turns a CUDA source into C++ that is executed on the CPU: compile it by g++ with `-include`
// of this. Host and device code see NVIDIA's own headers, so types, enums and prototypes are the
// real ones; the functions behind them are in this folder. Plain __shared__ is no word here:
// kernels say GPU_SHARED (trainer/backend/cuda/kernels/gpu.h).

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#undef __global__
#undef __device__
#undef __host__
#undef __constant__
#undef __grid_constant__
#undef __launch_bounds__
#undef __shared__
#define __global__
#define __device__
#define __host__
#define __constant__
#define __grid_constant__
#define __launch_bounds__(...)

#include "tests/emulation/atomics.h"
#include "tests/emulation/intrinsics.h"
#include "tests/emulation/launch.h"
#include "tests/emulation/ptx.h"
#include "tests/emulation/thread.h"
#include "tests/emulation/warp_functions.h"

#define GPU_SHARED(Type, name, ...)                                                \
  static const char name##_declaration_ = 0;                                       \
  using name##_type_ = Type __VA_ARGS__;                                           \
  name##_type_& name = *static_cast<name##_type_*>(::gyre::emulation::SharedArray( \
      &name##_declaration_, sizeof(name##_type_), alignof(name##_type_)))
#define GPU_DYN_SHARED(Type, name) \
  Type* const name = static_cast<Type*>(::gyre::emulation::DynamicShared())
