#include "cli/object_transfer.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "cli/exit_code.h"
#include "cli/progress_display.h"
#include "cli/text_width.h"
#include "worker/object_client.h"

namespace gyre {
namespace {

constexpr int kBarColumns = 20;
constexpr Millis kRedraw{100};

/// The bar of one transfer; off a terminal, a line at its beginning.
class TransferDisplay {
 public:
  explicit TransferDisplay(std::string what) : what_(std::move(what)) {}

  void Show(int64_t done, int64_t total) {
    if (!display_.interactive()) {
      if (!std::exchange(said_, true)) Say(what_ + " (" + BytesInWords(total) + ")");
      return;
    }
    const Millis now = Clock::Real().Now();
    if (done < total && now - drawn_at_ < kRedraw) return;
    drawn_at_ = now;
    display_.Draw({TransferLine(what_, done, total, display_.width())});
  }

 private:
  const std::string what_;
  ProgressDisplay display_;
  bool said_ = false;
  Millis drawn_at_{0};
};

}  // namespace

std::string BytesInWords(int64_t bytes) {
  static constexpr const char* kUnits[] = {"kB", "MB", "GB", "TB"};
  if (bytes < 1000) return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes) / 1000;
  size_t unit = 0;
  while (value >= 999.5 && unit + 1 < std::size(kUnits)) {
    value /= 1000;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, value < 9.95 ? "%.1f %s" : "%.0f %s", value, kUnits[unit]);
  return text;
}

std::string TransferLine(const std::string& what, int64_t done, int64_t total, int width) {
  const double share = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 1;
  const int filled = std::clamp(static_cast<int>(share * kBarColumns), 0, kBarColumns);
  char percent[16];
  std::snprintf(percent, sizeof percent, "%3d%%", static_cast<int>(share * 100));
  const std::string line = Visible(what) + "  [" + std::string(static_cast<size_t>(filled), '#') +
                           std::string(static_cast<size_t>(kBarColumns - filled), '.') + "]  " +
                           percent + "  " + BytesInWords(done) + " of " + BytesInWords(total);
  return width > 0 ? Shorten(line, width) : line;
}

Status UploadMissing(const std::string& coordinator, const std::filesystem::path& home,
                     const std::vector<NamedObject>& objects, std::stop_token stop) {
  GYRE_ASSIGN_OR_RETURN(const auto client, ConnectToObjects(coordinator, home));
  std::vector<ObjectRef> refs;
  for (const NamedObject& object : objects) refs.push_back(object.ref);
  GYRE_ASSIGN_OR_RETURN(const auto missing, client->FindMissing(refs, /*verify=*/false, stop));
  for (const MissingRef& one : missing) {
    const auto object = std::find_if(objects.begin(), objects.end(),
                                     [&](const auto& named) { return named.ref == one.ref; });
    if (object == objects.end()) continue;
    TransferDisplay display("sending " + object->name);
    GYRE_RETURN_IF_ERROR(SendObject(
        *client, one.ref, ObjectStore(home),
        [&](int64_t done, int64_t total) { display.Show(done, total); }, stop));
  }
  return OkStatus();
}

Status DownloadObject(const std::string& coordinator, const std::filesystem::path& home,
                      const NamedObject& object, std::stop_token stop) {
  GYRE_ASSIGN_OR_RETURN(const auto client, ConnectToObjects(coordinator, home));
  TransferDisplay display("fetching " + object.name);
  return FetchObject(
      *client, object.ref, ObjectStore(home),
      [&](int64_t done, int64_t total) { display.Show(done, total); }, stop);
}

}  // namespace gyre
