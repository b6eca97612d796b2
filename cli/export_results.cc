#include "cli/export_results.h"

#include <cctype>
#include <filesystem>
#include <map>
#include <set>

#include "cli/exit_code.h"
#include "cli/new_folder.h"
#include "proto/event_file.h"
#include "results/export.h"

namespace gyre {
namespace {

std::string Counted(int64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

Status ExportText(const std::string& sweep, ExportFormat format, const AskSql& ask,
                  const std::string& folder) {
  GYRE_ASSIGN_OR_RETURN(NewFolder files, NewFolder::Create(folder));
  GYRE_ASSIGN_OR_RETURN(
      const ExportedTables tables,
      ExportTables(sweep, format, ask, [&](const std::string& file, std::string_view text) {
        return files.Append(file, text);
      }));
  GYRE_RETURN_IF_ERROR(files.Finish());
  for (const ExportedFile& file : tables.files) {
    Say((std::filesystem::path(folder) / file.name).string() + ": " + Counted(file.rows, "row"));
  }
  std::string missing;
  for (const std::string& name : tables.missing) missing += (missing.empty() ? "" : ", ") + name;
  if (!missing.empty()) {
    Say("without " + missing +
        ": an older version wrote the database; gyre coordinator --db and gyre run --db bring it "
        "up to this one");
  }
  return OkStatus();
}

/// A variant's name as one of folders, which no other variant's becomes.
std::string FolderName(const std::string& variant, std::set<std::string>* taken) {
  constexpr size_t kLongest = 200;
  std::string name;
  for (const char c : variant.substr(0, kLongest)) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                       std::string_view("._-+=,@").find(c) != std::string_view::npos;
    name += plain ? c : '_';
  }
  if (name.empty() || name[0] == '.') name.insert(0, "_");
  std::string unique = name;
  for (int i = 2; !taken->insert(unique).second; ++i) unique = name + "~" + std::to_string(i);
  return unique;
}

/// One folder a job, with an event file.
class CurveFolders {
 public:
  explicit CurveFolders(NewFolder* folder) : folder_(*folder) {}

  Status Begin(const ExportedJob& job) {
    if (!names_.contains(job.variant)) names_[job.variant] = FolderName(job.variant, &taken_);
    place_ = std::filesystem::path(names_[job.variant]) / ("seed-" + std::to_string(job.seed));
    file_.clear();
    unfinished_ += job.state == "SUCCEEDED" ? 0 : 1;
    return OkStatus();
  }
  Status Add(const ExportedPoint& point) {
    std::string text;
    if (file_.empty()) {
      file_ = place_ / ("events.out.tfevents." +
                        std::to_string(static_cast<int64_t>(point.attempt_began)) + ".gyre");
      text = EventFileStart(point.attempt_began);
      ++jobs_;
    }
    text += ScalarEvent(point.attempt_began, point.step, point.metric, point.value);
    ++points_;
    return folder_.Append(file_, text);
  }

  int64_t jobs() const { return jobs_; }
  int64_t points() const { return points_; }
  int64_t unfinished() const { return unfinished_; }

 private:
  NewFolder& folder_;
  std::map<std::string, std::string> names_;
  std::set<std::string> taken_;
  std::filesystem::path place_, file_;  // of the job at hand; no file before its first point
  int64_t jobs_ = 0, points_ = 0, unfinished_ = 0;
};

Status ExportEvents(const std::string& sweep, const AskSql& ask, const std::string& folder) {
  GYRE_ASSIGN_OR_RETURN(NewFolder files, NewFolder::Create(folder));
  CurveFolders curves(&files);
  GYRE_RETURN_IF_ERROR(ExportCurves(
      sweep, ask, [&](const ExportedJob& job) { return curves.Begin(job); },
      [&](const ExportedPoint& point) { return curves.Add(point); }));
  if (curves.points() == 0) {
    return FailedPrecondition("the sweep '" + sweep + "' has no points yet; gyre status " + sweep +
                              " says what its jobs do");
  }
  GYRE_RETURN_IF_ERROR(files.Finish());
  Say(folder + ": " + Counted(curves.points(), "point") + " of " + Counted(curves.jobs(), "job") +
      "; tensorboard --logdir " + folder + " shows them");
  if (curves.unfinished() > 0) {
    Say(Counted(curves.unfinished(), "job") + " of the sweep " +
        (curves.unfinished() == 1 ? "has" : "have") + " not succeeded: gyre status " + sweep);
  }
  return OkStatus();
}

}  // namespace

Status ExportResults(const std::string& sweep, const std::string& format, const AskSql& ask,
                     const std::string& folder) {
  if (format == "tensorboard") return ExportEvents(sweep, ask, folder);
  return ExportText(sweep, format == "csv" ? ExportFormat::kCsv : ExportFormat::kJsonLines, ask,
                    folder);
}

}  // namespace gyre
