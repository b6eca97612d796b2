#pragma once

// From the tokenizer of a request to the tokenizer itself. One that is trained is kept:
// GYRE_HOME/tokenizers/SHA-256.model, and in tokenizers/requests/ which request gave it.

#include <filesystem>
#include <memory>
#include <string>

#include "base/status.h"
#include "trainer/data/text_reader.h"
#include "trainer/data/tokenizer.h"
#include "trainer/data/tokenizer_request.h"

namespace gyre {

/// About how much of the training text a tokenizer is trained on, evenly spread over it.
inline constexpr uint64_t kTokenizerSampleBytes = 10'000'000;

/// What the tokenizer depends on beside the request: changes when it may be another one. Reads a
/// model's file (of one in GGUF its size and time alone), but no text.
Result<std::string> TokenizerStamp(const std::filesystem::path& home,
                                   const TokenizerRequest& request);

/// Finds, opens or trains it. NOT_FOUND: no such file; INVALID_ARGUMENT: not a model, or one that
/// cannot be trained on its text; UNIMPLEMENTED: not in this build; else as PrepareDataset() has
/// it.
Result<std::unique_ptr<Tokenizer>> PrepareTokenizer(const TokenizerRequest& request,
                                                    Preparation* preparation);

/// The tokenizer in a file, whose name says of which kind it is. NOT_FOUND, INVALID_ARGUMENT,
/// UNIMPLEMENTED as above; a .gguf is UNIMPLEMENTED, trainer/pretrained/tokenizer_of.h knows those.
Result<std::unique_ptr<Tokenizer>> OpenTokenizerFile(const std::string& path);

}  // namespace gyre
