// The rules of the house that a reader would otherwise have to remember. Each failure is a line
// "path:line: what".

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/files.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;

struct SourceFile {
  std::string path;  // from the root of the project
  std::vector<std::string> lines;
};

const std::set<std::string> kCodeFolders = {"base",   "access",  "objects",  "trainer",
                                            "sweeps", "results", "analysis", "coordinator",
                                            "worker", "cli",     "tests",    "bench"};

std::vector<SourceFile> ReadSources() {
  std::vector<SourceFile> sources;
  for (const std::string& folder : kCodeFolders) {
    if (!fs::exists(folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".cc" && extension != ".h" && extension != ".cu" && extension != ".cuh")
        continue;
      SourceFile file{entry.path().string(), {}};
      std::istringstream text(*ReadFile(entry.path()));
      for (std::string line; std::getline(text, line);) file.lines.push_back(line);
      sources.push_back(std::move(file));
    }
  }
  std::sort(sources.begin(), sources.end(), [](auto& a, auto& b) { return a.path < b.path; });
  return sources;
}

const std::vector<SourceFile>& Sources() {
  static const std::vector<SourceFile> sources = ReadSources();
  return sources;
}

bool StartsWith(const std::string& text, const std::string& prefix) {
  return text.rfind(prefix, 0) == 0;
}

bool In(const std::string& path, const std::vector<std::string>& places) {
  return std::any_of(places.begin(), places.end(),
                     [&](auto& place) { return StartsWith(path, place); });
}

/// What stands between the delimiters of an include line, or nothing.
std::string Included(const std::string& line) {
  static const std::regex kInclude(R"(^\s*#\s*include\s*["<]([^">]+)[">])");
  std::smatch match;
  return std::regex_search(line, match, kInclude) ? match[1].str() : "";
}

/// Calls `check(file, line number, line)` for each line of code, comments cut off.
template <typename Check>
void ForEachLine(const Check& check) {
  for (const SourceFile& file : Sources()) {
    for (size_t i = 0; i < file.lines.size(); ++i) {
      check(file, i + 1, file.lines[i].substr(0, file.lines[i].find("//")));
    }
  }
}

void Forbid(const std::string& pattern, const std::vector<std::string>& in,
            const std::vector<std::string>& except, const std::string& why) {
  const std::regex forbidden(pattern);
  ForEachLine([&](const SourceFile& file, size_t number, const std::string& line) {
    if (!In(file.path, in) || In(file.path, except) || StartsWith(file.path, "tests/tidy/")) return;
    if (std::regex_search(line, forbidden))
      ADD_FAILURE() << file.path << ":" << number << ": " << why << ": " << line;
  });
}

// Which of our folders each folder may include (the longest matching entry counts), as
// ARCHITECTURE.md draws it.
TEST(Includes, GoOneDirection) {
  const std::map<std::string, std::vector<std::string>> allowed = {
      {"base/", {"base/"}},
      {"access/", {"base/", "access/"}},
      {"trainer/", {"base/", "trainer/"}},
      {"trainer/config/", {"base/", "trainer/config/"}},
      {"trainer/position/", {"base/", "trainer/config/", "trainer/position/"}},
      {"trainer/data/", {"base/", "trainer/config/", "trainer/data/", "trainer/model/batch.h"}},
      {"trainer/backend/", {"base/", "trainer/backend/", "trainer/collective/communicator.h"}},
      {"trainer/collective/", {"base/", "trainer/backend/", "trainer/collective/"}},
      {"trainer/model/",
       {"base/", "trainer/config/", "trainer/position/", "trainer/backend/", "trainer/model/"}},
      {"trainer/pretrained/",
       {"base/", "trainer/config/", "trainer/data/", "trainer/model/parameters.h",
        "trainer/pretrained/"}},
      {"trainer/statistics/",
       {"base/", "trainer/config/", "trainer/position/", "trainer/backend/backend.h",
        "trainer/model/attention_sums.h", "trainer/statistics/"}},
      {"trainer/statistics/record.", {"base/", "trainer/statistics/record.h"}},
      {"sweeps/",
       {"base/", "trainer/config/", "trainer/position/", "trainer/data/dataset.h",
        "trainer/data/json_lines.h", "trainer/data/task.h", "trainer/data/task_text.h",
        "trainer/data/tokenizer_request.h", "sweeps/"}},
      {"objects/", {"base/", "objects/", "trainer/data/dataset.h"}},
      {"results/", {"base/", "results/"}},
      {"analysis/",
       {"base/", "trainer/config/", "trainer/position/", "trainer/data/", "trainer/pretrained/",
        "trainer/statistics/", "trainer/model/attention_sums.h", "trainer/backend/backend.h",
        "trainer/backend/cpu/kernels/kernels.h", "trainer/backend/cpu/matrix_product.h",
        "trainer/backend/cpu/processor.h", "trainer/backend/cpu/thread_pool.h", "analysis/"}},
      {"analysis/theory/", {"base/", "trainer/config/", "trainer/position/", "analysis/theory/"}},
      {"coordinator/",
       {"base/", "access/", "objects/", "gyre/v1/", "sweeps/", "results/", "coordinator/",
        "trainer/config/", "trainer/data/dataset.h", "trainer/model/memory_estimate.h",
        "trainer/position/rotation_json.h", "trainer/statistics/record.h"}},
      {"coordinator/store/",
       {"base/", "objects/object_ref.h", "results/", "coordinator/", "sweeps/spec/sweep_spec.h",
        "trainer/statistics/record.h"}},
      {"worker/", {"base/", "objects/", "gyre/v1/", "trainer/config/", "worker/"}},
      {"cli/",
       {"base/", "access/", "objects/", "gyre/v1/", "sweeps/", "results/", "coordinator/",
        "analysis/", "worker/", "cli/", "trainer/config/", "trainer/position/", "trainer/data/",
        "trainer/model/memory_estimate.h", "trainer/pretrained/"}},
  };
  const std::regex ours(
      "^(base|access|objects|trainer|sweeps|results|analysis|coordinator|worker|cli|gyre/v1)/");
  for (const SourceFile& file : Sources()) {
    const std::vector<std::string>* may = nullptr;
    size_t longest = 0;
    for (const auto& [folder, list] : allowed) {
      if (StartsWith(file.path, folder) && folder.size() > longest)
        may = &list, longest = folder.size();
    }
    if (may == nullptr) continue;  // tests and benchmarks see everything
    for (size_t i = 0; i < file.lines.size(); ++i) {
      const std::string included = Included(file.lines[i]);
      if (std::regex_search(included, ours) && !In(included, *may)) {
        ADD_FAILURE() << file.path << ":" << i + 1 << ": may not include " << included;
      }
    }
  }
}

TEST(Includes, TheTrainerSeesNoWireAndNoYaml) {
  Forbid(R"(#\s*include\s*[<"](grpc|google/protobuf|absl/|yaml-cpp|gyre/v1|sqlite3))",
         {"trainer/", "base/", "analysis/"}, {}, "the trainer is built where only nvcc may be");
}

TEST(Includes, GeneratedHeadersStayAtTheEdge) {
  Forbid(R"(#\s*include\s*"gyre/v1/|#\s*include\s*<grpc)",
         {"coordinator/", "worker/", "cli/", "sweeps/", "results/"},
         {"coordinator/services", "coordinator/sweep_service", "coordinator/worker_service",
          "coordinator/convert", "coordinator/watch_reactor", "coordinator/server.cc",
          "coordinator/server_credentials", "coordinator/object_service", "coordinator/log_service",
          "worker/object_client", "worker/grpc_", "worker/coordinator_client", "worker/convert",
          "cli/sweep_client", "cli/job_client", "cli/coordinator_calls", "cli/convert"},
         ".pb.h and gRPC are seen only in services, clients and convert");
}

TEST(Includes, SqliteIsSeenInTwoFolders) {
  Forbid(R"(#\s*include\s*[<"]sqlite3\.h)", {""}, {"coordinator/store/", "results/", "tests/"},
         "sqlite3.h belongs to coordinator/store and results");
}

TEST(Purity, SpecAndSchedulerSeeNoClockAndNoFiles) {
  // Durations (Millis) and paths as texts are fine; the clock and the disk are not.
  Forbid(
      R"(#\s*include\s*[<"](base/files\.h|fstream|thread|unistd\.h|sys/)|\bClock\b|exists\(|is_directory|directory_iterator|current_path|fs::absolute|canonical\()",
      {"sweeps/spec/", "coordinator/scheduler", "coordinator/lifecycle", "coordinator/explain"}, {},
      "pure code takes times and texts as arguments");
}

TEST(Purity, TheRealClockIsReadInOneFile) {
  Forbid(
      R"(steady_clock::now|system_clock::now|high_resolution_clock|clock_gettime|gettimeofday|\btime\(nullptr\)|\btime\(NULL\))",
      {"base/", "access/", "objects/", "trainer/", "sweeps/", "results/", "analysis/",
       "coordinator/", "worker/", "cli/"},
      {"base/clock.cc"}, "the time comes from base/clock.h");
}

TEST(Purity, OnlyTheCommandsWriteToStdout) {
  Forbid(R"((^|[^:\w])(std::)?(printf|puts|putchar)\s*\(|std::cout|[^:\w]stdout\b)",
         {"base/", "access/", "trainer/", "sweeps/", "results/", "analysis/", "coordinator/",
          "worker/"},
         {"trainer/main.cc", "trainer/commands/"}, "stdout belongs to the commands");
}

TEST(Style, NoBuildFlagsInTheCode) {
  Forbid(R"(#\s*if.*(CUDA|NCCL|GYRE_WITH|GYRE_HAVE|GYRE_USE))", {""}, {},
         "absence is a file, not an #ifdef");
}

TEST(Style, TestsNeverSleepToWait) {
  Forbid(R"(sleep_for|sleep_until|\busleep\(|\bsleep\()", {"tests/"}, {},
         "wait for a condition with a deadline, or use a fake clock");
}

TEST(Style, NoDrawerNames) {
  const std::regex drawer("(util|helper|manager|misc|common)", std::regex::icase);
  for (const SourceFile& file : Sources()) {
    EXPECT_FALSE(std::regex_search(fs::path(file.path).filename().string(), drawer)) << file.path;
  }
  Forbid(R"(\b(class|struct|namespace)\s+\w*(Util|Helper|Manager|Trial)s?\b)", {""}, {},
         "a name that is not in the table of words");
}

// One program may link both: two types of one name in one namespace corrupt each other without a
// word.
TEST(Style, ATypeNameIsDefinedInOneHeader) {
  const std::regex definition(
      R"(^(?:class|struct|enum class)\s+(?:\[\[nodiscard\]\]\s+|GYRE_\w+\(.*\)\s+)?(\w+)[^;]*\{)");
  const std::regex opening(R"(^namespace (\S+) \{)");
  std::map<std::string, std::string> defined;
  for (const SourceFile& file : Sources()) {
    if (!file.path.ends_with(".h") || StartsWith(file.path, "tests/")) continue;
    std::string space;
    for (const std::string& line : file.lines) {
      std::smatch match;
      if (std::regex_search(line, match, opening)) space = match[1].str() + "::";
      if (!std::regex_search(line, match, definition)) continue;
      const auto [first, is_new] = defined.emplace(space + match[1].str(), file.path);
      EXPECT_TRUE(is_new) << file.path << ": " << match[1] << " is defined in " << first->second
                          << " too";
    }
  }
}

TEST(Style, FilesStayReadable) {
  for (const SourceFile& file : Sources()) {
    if (file.path == "trainer/config/field_table.cc") continue;  // one table, a row a key
    const size_t limit = StartsWith(file.path, "tests/") ? 700 : 500;
    EXPECT_LE(file.lines.size(), limit) << file.path << ": split it along what it does";
  }
}

TEST(Style, NoPathOfAMachine) {
  Forbid(R"("(/work/|/root/))", {""}, {}, "a path of somebody's machine");
}

bool NamedByCMake(const fs::path& path) {
  for (fs::path folder = path.parent_path();; folder = folder.parent_path()) {
    const auto cmake = ReadFile(folder / "CMakeLists.txt");
    const std::string name = path.lexically_relative(folder).string();
    const std::regex named(R"((^|[\s(]|SOURCE_DIR\}/))" +
                           std::regex_replace(name, std::regex("\\."), "\\.") + "[\\s)\"]");
    if (cmake.ok() && std::regex_search(*cmake, named)) return true;
    if (folder.empty()) return false;
  }
}

TEST(DeadFiles, EverySourceIsBuiltAndEveryHeaderIncluded) {
  std::set<std::string> included;
  for (const SourceFile& file : Sources()) {
    for (const std::string& line : file.lines) included.insert(Included(line));
  }
  for (const SourceFile& file : Sources()) {
    if (file.path.ends_with(".h")) {
      EXPECT_TRUE(included.contains(file.path) || NamedByCMake(file.path))
          << file.path << ": nobody includes it";
    } else {
      EXPECT_TRUE(NamedByCMake(file.path)) << file.path << ": no CMakeLists.txt names it";
    }
  }
}

}  // namespace
}  // namespace gyre
