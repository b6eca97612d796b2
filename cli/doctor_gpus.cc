// What of a GPU's needs is there.

#include <unistd.h>

#include <utility>

#include "base/files.h"
#include "cli/doctor_checks.h"
#include "worker/gpu_report.h"
#include "worker/trainer_process.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;

constexpr char kNvidia[] = "0x10de";  // the vendor's number
constexpr size_t kMostBytes = 1 << 16;

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

/// Whether such hardware is there, with a driver or without.
bool HasNvidiaDevice(const fs::path& root) {
  std::error_code error;
  for (fs::directory_iterator entry(root / "sys/bus/pci/devices", error), end;
       !error && entry != end; entry.increment(error)) {
    const auto vendor = ReadFile(entry->path() / "vendor", kMostBytes);
    if (vendor.ok() && FirstLine(*vendor) == kNvidia) return true;
  }
  return false;
}

Finding ExamineDriver(const DoctorOptions& options, const GpuReport& report) {
  const auto version = ReadFile(options.root / "proc/driver/nvidia/version", kMostBytes);
  const std::string cuda = report.driver.empty() ? "" : "for CUDA " + report.driver;
  if (version.ok()) {
    const std::string line = FirstLine(*version);
    return {"gpu driver", FindingState::kOk, line + (cuda.empty() ? "" : ", " + cuda), ""};
  }
  if (!cuda.empty()) return {"gpu driver", FindingState::kOk, cuda, ""};
  return {
      "gpu driver", FindingState::kNote, "no NVIDIA driver is installed",
      HasNvidiaDevice(options.root) ? "this machine has an NVIDIA device: install its driver" : ""};
}

Finding ExamineCuda(const GpuReport& report) {
  if (!report.runtime.empty()) {
    return {"cuda", FindingState::kOk, report.runtime + ", " + report.libraries, ""};
  }
  return {"cuda", FindingState::kNote, report.absent,
          "to train on GPUs, build Gyre where CUDA's toolkit is, and keep its libraries (cudart, "
          "cublasLt) where the loader finds them"};
}

Finding Describe(const GpuInfo& gpu) {
  std::string text =
      gpu.name + ", " + gpu.model + ", compute capability " + gpu.compute_capability + ", ";
  const auto total = static_cast<double>(gpu.memory_bytes);
  text += gpu.free_bytes > 0
              ? InGib(static_cast<double>(gpu.free_bytes)) + " free of " + InGib(total)
              : InGib(total);
  if (gpu.unusable.empty()) return {"gpu", FindingState::kOk, text, ""};
  return {"gpu", FindingState::kNote, text, "it is not used: " + gpu.unusable};
}

Finding ExamineToolkit(const DoctorOptions& options) {
  auto compiler = FindProgram(options, "nvcc");
  const fs::path usual = options.root / "usr/local/cuda/bin/nvcc";
  if (!compiler && access(usual.c_str(), X_OK) == 0) compiler = usual;
  const auto version = compiler ? OutputOf(*compiler, "--version") : std::nullopt;
  if (!version) {
    return {"cuda toolkit", FindingState::kNote, "none",
            "install CUDA's toolkit where Gyre is to be built for GPUs"};
  }
  const size_t release = version->find("release ");
  return {"cuda toolkit", FindingState::kOk,
          compiler->string() +
              (release == std::string::npos ? "" : ", " + FirstLine(version->substr(release))),
          ""};
}

}  // namespace

std::vector<Finding> ExamineGpus(const DoctorOptions& options) {
  const auto trainer = FindTrainer(options.trainer);
  const GpuReport report = trainer.ok() ? AskForGpus(*trainer, kGpuReportLimit)
                                        : GpuReport{.absent = "no trainer can be asked"};
  std::vector<Finding> findings = {ExamineDriver(options, report), ExamineCuda(report)};
  for (const GpuInfo& gpu : report.gpus) findings.push_back(Describe(gpu));
  // What is missing is said above, but for a driver that finds nothing.
  const bool said = report.driver.empty() || report.runtime.empty();
  if (report.gpus.empty()) {
    findings.push_back({"gpu", FindingState::kNote,
                        (said ? "none" : report.absent) + std::string("; jobs train on the CPU"),
                        said ? "" : "nvidia-smi and dmesg may say why"});
  }
  findings.push_back(ExamineToolkit(options));
  return findings;
}

}  // namespace gyre
