#define GYRE_KERNELS_NAME "avx2"
#define GYRE_KERNELS_TABLE kKernelsAvx2
#include "trainer/backend/cpu/kernels_body.h"
