#pragma once

// The events of the database, read beside the writer.

#include <filesystem>
#include <string>
#include <vector>

#include "base/status.h"
#include "coordinator/store/records.h"
#include "results/database.h"

namespace gyre {

/// An event as watchers see it.
struct EventRow {
  EventRecord event;
  std::string worker;  // its name, or empty
};

/// One thread at a time.
class EventReader {
 public:
  static Result<EventReader> Open(const std::filesystem::path& path);

  /// Up to `limit` events with id in (after, up_to], of one sweep or of all, in order.
  Result<std::vector<EventRow>> Read(int64_t after, int64_t up_to, std::optional<int64_t> sweep_id,
                                     int limit);

 private:
  EventReader(Database database, Statement all, Statement of_sweep)
      : database_(std::move(database)), all_(std::move(all)), of_sweep_(std::move(of_sweep)) {}

  Database database_;
  Statement all_, of_sweep_;
};

}  // namespace gyre
