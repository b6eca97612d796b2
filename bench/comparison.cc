#include "bench/comparison.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "bench/job_start.h"
#include "bench/quiet.h"
#include "bench/step_server.h"

namespace gyre {
namespace {

// Without them the sorting out of a loud machine would never end.
constexpr int kTriesPerSample = 4;

struct Party {
  ProcessCommand command;
  std::unique_ptr<Contestant> process;
  ContestantResult result;
  std::string failure;
  int steps_per_sample = 1;

  int quiet_samples() const {
    return static_cast<int>(std::count_if(result.samples.begin(), result.samples.end(),
                                          [](const StepSample& s) { return s.quiet; }));
  }
};

bool HasAvx512() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("flags")) return line.find(" avx512f ") != std::string::npos;
  }
  return false;
}

// What makes PyTorch's products fastest where it comes from Debian: the OpenBLAS that shares ATen's
// threads, its choice of a kernel left to itself, ATen's own loops in AVX-512, and a malloc that
// keeps freed pages (as one would get by preloading jemalloc).
ProcessCommand PyTorchCommand(const BenchCase& bench_case, const std::string& python) {
  ProcessCommand command;
  command.words = {python, GYRE_PYTORCH_STEPS, bench_case.Numbers().dump()};
  if (bench_case.on_gpu()) return command;
  command.environment = {{"OPENBLAS_CORETYPE", ""},
                         {"OPENBLAS_L2_SIZE", ""},
                         {"MALLOC_MMAP_THRESHOLD_", "1073741824"},
                         {"MALLOC_TRIM_THRESHOLD_", "4294967296"},
                         {"OMP_NUM_THREADS", std::to_string(bench_case.threads)}};
  if (HasAvx512()) command.environment["ATEN_CPU_CAPABILITY"] = "avx512";
  const std::string openblas = "/usr/lib/x86_64-linux-gnu/openblas-openmp";
  if (std::filesystem::exists(openblas)) command.environment["LD_LIBRARY_PATH"] = openblas;
  return command;
}

std::vector<ProcessCommand> Commands(const std::string& name, const BenchCase& bench_case,
                                     const ComparisonOptions& options) {
  std::vector<ProcessCommand> commands;
  if (name == "pytorch") {
    for (const std::string& python : options.python) {
      commands.push_back(PyTorchCommand(bench_case, python));
    }
    return commands;
  }
  ProcessCommand command{{options.program, "take-part", name}, {}};
  for (const std::string& word : bench_case.Arguments()) command.words.push_back(word);
  return {command};
}

/// Starts it once; where several commands could be it, the first that is not absent stays.
Status StartParty(Party* party, const std::vector<ProcessCommand>& commands) {
  for (const ProcessCommand& command : commands) {
    auto process = Contestant::Start(command);
    if (process.ok()) {
      party->command = command, party->process = *std::move(process);
      party->result.absent.clear();
      party->result.about = party->process->about();
      party->result.starts.push_back(party->process->start_seconds());
      return OkStatus();
    }
    if (process.status().code() != StatusCode::kUnavailable) return process.status();
    party->result.absent = process.status().message();
  }
  return OkStatus();
}

/// The others go on without one that has failed; without Gyre there is nothing to compare.
Status GoOnWithout(Party* party, const Status& status) {
  if (status.ok() || party->result.name == "gyre") return status;
  party->failure = party->result.absent = status.message();
  party->process.reset();
  return OkStatus();
}

/// Of jobs as users start them, where gyre-trainer was built.
Status StartJobs(const BenchCase& bench_case, const ComparisonOptions& options, double deadline,
                 ContestantResult* gyre) {
  const QuietGate gate(options.gate);
  const auto start = JobStart::Create(
      bench_case, (std::filesystem::path(options.program).parent_path() / "gyre-trainer").string());
  if (start.status().code() == StatusCode::kUnavailable) return OkStatus();
  GYRE_RETURN_IF_ERROR(start.status());
  for (int i = 0; i < options.starts; ++i) {
    gate.Wait(deadline);
    GYRE_ASSIGN_OR_RETURN(const double seconds, start->Seconds());
    gyre->job_starts.push_back(seconds);
  }
  return OkStatus();
}

Status FirstStep(Party* party, double sample_seconds) {
  GYRE_ASSIGN_OR_RETURN(const Json first, party->process->Steps(1));
  GYRE_ASSIGN_OR_RETURN(const Json second, party->process->Steps(1));
  party->result.first_step = NumberIn(first, "seconds");
  // Of one that has warmed up, that of its very first.
  const Json& about = party->result.about;
  party->result.first_loss =
      about.contains("first_loss") ? NumberIn(about, "first_loss") : NumberIn(first, "loss");
  party->result.steps = 2;
  const double seconds = std::max(1e-6, NumberIn(second, "seconds"));
  party->steps_per_sample = std::max(1, static_cast<int>(std::ceil(sample_seconds / seconds)));
  return OkStatus();
}

Status TakeSample(Party* party, const QuietGate& gate, double deadline) {
  const bool idle = gate.Wait(deadline);
  const MachineSeconds before = gate.Now();
  GYRE_ASSIGN_OR_RETURN(const Json answer, party->process->Steps(party->steps_per_sample));
  StepSample sample;
  sample.foreign = ForeignShare(before, gate.Now(), NumberIn(answer, "processor"));
  sample.quiet = idle && sample.foreign < QuietGate::kForeignShare;
  const double steps = party->steps_per_sample;
  // The limit times its parts itself.
  const bool parts = answer.contains("full_seconds");
  sample.seconds = parts ? NumberIn(answer, "full_seconds") : NumberIn(answer, "seconds") / steps;
  sample.causal = NumberIn(answer, "causal_seconds");
  sample.processor = NumberIn(answer, "processor") / steps;
  party->result.samples.push_back(sample);
  party->result.steps += party->steps_per_sample;
  party->result.last_loss = NumberIn(answer, "loss");
  return OkStatus();
}

/// Rounds of one sample each, until everybody has as many quiet ones as were asked for, or as many
/// at all once it has taken too long.
Status TakeSamples(std::vector<Party>* parties, const ComparisonOptions& options) {
  const QuietGate gate(options.gate);
  const double deadline = WallSeconds() + options.give_up_seconds;
  for (int round = 0; round < kTriesPerSample * options.samples; ++round) {
    const bool late = !options.gate || WallSeconds() > deadline;
    for (Party& party : *parties) {
      if (party.process == nullptr) continue;
      const int have = late ? static_cast<int>(party.result.samples.size()) : party.quiet_samples();
      if (have >= options.samples) continue;
      GYRE_RETURN_IF_ERROR(GoOnWithout(&party, TakeSample(&party, gate, deadline)));
    }
  }
  return OkStatus();
}

/// A model that has learned nothing is about as good as a guess among all tokens; one whose logits
/// are still far from it has a scale that is wrong.
void CheckLosses(const BenchCase& bench_case, const ContestantResult& result,
                 std::vector<std::string>* faults) {
  if (result.name == "limit" || !result.absent.empty()) return;
  const double guess = std::log(bench_case.shape.vocab);
  if (!(std::abs(result.first_loss - guess) < 0.15 * guess)) {
    faults->push_back(result.name + " starts with the loss " + std::to_string(result.first_loss) +
                      " where ln(vocabulary) is " + std::to_string(guess));
  }
  if (!std::isfinite(result.last_loss) || result.last_loss <= 0) {
    faults->push_back(result.name + " has the loss " + std::to_string(result.last_loss) +
                      " after " + std::to_string(result.steps) + " steps");
  }
}

void CheckCase(CaseResult* result) {
  for (const ContestantResult& one : result->contestants) {
    CheckLosses(result->bench_case, one, &result->faults);
  }
  const ContestantResult* gyre = result->Find("gyre");
  const ContestantResult* pytorch = result->Find("pytorch");
  if (gyre == nullptr || pytorch == nullptr) return;
  const double ours = NumberIn(gyre->about, "parameters");
  const double theirs = NumberIn(pytorch->about, "parameters");
  if (ours != theirs) {
    result->faults.push_back("gyre trains " + std::to_string(static_cast<int64_t>(ours)) +
                             " parameters, pytorch " +
                             std::to_string(static_cast<int64_t>(theirs)));
  }
}

double Quantile(const std::vector<double>& sorted, double q) {
  const double place = q * static_cast<double>(sorted.size() - 1);
  const size_t below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

}  // namespace

Spread SpreadOf(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  return {Quantile(values, 0.25), Quantile(values, 0.5), Quantile(values, 0.75),
          static_cast<int>(values.size()), true};
}

Spread SpreadOf(const std::vector<StepSample>& samples, StepTime time) {
  const bool quiet = std::any_of(samples.begin(), samples.end(),
                                 [](const StepSample& sample) { return sample.quiet; });
  std::vector<double> values;
  for (const StepSample& sample : samples) {
    if (sample.quiet != quiet) continue;
    values.push_back(time == StepTime::kSeconds     ? sample.seconds
                     : time == StepTime::kProcessor ? sample.processor
                                                    : sample.causal);
  }
  Spread spread = SpreadOf(std::move(values));
  spread.quiet = quiet;
  return spread;
}

const ContestantResult* CaseResult::Find(const std::string& name) const {
  for (const ContestantResult& result : contestants) {
    if (result.name == name && result.absent.empty()) return &result;
  }
  return nullptr;
}

Result<CaseResult> Compare(const BenchCase& bench_case, const ComparisonOptions& options) {
  std::vector<Party> parties;
  for (const std::string& name : options.names) {
    if (bench_case.shape.gyre_alone && name != "gyre") continue;
    parties.emplace_back().result.name = name;
  }
  const QuietGate gate(options.gate);
  const double deadline = WallSeconds() + options.give_up_seconds;
  for (int start = 0; start < options.starts; ++start) {
    for (Party& party : parties) {
      // The limit starts by looking for the fastest formulations; nobody waits for that.
      const bool once = party.result.name == "limit" && start > 0;
      if (once || !party.result.absent.empty()) continue;
      party.process.reset();
      gate.Wait(deadline);
      const auto commands = party.command.words.empty()
                                ? Commands(party.result.name, bench_case, options)
                                : std::vector<ProcessCommand>{party.command};
      GYRE_RETURN_IF_ERROR(GoOnWithout(&party, StartParty(&party, commands)));
    }
  }
  for (Party& party : parties) {
    if (options.jobs && party.result.name == "gyre" && !bench_case.shape.gyre_alone) {
      GYRE_RETURN_IF_ERROR(StartJobs(bench_case, options, deadline, &party.result));
    }
    if (party.process != nullptr) {
      GYRE_RETURN_IF_ERROR(GoOnWithout(&party, FirstStep(&party, options.sample_seconds)));
    }
  }
  GYRE_RETURN_IF_ERROR(TakeSamples(&parties, options));
  CaseResult result{bench_case, {}, {}};
  for (Party& party : parties) {
    if (party.process != nullptr) party.result.peak_memory = party.process->PeakMemory();
    if (!party.failure.empty()) {
      result.faults.push_back(party.result.name + " has failed: " + party.failure);
    }
    result.contestants.push_back(std::move(party.result));
  }
  CheckCase(&result);
  return result;
}

}  // namespace gyre
