#pragma once

// What every command answers to the shell, and how it says why.

#include "base/status.h"

namespace gyre {

inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;       // the work failed: a job failed, a server said no
inline constexpr int kExitBadInput = 2;     // bad input or usage
inline constexpr int kExitUnreachable = 3;  // could not reach the coordinator
inline constexpr int kExitInterrupted = 130;

/// The exit code of a command that ends with `status`: INVALID_ARGUMENT is bad input, UNAVAILABLE
/// and DEADLINE_EXCEEDED say that the coordinator does not answer, CANCELLED that the user broke
/// off, all else is failed work. Commands without a coordinator answer kExitFailed where this would
/// say kExitUnreachable.
int ExitCodeFor(const Status& status);

/// Writes "gyre: error: MESSAGE" to stderr and gives the exit code. `status` is not OK.
int Fail(const Status& status);

/// "gyre: MESSAGE" on stderr: what a user should know beside the result.
void Say(const std::string& message);

}  // namespace gyre
