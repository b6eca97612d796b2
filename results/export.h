#pragma once

// A sweep's results as text files for other programs, one file a view of the database, and the
// curves of its jobs one by one. Rows are asked for in pages, so that a result of any size goes
// through a coordinator as well as from a file, and nothing is held whole.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "results/job_weights.h"

namespace gyre {

enum class ExportFormat { kCsv, kJsonLines };

/// Takes a file's text piece by piece; each file is begun with a first piece, which may be empty.
using WriteText = std::function<Status(const std::string& file, std::string_view text)>;

struct ExportedFile {
  std::string name;
  int64_t rows = 0;
};
struct ExportedTables {
  std::vector<ExportedFile> files;
  /// Views that the database lacks, because an older program wrote it.
  std::vector<std::string> missing;
};

/// curves, final, comparison, frequencies, contributions, head_scores, documents, failures and jobs
/// (with configuration and rotation) as NAME.csv or NAME.jsonl. CSV is that of RFC 4180, UTF-8: a
/// first line with names, NULL is nothing, an empty text is "". A JSON line has one object, NULL is
/// null, and what is JSON in the database is JSON there. Numbers have all digits. NOT_FOUND: no
/// sweep of that name.
Result<ExportedTables> ExportTables(const std::string& sweep, ExportFormat format,
                                    const AskSql& ask, const WriteText& write);

/// A point of a job's curves, and when the attempt that reported it began (seconds since 1970, 0 =
/// not known): the database knows no times of single points. A value that was not finite is NaN.
struct ExportedPoint {
  std::string metric;
  int64_t step = 0;
  double value = 0, attempt_began = 0;
};
struct ExportedJob {
  std::string variant;
  uint64_t seed = 0;
  std::string state;
};

/// `begin` is called for each job of the sweep, then `point` for each of its points, by metric and
/// step. Ends with the first error of either. NOT_FOUND: no sweep of that name.
Status ExportCurves(const std::string& sweep, const AskSql& ask,
                    const std::function<Status(const ExportedJob&)>& begin,
                    const std::function<Status(const ExportedPoint&)>& point);

}  // namespace gyre
