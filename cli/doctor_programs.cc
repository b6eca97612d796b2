// Programs of this machine, and what they say.

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <sstream>

#include "cli/doctor_checks.h"

namespace gyre {

std::optional<std::filesystem::path> FindProgram(const DoctorOptions& options,
                                                 const std::string& name) {
  std::istringstream folders(options.search_path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::filesystem::path program = std::filesystem::path(folder) / name;
    if (!folder.empty() && access(program.c_str(), X_OK) == 0) return program;
  }
  return std::nullopt;
}

std::optional<std::string> OutputOf(const std::filesystem::path& program,
                                    const std::string& arguments) {
  std::string quoted = "'";
  for (const char c : program.string())
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  const std::string command = "timeout 10 " + quoted + "' " + arguments + " 2>/dev/null </dev/null";
  FILE* pipe = popen(command.c_str(), "re");
  if (pipe == nullptr) return std::nullopt;
  std::string output;
  char piece[4096];
  while (const size_t size = fread(piece, 1, sizeof piece, pipe)) output.append(piece, size);
  const int status = pclose(pipe);
  if (status == -1 || !WIFEXITED(status) || WEXITSTATUS(status) != 0) return std::nullopt;
  return output;
}

}  // namespace gyre
