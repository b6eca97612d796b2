#pragma once

// A task as a text to train on: data.train: task:NAME, or {task: NAME, ...} with
//   distance   [a, b]: documents have distances between them, as many near a as near b (their
//              logarithms are even); by default all that there is room for
//   documents  how many; a sixteenth as many more are held out
//   length     ids of a document; by default data.context, so that a row is a document
//   keys, offset as in evaluate.tasks
// Everything about a document is a function of these and its number.

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "trainer/config/job_config.h"
#include "trainer/data/tokenizer_request.h"

namespace gyre {

/// What a source begins with that is a task's name.
inline constexpr char kTaskPrefix[] = "task:";
inline constexpr int kDefaultKeys = 8;
inline constexpr int kDefaultTaskDocuments = 16384;

struct TaskText {
  TaskConfig task;
  std::pair<int, int> distance{0, 0};  // [a, b], both included; 0, 0: all there is room for
  int documents = kDefaultTaskDocuments;
  int length = 0;  // 0: not yet known
};

/// Whether a source of data.train or data.validation is a task.
bool IsTaskSource(const Json& source);

/// INVALID_ARGUMENT: with the key.
Result<TaskText> TaskTextFromJson(const Json& source);

/// The source with the length of its documents, where it says none.
Json WithTaskLength(const Json& source, int length);

/// `document(held_out, text)` for each, in order. INVALID_ARGUMENT: the tokenizer cannot write it,
/// or no document has room for it.
Status WriteTaskText(const TaskText& text, const TokenizerRequest& tokenizer,
                     const std::function<Status(bool, std::string_view)>& document);

}  // namespace gyre
