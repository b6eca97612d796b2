#include "cli/gnuplot.h"

#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

namespace gyre {
namespace {

/// A file in memory that has no name. Nobody waits for a full pipe.
class MemoryFile {
 public:
  explicit MemoryFile(const char* name) : fd_(memfd_create(name, MFD_CLOEXEC)) {}
  ~MemoryFile() {
    if (fd_ >= 0) close(fd_);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  int fd() const { return fd_; }

  Status Fill(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t written = write(fd_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return ErrnoStatus(errno, "cannot hand the plot to gnuplot");
      bytes.remove_prefix(static_cast<size_t>(written));
    }
    lseek(fd_, 0, SEEK_SET);
    return OkStatus();
  }

  std::string Read() const {
    std::string bytes;
    char buffer[1 << 16];
    lseek(fd_, 0, SEEK_SET);
    while (true) {
      const ssize_t count = read(fd_, buffer, sizeof(buffer));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return bytes;
      bytes.append(buffer, static_cast<size_t>(count));
    }
  }

 private:
  int fd_;
};

Status NoGnuplot(int error) {
  return FailedPrecondition(std::string("gnuplot cannot be started (") + std::strerror(error) +
                            "): install it (Debian and Ubuntu: apt-get install gnuplot-nox), or "
                            "write the rows alone with -o FILE.csv");
}

/// Its exit status as waitpid has it.
Result<int> RunGnuplot(const MemoryFile& input, const MemoryFile& output,
                       const MemoryFile& errors) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input.fd(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output.fd(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors.fd(), STDERR_FILENO);
  // Without the settings of its user's files.
  char program[] = "gnuplot", settings[] = "-d", standard_input[] = "-";
  char* const arguments[] = {program, settings, standard_input, nullptr};
  pid_t child = 0;
  const int error = posix_spawnp(&child, program, &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return NoGnuplot(error);
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return ErrnoStatus(errno, "cannot wait for gnuplot");
  }
  return status;
}

void Replace(std::string_view what, std::string_view by, std::string* text) {
  for (size_t at = 0; (at = text->find(what, at)) != std::string::npos; at += by.size()) {
    text->replace(at, what.size(), by);
  }
}

/// Its groups have titles like "gnuplot_plot_3", which browsers show where the mouse rests.
std::string WithoutTitles(std::string_view svg) {
  std::string clean;
  constexpr std::string_view kOpening = "<title>", kClosing = "</title>";
  while (true) {
    const size_t begin = svg.find(kOpening);
    const size_t end = begin == std::string_view::npos ? begin : svg.find(kClosing, begin);
    if (end == std::string_view::npos) return clean + std::string(svg);
    clean += svg.substr(0, begin);
    svg.remove_prefix(end + kClosing.size());
  }
}

}  // namespace

Result<std::string> DrawPicture(const Plot& plot, PictureFormat format) {
  const MemoryFile input("gnuplot-script"), output("gnuplot-picture"), errors("gnuplot-errors");
  if (input.fd() < 0 || output.fd() < 0 || errors.fd() < 0) {
    return ErrnoStatus(errno, "cannot make room for a plot");
  }
  GYRE_RETURN_IF_ERROR(input.Fill(GnuplotScript(plot, format)));
  GYRE_ASSIGN_OR_RETURN(const int status, RunGnuplot(input, output, errors));
  std::string picture = output.Read();
  if (status != 0 || picture.empty()) {
    return Internal("gnuplot did not draw the plot: " + errors.Read());
  }
  if (format == PictureFormat::kSvg) {
    picture = WithoutTitles(picture);
    // What other terminals take for a weight, this one takes for a part of the font's name.
    Replace(R"(font-family="sans-serif:Bold")", R"(font-family="sans-serif" font-weight="bold")",
            &picture);
  }
  return picture;
}

}  // namespace gyre
