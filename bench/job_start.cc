#include "bench/job_start.h"

#include <unistd.h>

#include <filesystem>
#include <utility>

#include "base/files.h"
#include "base/random.h"
#include "bench/piped_process.h"
#include "bench/step_server.h"
#include "trainer/job_file.h"

namespace gyre {
namespace {

constexpr int kTextBytes = 1 << 18;

std::string MadeText() {
  const Random random(1, "bench/text");
  std::string text;
  for (uint64_t i = 0; i < kTextBytes; ++i) {
    text += i % 512 == 511 ? '\n' : static_cast<char>('a' + random.Below(26, 0, i));
  }
  return text;
}

JobConfig MadeJob(const BenchCase& bench_case, const std::filesystem::path& text) {
  JobConfig config;
  config.model = bench_case.Model();
  config.data.train = text.string();
  config.data.validation = {{"made", text.string()}};
  config.data.context = bench_case.shape.context;
  config.data.packing = "stream";
  config.train.tokens = config.train.batch_tokens = bench_case.shape.tokens();
  config.train.micro_batch = bench_case.shape.rows;
  config.train.precision = bench_case.precision;
  config.evaluate.tokens = 1;  // a window at least
  return config;
}

}  // namespace

Result<JobStart> JobStart::Create(const BenchCase& bench_case, const std::string& trainer) {
  if (!std::filesystem::exists(trainer)) return Unavailable("there is no " + trainer);
  // Everybody has a folder of their own in the one that all share.
  const auto folder =
      std::filesystem::temp_directory_path() / ("gyre-bench-" + std::to_string(getuid()));
  GYRE_ASSIGN_OR_RETURN(ScratchFolder home, ScratchFolder::Create(folder, "job"));
  const auto text = home.path() / "text.txt";
  GYRE_RETURN_IF_ERROR(WriteFileAtomically(text, MadeText()));
  const auto file = home.path() / "job.json";
  const Json job = {{"config", ToJson(MadeJob(bench_case, text))}, {"seed", 1}};
  GYRE_RETURN_IF_ERROR(WriteFileAtomically(file, job.dump()));
  // Again, with its data sets by their hash, as a worker's trainer gets it.
  GYRE_ASSIGN_OR_RETURN(const TrainerJob prepared,
                        ReadJobFile(file, home.path(), [](const std::string&) {}));
  GYRE_RETURN_IF_ERROR(WriteFileAtomically(file, ToJson(prepared).dump()));
  return JobStart(std::move(home), bench_case, trainer);
}

Result<double> JobStart::Seconds() const {
  const std::string home = home_.path().string();
  const double started = WallSeconds();
  GYRE_ASSIGN_OR_RETURN(const auto process,
                        PipedProcess::Start({{trainer_, "train", home + "/job.json", "--home", home,
                                              "--threads", std::to_string(threads_)},
                                             {}}));
  // Its first line is the loss before the first step.
  GYRE_RETURN_IF_ERROR(process->ReadLine().status());
  return WallSeconds() - started;
}

}  // namespace gyre
