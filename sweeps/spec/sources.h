#pragma once

// Where text comes from: corpora by name, files, folders and globs; and the tokenizer. Only their
// spelling is checked here; whether a file is there, `run`, `submit` and `data prepare` find out.

#include <optional>
#include <string>
#include <vector>

#include "sweeps/spec/faults.h"
#include "sweeps/spec/yaml_tree.h"
#include "trainer/config/job_config.h"

namespace gyre {

/// data.train, as written: a source, or a list of {source, weight}. A source is a string, {path,
/// field or template}, or a list of these. `corpora` are the names of users' own corpora, beside
/// ours.
std::optional<Json> ReadTrainSource(const std::string& path, const YamlRef& ref,
                                    const std::vector<std::string>& corpora, Faults* faults);

/// data.validation: {name: source}; a null source takes a name of a lower layer away.
std::optional<Json> ReadSources(const std::string& path, const YamlRef& ref,
                                const std::vector<std::string>& corpora, Faults* faults);

/// data.tokenizer, as written (trainer/data/tokenizer_request.h).
std::optional<Json> ReadTokenizer(const std::string& path, const YamlRef& ref, Faults* faults);

}  // namespace gyre
