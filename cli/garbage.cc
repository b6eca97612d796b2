#include "cli/garbage.h"

#include <sys/stat.h>

#include <set>
#include <system_error>
#include <utility>

#include "base/files.h"
#include "objects/database_list.h"
#include "objects/object_store.h"
#include "results/database.h"
#include "trainer/config/job_config.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;

struct Needed {
  std::set<std::string> objects, datasets;
};

Status ReadNeeded(const fs::path& path, Needed* needed) {
  GYRE_ASSIGN_OR_RETURN(const Database database, Database::OpenReadOnly(path));
  GYRE_ASSIGN_OR_RETURN(Statement objects,
                        database.Prepare("SELECT hash FROM checkpoints UNION "
                                         "SELECT v.initial_weights FROM variants v "
                                         "JOIN jobs j ON j.variant_id = v.id "
                                         "WHERE j.state <> 'SUCCEEDED'"));
  while (true) {
    GYRE_ASSIGN_OR_RETURN(const bool row, objects.Step());
    if (!row) break;
    needed->objects.insert(objects.Text(0));
  }
  GYRE_ASSIGN_OR_RETURN(
      Statement datasets,
      database.Prepare("SELECT DISTINCT v.train_dataset, v.validation_datasets FROM variants v "
                       "JOIN jobs j ON j.variant_id = v.id WHERE j.state <> 'SUCCEEDED'"));
  while (true) {
    GYRE_ASSIGN_OR_RETURN(const bool row, datasets.Step());
    if (!row) return OkStatus();
    GYRE_ASSIGN_OR_RETURN(const std::vector<TrainText> texts,
                          TrainTextsFromJson(TrainTextsJson(datasets.Text(0))));
    for (const TrainText& text : texts) needed->datasets.insert(text.hash);
    const Json validation = Json::parse(datasets.Text(1), nullptr, false);
    if (!validation.is_object()) continue;
    for (const auto& [name, hash] : validation.items()) {
      if (hash.is_string()) needed->datasets.insert(hash.get<std::string>());
    }
  }
}

int64_t BytesOf(const fs::path& path) {
  std::error_code error;
  if (fs::is_regular_file(path, error)) return static_cast<int64_t>(fs::file_size(path, error));
  int64_t bytes = 0;
  for (fs::recursive_directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code gone;
    if (entry->is_regular_file(gone)) bytes += static_cast<int64_t>(entry->file_size(gone));
  }
  return bytes;
}

/// The youngest thing in it. 0 = it is gone.
Millis ChangedAt(const fs::path& path) {
  const auto of = [](const fs::path& one) {
    struct stat info {};
    if (stat(one.c_str(), &info) != 0) return Millis(0);
    return Millis(info.st_mtim.tv_sec * 1000 + info.st_mtim.tv_nsec / 1000000);
  };
  Millis latest = of(path);
  std::error_code error;
  if (!fs::is_directory(path, error)) return latest;
  for (fs::recursive_directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    latest = std::max(latest, of(entry->path()));
  }
  return latest;
}

class Collector {
 public:
  Collector(const GarbageOptions& options, Millis now,
            const std::function<void(const std::string&, int64_t)>& on_item)
      : options_(options), now_(now), on_item_(on_item) {}

  bool IsOld(const fs::path& path) const {
    const Millis changed = ChangedAt(path);
    return changed > Millis(0) && now_ - changed >= options_.grace;
  }

  Status Remove(const std::string& what, const fs::path& path, int* count) {
    if (!IsOld(path)) return OkStatus();  // it has become young meanwhile
    const int64_t bytes = BytesOf(path);
    if (!options_.dry_run) {
      std::error_code error;
      fs::remove_all(path, error);
      if (error) return ErrnoStatus(error.value(), "cannot remove " + path.string());
    }
    ++*count;
    freed_.bytes += bytes;
    on_item_(what, bytes);
    return OkStatus();
  }

  /// Those of ROOT/`folder` that are old and that `needed` lacks.
  Status RemoveUnneeded(const char* folder, const std::string& word,
                        const std::set<std::string>& needed, int* count) {
    for (const fs::path& path : Entries(options_.root / folder)) {
      const std::string name = path.filename().string();
      if (!IsObjectHash(name) || needed.contains(name)) continue;
      GYRE_RETURN_IF_ERROR(Remove(word + " " + name, path, count));
    }
    return OkStatus();
  }

  /// What is not finished and that nobody is at. `lock` is the file that who is holds.
  Status RemoveAbandoned(const fs::path& path, const fs::path& lock) {
    std::error_code error;
    if (!IsOld(path)) return OkStatus();
    if (!fs::exists(lock, error))
      return Remove("what is left of " + path.filename().string(), path, &freed_.partial);
    const auto held = FileLock::TryAcquire(lock);
    if (!held.ok()) return OkStatus();
    return Remove("what is left of " + path.filename().string(), path, &freed_.partial);
  }

  static std::vector<fs::path> Entries(const fs::path& folder) {
    std::vector<fs::path> entries;
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
      entries.push_back(entry->path());
    }
    return entries;
  }

  GarbageFreed& freed() { return freed_; }

 private:
  const GarbageOptions& options_;
  const Millis now_;
  const std::function<void(const std::string&, int64_t)>& on_item_;
  GarbageFreed freed_;
};

Result<Needed> NeededBy(const GarbageOptions& options) {
  GYRE_ASSIGN_OR_RETURN(std::vector<fs::path> databases, NotedDatabases(options.root));
  const bool known = !databases.empty() || !options.databases.empty();
  for (const fs::path& database : options.forgotten) {
    if (std::erase(databases, NotedPath(database)) > 0) continue;
    return NotFound("no coordinator of " + options.root.string() + " has written " +
                    database.string());
  }
  databases.insert(databases.end(), options.databases.begin(), options.databases.end());
  const bool asks = options.datasets || !Collector::Entries(options.root / "objects").empty();
  if (!known && asks) {
    return FailedPrecondition("no coordinator has worked with " + options.root.string() +
                              ", so that nobody says what is needed; name its database with --db");
  }
  Needed needed;
  for (const fs::path& database : databases) {
    std::error_code error;
    if (!fs::exists(database, error)) {
      return FailedPrecondition("the database " + database.string() +
                                " is not there, and may refer to any object; bring it back, or "
                                "say --forget " +
                                database.string() + " if it is gone for good");
    }
    GYRE_RETURN_IF_ERROR(ReadNeeded(database, &needed).WithContext(database.string()));
  }
  return needed;
}

}  // namespace

Result<GarbageFreed> CollectGarbage(
    const GarbageOptions& options, Millis now,
    const std::function<void(const std::string& what, int64_t bytes)>& on_item) {
  Collector collector(options, now, on_item);
  GYRE_ASSIGN_OR_RETURN(const Needed needed, NeededBy(options));
  GarbageFreed& freed = collector.freed();
  GYRE_RETURN_IF_ERROR(
      collector.RemoveUnneeded("objects", "object", needed.objects, &freed.objects));
  if (options.datasets) {
    GYRE_RETURN_IF_ERROR(
        collector.RemoveUnneeded("datasets", "data set", needed.datasets, &freed.datasets));
  }
  for (const fs::path& path : Collector::Entries(options.root / "tmp"))
    GYRE_RETURN_IF_ERROR(collector.RemoveAbandoned(path, path / "lock"));
  // Copies of workers that are no more.
  for (const fs::path& path : Collector::Entries(options.root / "workers")) {
    if (path.extension() != ".home") continue;
    GYRE_RETURN_IF_ERROR(
        collector.RemoveAbandoned(path, fs::path(path).replace_extension(".lock")));
  }
  if (options.dry_run) return freed;
  for (const fs::path& database : options.forgotten)
    GYRE_RETURN_IF_ERROR(ForgetDatabase(options.root, database));
  return freed;
}

}  // namespace gyre
