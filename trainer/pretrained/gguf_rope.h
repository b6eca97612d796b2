#pragma once

// What a GGUF file says of rotations, in Hugging Face's keys.

#include <string>

#include "base/status.h"
#include "trainer/config/job_config.h"
#include "trainer/pretrained/gguf_file.h"

namespace gyre {

/// Divisors of the frequencies, one a pair: Llama 3's scaling, p-RoPE, or anything.
inline constexpr char kGgufRopeDivisors[] = "rope_freqs.weight";

/// `prefix` is the architecture's, with its dot. INVALID_ARGUMENT: the key that is not known here,
/// or divisors that no encoding of ours has.
Status WriteGgufRope(const GgufFile& file, const std::string& prefix, int head_dim, Json* config);

/// What divisors (one a pair) at this theta mean, as rope_scaling or rope_parameters; null:
/// nothing, all are 1.
Result<Json> RopeOfDivisors(const std::vector<float>& divisors, double theta);

}  // namespace gyre
