#include "coordinator/sweep_parser.h"

#include <utility>

namespace gyre {
namespace {

Result<std::vector<SweepSpec>> Parse(const std::string& yaml, const SpecOptions& options) {
  ParsedSweeps parsed = ParseSweeps(yaml, options);
  if (parsed.diagnostics.empty()) return std::move(parsed.sweeps);
  std::string faults;
  for (const Diagnostic& diagnostic : parsed.diagnostics) {
    if (!faults.empty() && faults.back() != '\n') faults += '\n';
    faults += FormatDiagnostic(diagnostic);
  }
  return InvalidArgument(faults);
}

}  // namespace

SweepParser FileParser() { return Parse; }

}  // namespace gyre
