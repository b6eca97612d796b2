#pragma once

// What a machine has and lacks for Gyre: one finding a thing, with the one thing to do where
// something is missing. Looks only; changes nothing but a file that it removes again. What is
// looked at comes in as options, so that tests have their own machine.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace gyre {

enum class FindingState {
  kOk,
  kNote,     // it works without; the fix is for who wants it
  kMissing,  // it does not work
};

struct Finding {
  std::string name;  // "home", "trainer"
  FindingState state = FindingState::kOk;
  std::string found;
  std::string fix;  // empty where nothing is missing
};

struct DoctorOptions {
  std::filesystem::path home;
  std::filesystem::path trainer;  // empty = beside this program
  std::string coordinator;
  bool needs_coordinator = false;    // one was named: it has to answer
  std::filesystem::path root = "/";  // of /proc and /sys
  std::string search_path;           // where programs lie: PATH
};

/// Cores and memory, GYRE_HOME, the trainer, GPUs, gnuplot, data packages.
std::vector<Finding> ExamineMachine(const DoctorOptions& options);

/// Driver, CUDA, each GPU or why there is none, as the trainer finds them; it never loads CUDA
/// itself.
std::vector<Finding> ExamineGpus(const DoctorOptions& options);

/// The coordinator, and what this machine has for one beyond it: token, authority, certificate.
std::vector<Finding> ExamineAccess(const DoctorOptions& options);

/// In DoctorOptions::search_path.
std::optional<std::filesystem::path> FindProgram(const DoctorOptions& options,
                                                 const std::string& name);

/// What a program prints within ten seconds; nothing if it fails. `arguments` are for the shell,
/// and constant.
std::optional<std::string> OutputOf(const std::filesystem::path& program,
                                    const std::string& arguments);

/// "31.2 GiB".
std::string InGib(double bytes);

}  // namespace gyre
