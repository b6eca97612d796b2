#pragma once

// When two jobs are the same piece of work: what their points depend on, and nothing else (names,
// checkpoints, resources, retries have no part in it). Of the position block only its effect
// counts.

#include <map>
#include <string>

#include "sweeps/spec/sweep_spec.h"

namespace gyre {

/// Hash of all but the seed. The two data arguments stand for the data: content hashes, or what is
/// asked for.
std::string VariantIdentity(const Variant& variant, const std::string& train,
                            const std::map<std::string, std::string>& validation);

/// The key of one seed's job.
std::string KeyOf(const std::string& variant_identity, uint64_t seed);

}  // namespace gyre
