#pragma once

// Reads the value of one field: kind, range, choices, and whether the trainer can do it yet.

#include <optional>
#include <string>
#include <vector>

#include "sweeps/spec/faults.h"
#include "sweeps/spec/yaml_tree.h"
#include "trainer/config/fields.h"
#include "trainer/config/job_config.h"

namespace gyre {

/// The value, null for an explicit null; nothing if there was a fault (then it is reported, under
/// the name `path`). Not for kLayers, kSwitch and kRope, whose items are blocks
/// of their own. `corpora` are
/// the names of users' own corpora.
std::optional<Json> ReadValue(const Field& field, const std::string& path, const YamlRef& ref,
                              const std::vector<std::string>& corpora, Faults* faults);

/// "position.p must be between 0 and 1, and is 1.5" where the number is out of the field's range;
/// else empty.
std::string RangeFault(const Field& field, const std::string& path, double value,
                       const std::string& written);

/// A name or other text: a plain scalar that YAML 1.1 readers take for something else is refused.
std::optional<std::string> ReadText(const std::string& path, const YamlRef& ref, Faults* faults);

/// As names of variants and validation sets are: no control characters, not empty, at most 200
/// characters.
bool CheckName(const std::string& what, const std::string& name, bool quoted,
               const TextPlace& place, Faults* faults);

}  // namespace gyre
