#pragma once

// What train.init_from of a submitted sweep refers to: folders as the client has made them into
// objects, checkpoints as the database has them at this moment.

#include "coordinator/calls.h"
#include "results/job_weights.h"
#include "sweeps/spec/sweep_spec.h"

namespace gyre {

/// `call` outlives what is returned. `ask` may be empty: then no checkpoint is known.
InitialWeightsOf InitialWeightsFor(const SubmitCall& call, AskSql ask);

}  // namespace gyre
