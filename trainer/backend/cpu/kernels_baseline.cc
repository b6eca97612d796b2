#define GYRE_KERNELS_NAME "baseline"
#define GYRE_KERNELS_TABLE kKernelsBaseline
#include "trainer/backend/cpu/kernels_body.h"
