#pragma once

// Made-up tasks in a sweep: evaluate.tasks, and task:NAME or {task: NAME, ...} as a text of
// data.train or data.validation.

#include <optional>
#include <string>

#include "sweeps/spec/faults.h"
#include "sweeps/spec/yaml_tree.h"
#include "trainer/config/job_config.h"

namespace gyre {

/// evaluate.tasks, as written: [{"task": NAME, ...}, ...] with distances, rows, keys, offset, name.
std::optional<Json> ReadTasks(const std::string& path, const YamlRef& ref, Faults* faults);

/// A mapping that has a task; as written (trainer/data/task_text.h).
std::optional<Json> ReadTaskSource(const std::string& path, const YamlRef& ref, Faults* faults);

/// The name in "task:NAME".
bool CheckTaskName(const std::string& path, const std::string& name, const TextPlace& place,
                   Faults* faults);

/// A name that metrics may have: begins with a letter, then letters, digits, '-', '_' and '.'.
std::optional<Json> ReadMetricName(const std::string& path, const YamlRef& ref, Faults* faults);

}  // namespace gyre
