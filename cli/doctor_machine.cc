// What the machine itself has.

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/ids.h"
#include "base/machine.h"
#include "cli/doctor_checks.h"
#include "trainer/data/corpora.h"
#include "worker/devices.h"
#include "worker/trainer_log.h"
#include "worker/trainer_process.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;

constexpr double kLeastFreeDisk = 2.0 * (1 << 30);
constexpr double kLeastFreeMemory = 1.0 * (1 << 30);
constexpr Millis kHelloTimeout{10000};

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

Finding ExamineProcessor(const DoctorOptions& options) {
  const Machine machine = ReadMachine(options.root);
  return {"cores", FindingState::kOk,
          std::to_string(machine.cores) + " for this process, " + machine.cpu.model, ""};
}

Finding ExamineMemory(const DoctorOptions& options) {
  const auto total = static_cast<double>(ReadMachine(options.root).memory_bytes);
  const auto free = static_cast<double>(AvailableMemoryBytes(options.root));
  Finding finding{"memory", FindingState::kOk, InGib(free) + " free of " + InGib(total), ""};
  if (free < kLeastFreeMemory) {
    finding.state = FindingState::kNote;
    finding.fix = "end what takes the memory, or train with a small train.micro_batch";
  }
  return finding;
}

Finding ExamineHome(const DoctorOptions& options) {
  const std::string home = options.home.string();
  const auto missing = [&](const std::string& found, const std::string& fix) {
    return Finding{"home", FindingState::kMissing, found, fix};
  };
  if (const Status made = MakeFolders(options.home); !made.ok()) {
    return missing(made.message(), "set GYRE_HOME to a folder that can be written");
  }
  const fs::path probe = options.home / (".doctor-" + NewId().substr(0, 8));
  const int fd = open(probe.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return missing(home + " cannot be written", "set GYRE_HOME, or: chmod u+w " + home);
  close(fd);
  unlink(probe.c_str());
  std::error_code error;
  const auto free = static_cast<double>(fs::space(options.home, error).available);
  if (error) return missing(home + ": " + error.message(), "set GYRE_HOME to another folder");
  if (free < kLeastFreeDisk) {
    return missing(home + ", " + InGib(free) + " free",
                   "free some space there, or set GYRE_HOME to a folder on another disk");
  }
  return {"home", FindingState::kOk, home + ", " + InGib(free) + " free", ""};
}

Finding ExamineTrainer(const DoctorOptions& options) {
  const auto missing = [](const std::string& found) {
    return Finding{"trainer", FindingState::kMissing, found,
                   "build both anew with scripts/build, and keep gyre-trainer beside gyre"};
  };
  const auto program = FindTrainer(options.trainer);
  if (!program.ok()) return missing(program.status().message());
  const auto trainer = TrainerProcess::Start(
      *program, std::make_unique<TrainerLog>("/dev/null", [](std::string_view) {}));
  if (!trainer.ok()) return missing(trainer.status().message());
  const auto hello = (*trainer)->Greet(kHelloTimeout);
  const std::string words = (*trainer)->LastLines();
  (*trainer)->End(Millis(2000));
  if (!hello.ok()) {
    return missing(program->string() + ": " + hello.status().message() +
                   (words.empty() ? "" : " (" + FirstLine(words) + ")"));
  }
  if (hello->version != GYRE_VERSION) {
    return missing(program->string() + " is of version " + hello->version + ", and gyre of " +
                   GYRE_VERSION);
  }
  const auto fingerprint = nlohmann::json::parse(hello->fingerprint, nullptr, false);
  const auto text = [&](const char* key) {
    return fingerprint.is_object() ? fingerprint.value(key, std::string("?")) : std::string("?");
  };
  const auto& precisions = hello->precisions;
  if (precisions.empty()) {
    const char* const set = std::getenv("GYRE_INSTRUCTIONS");
    return {
        "trainer", FindingState::kMissing,
        program->string() + " trains nothing with GYRE_INSTRUCTIONS=" + (set ? set : ""),
        "unset it, or take what this processor has of amx, avx512_bf16, avx512, avx2, baseline"};
  }
  const bool bf16 = std::find(precisions.begin(), precisions.end(), "bf16") != precisions.end();
  return {"trainer", FindingState::kOk,
          program->string() + ", version " + hello->version + ", " + text("instruction_set") +
              ", " + text("libraries") + (bf16 ? ", bf16" : ""),
          ""};
}

Finding ExamineGnuplot(const DoctorOptions& options) {
  const auto program = FindProgram(options, "gnuplot");
  const auto version = program ? OutputOf(*program, "--version") : std::nullopt;
  if (version) return {"gnuplot", FindingState::kOk, FirstLine(*version), ""};
  return {"gnuplot", FindingState::kNote,
          program ? program->string() + " does not start" : "none: gyre plot writes CSV alone",
          "apt-get install gnuplot-nox"};
}

Finding ExaminePackages(const DoctorOptions& options) {
  const std::string given = "or give a downloaded package to 'gyre data prepare --package FILE'";
  const auto apt = FindProgram(options, "apt-get");
  if (!apt || !FindProgram(options, "dpkg-deb")) {
    return {"data packages", FindingState::kNote, "no apt-get and dpkg-deb",
            "use texts of your own; the built-in corpora come in Debian packages"};
  }
  const auto knows = [&](const std::string& packages) {
    return OutputOf(*apt, "download --print-uris" + packages).has_value();
  };
  std::string all, lacking;
  for (const BuiltInCorpus& corpus : BuiltInCorpora()) {
    if (all.find(corpus.package) == std::string::npos) all += " " + corpus.package;
  }
  if (!knows(all)) {  // a call takes a second
    for (const BuiltInCorpus& corpus : BuiltInCorpora()) {
      if (!knows(" " + corpus.package)) lacking += (lacking.empty() ? "" : ", ") + corpus.package;
    }
  }
  if (lacking.empty()) {
    return {"data packages", FindingState::kOk,
            "apt knows all that built-in corpora come in:" + all, ""};
  }
  return {"data packages", FindingState::kNote, "apt does not know " + lacking,
          "run apt-get update, " + given};
}

}  // namespace

std::string InGib(double bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f GiB", bytes / (1 << 30));
  return text;
}

std::vector<Finding> ExamineMachine(const DoctorOptions& options) {
  std::vector<Finding> findings = {ExamineProcessor(options), ExamineMemory(options),
                                   ExamineHome(options), ExamineTrainer(options)};
  for (Finding& finding : ExamineGpus(options)) findings.push_back(std::move(finding));
  findings.push_back(ExamineGnuplot(options));
  findings.push_back(ExaminePackages(options));
  return findings;
}

}  // namespace gyre
