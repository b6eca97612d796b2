#include "worker/trainer_log.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace gyre {
namespace {

constexpr size_t kMaxFileBytes = size_t{16} << 20;
constexpr size_t kTailBytes = 2000;

}  // namespace

TrainerLog::TrainerLog(const std::filesystem::path& path,
                       std::function<void(std::string_view)> hand_on)
    : hand_on_(std::move(hand_on)), file_(std::fopen(path.c_str(), "we"), &std::fclose) {
  if (file_ == nullptr) LogWarning("cannot write the trainer's log " + path.string());
}

void TrainerLog::Append(std::string_view bytes) {
  if (hand_on_) hand_on_(bytes);
  if (file_ != nullptr && written_ < kMaxFileBytes) {
    std::fwrite(bytes.data(), 1, bytes.size(), file_.get());
    written_ += bytes.size();
    if (written_ >= kMaxFileBytes)
      std::fputs("\n[the log ends here: it grew too long]\n", file_.get());
    std::fflush(file_.get());
  }
  tail_ += bytes;
  if (tail_.size() > 2 * kTailBytes) tail_.erase(0, tail_.size() - kTailBytes);
}

std::string TrainerLog::LastLines() const {
  std::string lines = tail_;
  if (lines.size() > kTailBytes) {
    lines.erase(0, lines.size() - kTailBytes);
    lines.erase(0,
                std::min(lines.size(), lines.find('\n') + 1));  // npos + 1 is 0: no line is whole
  }
  while (!lines.empty() && (lines.back() == '\n' || lines.back() == ' ')) lines.pop_back();
  return lines;
}

}  // namespace gyre
