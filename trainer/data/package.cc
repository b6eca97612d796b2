#include "trainer/data/package.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "base/files.h"
#include "trainer/data/source_files.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;

struct Ran {
  int exit_code = 0;       // 127: there is no such program
  std::string last_words;  // the last line that it wrote
};

std::string LastLine(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text.substr(text.rfind('\n') + 1);  // npos + 1 is 0
}

// Runs a program in `folder`, its output in a file there, and waits for it.
Result<Ran> Run(std::vector<std::string> arguments, const fs::path& folder) {
  const fs::path log = folder / "output.log";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  const int error = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error == ENOENT) return Ran{127, ""};
  if (error != 0) return ErrnoStatus(error, "cannot run " + arguments[0]);
  int state = 0;
  while (waitpid(child, &state, 0) < 0) {
    if (errno != EINTR) return ErrnoStatus(errno, "cannot wait for " + arguments[0]);
  }
  const auto output = ReadFile(log, 1 << 20);
  return Ran{WIFEXITED(state) ? WEXITSTATUS(state) : 128, output.ok() ? LastLine(*output) : ""};
}

}  // namespace

Result<fs::path> FetchPackage(const std::string& name, const fs::path& folder) {
  // Short waits: apt's own would keep a person without a network waiting for minutes.
  GYRE_ASSIGN_OR_RETURN(const Ran ran, Run({"apt-get", "-q", "-o", "Acquire::Retries=1", "-o",
                                            "Acquire::http::Timeout=20", "-o",
                                            "Acquire::https::Timeout=20", "download", name},
                                           folder));
  if (ran.exit_code == 127) {
    return Unavailable("cannot fetch Debian's package " + name +
                       ": there is no apt-get on this machine");
  }
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string file = entry->path().filename().string();
    if (ran.exit_code == 0 && file.starts_with(name + "_") && file.ends_with(".deb")) {
      return entry->path();
    }
  }
  return Unavailable("cannot fetch Debian's package " + name +
                     ": `apt-get download` says: " + ran.last_words);
}

Status UnpackPackage(const fs::path& package, const fs::path& folder) {
  std::error_code error;
  if (!fs::exists(package, error)) return NotFound("no such file: " + package.string());
  GYRE_RETURN_IF_ERROR(MakeFolders(folder));
  GYRE_ASSIGN_OR_RETURN(const Ran ran, Run({"dpkg-deb", "-x", AbsolutePath(package), "."}, folder));
  if (ran.exit_code == 127)
    return Unavailable("there is no dpkg-deb on this machine to unpack packages with");
  if (ran.exit_code != 0) {
    return InvalidArgument("cannot unpack " + package.string() +
                           ": dpkg-deb says: " + ran.last_words);
  }
  return OkStatus();
}

}  // namespace gyre
