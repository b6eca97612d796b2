#include "coordinator/store/event_reader.h"

#include <utility>

namespace gyre {
namespace {

const std::string kSelect =
    "SELECT e.id, e.at, e.kind, e.sweep_id, e.job_id, e.attempt, e.worker_id, e.details, "
    "coalesce(w.name, '') FROM events e LEFT JOIN workers w ON w.id = e.worker_id "
    "WHERE e.id > ?1 AND e.id <= ?2 ";

std::optional<int64_t> OptionalInt(const Statement& rows, int column) {
  if (rows.IsNull(column)) return std::nullopt;
  return rows.Int(column);
}

}  // namespace

Result<EventReader> EventReader::Open(const std::filesystem::path& path) {
  GYRE_ASSIGN_OR_RETURN(Database database, Database::OpenReadOnly(path));
  GYRE_ASSIGN_OR_RETURN(Statement all, database.Prepare(kSelect + "ORDER BY e.id LIMIT ?3"));
  GYRE_ASSIGN_OR_RETURN(Statement of_sweep,
                        database.Prepare(kSelect + "AND e.sweep_id = ?4 ORDER BY e.id LIMIT ?3"));
  return EventReader(std::move(database), std::move(all), std::move(of_sweep));
}

Result<std::vector<EventRow>> EventReader::Read(int64_t after, int64_t up_to,
                                                std::optional<int64_t> sweep_id, int limit) {
  Statement& rows = sweep_id ? of_sweep_ : all_;
  rows.Reset();
  rows.Bind(1, after).Bind(2, up_to).Bind(3, limit);
  if (sweep_id) rows.Bind(4, *sweep_id);
  std::vector<EventRow> events;
  while (true) {
    GYRE_ASSIGN_OR_RETURN(const bool row, rows.Step());
    if (!row) return events;
    EventRow read;
    read.event.id = rows.Int(0);
    read.event.at = rows.Text(1);
    read.event.kind = rows.Text(2);
    read.event.sweep_id = OptionalInt(rows, 3);
    read.event.job_id = OptionalInt(rows, 4);
    read.event.attempt = OptionalInt(rows, 5);
    read.event.worker_id = OptionalInt(rows, 6);
    read.event.details = rows.Text(7);
    read.worker = rows.Text(8);
    events.push_back(std::move(read));
  }
}

}  // namespace gyre
