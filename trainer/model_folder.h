#pragma once

// A model with a pretrained folder's weights.

#include <memory>

#include "base/status.h"
#include "trainer/model/model.h"
#include "trainer/pretrained/pretrained_folder.h"

namespace gyre {

/// Its positions are resolved for rows of `length` tokens. INVALID_ARGUMENT if the tensors aren't
/// exactly those of the configuration, or the trainer has no form of the model (CheckTrainable).
Result<std::unique_ptr<Model>> ModelOf(const PretrainedFolder& folder, Backend* backend, int rows,
                                       int length, bool training);

}  // namespace gyre
