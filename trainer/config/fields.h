#pragma once

// The one table of fields: every key of the sweep language with its kind, range, default, meaning,
// and whether the trainer can do it yet. Checks, help and documentation come from it; a key that is
// not here does not exist.

#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gyre {

enum class FieldKind {
  kCount,          // whole number
  kCountOrAuto,    // whole number or "auto"
  kNumber,         // finite number
  kShare,          // number or percentage
  kBoolean,        // true or false
  kChoice,         // one of `choices`
  kChoices,        // list of them, each once; may be empty
  kName,           // a name that files and tables carry
  kText,           // free text
  kTime,           // 90s, 10m, 2h
  kSize,           // 4GiB
  kBetas,          // two numbers
  kBand,           // two whole numbers [a, b)
  kSource,         // corpus, path, glob, or a list of them
  kSources,        // mapping from a name to a source
  kLengths,        // ascending list of whole numbers
  kEdges,          // the same, from 0 on
  kWeights,        // a folder, or checkpoint:JOB
  kSwitch,         // {at, to}, or a list of them
  kTokenizer,      // "bytes"; a path or a mapping later
  kInterventions,  // list of {zero, freeze, theta or position, ...}
  kTasks,          // list of names, or of {task, ...}
  kLayers,         // list of per-layer overrides
  kFlags,          // list of 0 and 1, one a layer
  kLayerTypes,     // list of Hugging Face's layer type names, one a layer
  kRope,           // Hugging Face's rope_parameters or rope_scaling
  kAny,            // a form that is only described in `meaning`
};

enum class FieldScope {
  kSweep,        // at the top of the file
  kJob,          // in base, in a variant, in grid and exclude
  kHuggingFace,  // another spelling, taken in base and in a variant, shown in the neutral form
};

struct Field {
  std::string_view path;  // dotted, without "base."
  FieldKind kind;
  std::string_view default_text;  // as written in YAML, or in words
  std::string_view meaning;
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false, high_open = false;  // the bound itself is not allowed
  std::string_view choices = "";             // separated by spaces, those in `later` too
  /// Choices that the trainer cannot do yet, separated by spaces; "*" = every value but the
  /// default.
  std::string_view later = "";
  FieldScope scope = FieldScope::kJob;
};

std::span<const Field> AllFields();

/// Index into AllFields(), or -1.
int FieldIndex(std::string_view path);

/// The index of a path that is known to exist; ends the program if it does not (our bug).
int FieldIndexOrDie(std::string_view path);

/// True where job fields lie below the path: "model", "position.scaling".
bool IsBlock(std::string_view path);

/// Names that may follow `prefix.` ("" = in base) in job fields and blocks, other spellings too.
std::vector<std::string> KeysUnder(std::string_view prefix);

/// Known keys of the top of the file.
std::vector<std::string> SweepKeys();

/// "a whole number between 1 and 1024", "one of rope, nope, alibi".
std::string DescribeType(const Field& field);

/// Words of a list that is separated by spaces.
std::vector<std::string> Words(std::string_view list);

}  // namespace gyre
