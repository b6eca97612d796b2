#pragma once

// Paths in a sweep are relative to the file in which they stand, which may be one that the sweep
// extends. Behind this they are absolute.

#include "sweeps/spec/block_reader.h"
#include "sweeps/spec/settings.h"

namespace gyre {

/// The settings with the paths of data.train, data.validation, data.tokenizer and train.init_from
/// made absolute by the folder of the file that says them.
Settings WithAbsolutePaths(Settings settings, const ReadContext& context);

}  // namespace gyre
