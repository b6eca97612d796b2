#pragma once

// What a trainer writes to stderr during one attempt: kept in a file (up to a limit), handed on to
// the coordinator, its last lines also in memory for the message about a crash. One thread.

#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace gyre {

class TrainerLog {
 public:
  /// Writes `path` anew: a file of that name is another database's. A file that cannot be opened is
  /// no reason not to train: then only the last lines are kept. `hand_on` gets everything.
  TrainerLog(const std::filesystem::path& path, std::function<void(std::string_view)> hand_on);
  void Append(std::string_view bytes);
  /// The last lines, whole ones where they fit.
  std::string LastLines() const;

 private:
  std::function<void(std::string_view)> hand_on_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  size_t written_ = 0;
  std::string tail_;
};

}  // namespace gyre
