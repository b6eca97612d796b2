#pragma once

// What train.init_from of a submitted sweep refers to: folders as the client has made them into
// objects, checkpoints as the database has them at this moment.

#include "coordinator/calls.h"
#include "results/job_weights.h"
#include "sweeps/spec/sweep_spec.h"

namespace gyre {

/// `call` outlives what is returned. `ask` may be empty: then no checkpoint is known.
InitialWeightsOf InitialWeightsFor(const SubmitCall& call, AskSql ask);

/// INVALID_ARGUMENT if a variant goes on from a checkpoint of a job whose text had another
/// tokenizer: its ids would mean something else to the weights, and nothing would say so.
Status CheckTokenizers(const SweepSpec& spec, const SubmitCall& call, const AskSql& ask);

}  // namespace gyre
