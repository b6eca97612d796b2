#pragma once

// A checkpoint is one safetensors file, GYRE_HOME/objects/HASH, named by the SHA-256 of its bytes:
// the weights under their Hugging Face names, AdamW's moments as adamw.m/NAME and adamw.v/NAME, and
// as metadata the format's version, the job's key, step, tokens and the version of the numerics.
// That is all that an attempt needs to go on bit for bit: schedule and data are functions of the
// step, and nothing draws from a generator with a state. The last one of a job has the weights
// only.

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/status.h"
#include "trainer/model/model.h"
#include "trainer/trainer.h"

namespace gyre {

struct CheckpointPlace {
  std::string job_key;
  int64_t step = 0, tokens = 0;
};

/// Whole and on disk when it returns, or not there at all. RESOURCE_EXHAUSTED: the disk is full
/// (names the folder).
Result<CheckpointInfo> WriteCheckpoint(const std::filesystem::path& home,
                                       const CheckpointPlace& place, bool weights_only,
                                       const Model& model);

/// Loads weights and moments into the model. NOT_FOUND: no such checkpoint. DATA_LOSS: its content
/// is not what its name says. FAILED_PRECONDITION: of another job, format or version of the
/// numerics, or without the moments.
Result<CheckpointPlace> LoadCheckpoint(const std::filesystem::path& home, const std::string& hash,
                                       const std::string& job_key, Model* model);

/// The weights alone of any object, also of one with the optimizer's state, of any job: what
/// training starts from. NOT_FOUND, DATA_LOSS as above; INVALID_ARGUMENT with the first tensor that
/// this model has and the object has not, or not of that shape.
Status LoadInitialWeights(const std::filesystem::path& home, const std::string& hash, Model* model);

}  // namespace gyre
