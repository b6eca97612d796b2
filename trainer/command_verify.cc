#include <algorithm>

#include "trainer/arguments.h"
#include "trainer/backend/create_backend.h"
#include "trainer/commands.h"
#include "trainer/verify.h"

namespace gyre {

int ReportFailure(const Status& status, std::ostream& err) {
  err << "gyre-trainer: " << status.message() << "\n";
  const bool users =
      status.code() == StatusCode::kInvalidArgument || status.code() == StatusCode::kNotFound ||
      status.code() == StatusCode::kDataLoss || status.code() == StatusCode::kUnimplemented;
  return users ? 2 : 1;
}

int VerifyCommand(const std::vector<std::string>& words, std::ostream& out, std::ostream& err) {
  const auto arguments = Arguments::Parse(words, {"--backend", "--threads", "--precision"});
  if (!arguments.ok()) return ReportFailure(arguments.status(), err);
  if (arguments->words.empty()) {
    return ReportFailure(InvalidArgument("verify needs a folder, e.g. gyre-trainer verify "
                                         "tests/trainer/reference/llama-rope"),
                         err);
  }
  const auto precision = PrecisionFromName(arguments->Flag("--precision", "float32"));
  if (!precision.ok()) return ReportFailure(precision.status(), err);
  const auto threads = arguments->Number("--threads", 1, 1);
  if (!threads.ok()) return ReportFailure(threads.status(), err);
  const VerifyOptions options{arguments->Flag("--backend", "cpu"), *threads, *precision};

  int worst = 0;
  for (const std::string& folder : arguments->words) {
    const auto report = VerifyFolder(folder, options);
    if (!report.ok()) {
      worst = std::max(worst, ReportFailure(report.status(), err));
      continue;
    }
    out << folder << " (backend " << options.backend << ", " << PrecisionName(*precision) << ")\n";
    Print(*report, out);
    out << (report->holds() ? "holds" : "DOES NOT HOLD") << ": " << folder << "\n";
    if (!report->holds()) worst = std::max(worst, 1);
  }
  return worst;
}

}  // namespace gyre
