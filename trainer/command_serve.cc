#include <fcntl.h>
#include <unistd.h>

#include "trainer/commands.h"
#include "trainer/serve.h"

namespace gyre {

int ServeCommand(const std::vector<std::string>& words, std::ostream&, std::ostream& err) {
  constexpr int kOutput = 3;
  if (!words.empty()) return ReportFailure(InvalidArgument("serve takes no arguments"), err);
  if (fcntl(kOutput, F_GETFD) < 0) {
    return ReportFailure(
        InvalidArgument("serve is a worker's child: it speaks on file descriptor 3, and that is "
                        "not open; to train by hand, use train"),
        err);
  }
  return Serve(STDIN_FILENO, kOutput);
}

}  // namespace gyre
