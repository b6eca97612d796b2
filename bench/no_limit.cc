#include "bench/limit_steps.h"
#include "bench/step_server.h"

namespace gyre {

int ServeLimitSteps(const BenchCase&) { return ServeAbsence("built without oneDNN"); }

}  // namespace gyre
