#include "cli/exit_code.h"

#include <cstdio>

namespace gyre {

int ExitCodeFor(const Status& status) {
  switch (status.code()) {
    case StatusCode::kOk:
      return kExitDone;
    case StatusCode::kInvalidArgument:
      return kExitBadInput;
    case StatusCode::kUnavailable:
    case StatusCode::kDeadlineExceeded:
      return kExitUnreachable;
    case StatusCode::kCancelled:
      return kExitInterrupted;
    default:
      return kExitFailed;
  }
}

int Fail(const Status& status) {
  std::fprintf(stderr, "gyre: error: %s\n", status.message().c_str());
  return ExitCodeFor(status);
}

void Say(const std::string& message) { std::fprintf(stderr, "gyre: %s\n", message.c_str()); }

}  // namespace gyre
