#define GYRE_KERNELS_NAME "avx512"
#define GYRE_KERNELS_TABLE kKernelsAvx512
#include "trainer/backend/cpu/kernels_body.h"
