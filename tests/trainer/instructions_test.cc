// One job on each instruction set that this machine has. Vectors of other lengths add in another
// order, and some instructions round once where others round twice: results agree within rounding,
// and those of one set are the same bits each time.

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>

#include "base/log.h"
#include "tests/trainer/data/temporary_home.h"
#include "tests/trainer/made_job.h"
#include "trainer/backend/create_backend.h"

namespace gyre {
namespace {

// The names of GYRE_INSTRUCTIONS.
constexpr const char* kSets[] = {"amx", "avx512_bf16", "avx512", "avx2", "baseline"};

struct Curve {
  std::string weights;  // the hash of the last ones
  std::map<std::string, double> points;
};

class InstructionsTest : public TemporaryHomeTest {
 protected:
  TrainerJob Job(const std::string& precision) {
    TrainerJob job = MakeJob(home_);
    ModelConfig& model = job.config.model;
    model.num_hidden_layers = 2;
    model.hidden_size = 48;  // no whole number of the longest vectors
    model.intermediate_size = 40;
    model.num_attention_heads = 3;
    model.num_key_value_heads = 3;
    model.head_dim = 16;
    job.config.train.tokens = 12 * 64;
    job.config.train.precision = precision;
    return job;
  }
  /// In a process of its own, because the variable holds for a process. Nothing: this machine has
  /// not got that set.
  std::optional<Curve> Run(const TrainerJob& job, const std::string& set);
};

std::optional<Curve> InstructionsTest::Run(const TrainerJob& job, const std::string& set) {
  const std::filesystem::path file = Path("curve");
  const pid_t child = fork();
  if (child == 0) {
    setenv("GYRE_INSTRUCTIONS", set.c_str(), 1);
    SetLogLevel(LogLevel::kError);
    RecordingObserver observer;
    TrainControl control;
    const auto outcome = Train(job, {home_, "", 2}, observer, control);
    if (!outcome.ok()) {
      _exit(outcome.status().message().find("GYRE_INSTRUCTIONS") != std::string::npos ? 2 : 1);
    }
    std::ofstream out(file);
    out << observer.checkpoints.back().hash << "\n" << std::hexfloat;
    for (const PointValue& point : observer.points) {
      out << point.metric << "@" << point.step << " " << point.value << "\n";
    }
    out.close();
    _exit(out.good() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 2) return std::nullopt;
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << set;
  Curve curve;
  std::ifstream in(file);
  in >> curve.weights;
  for (std::string name, value; in >> name >> value;) {
    curve.points[name] = std::strtod(value.c_str(), nullptr);
  }
  return curve;
}

// In a process of its own, as above. A build without oneDNN has no products of bfloat16.
bool HasBf16(const std::string& set) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("GYRE_INSTRUCTIONS", set.c_str(), 1);
    _exit(UsablePrecision(kDefaultBackend, Precision::kBf16) == Precision::kBf16 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

double Distance(const Curve& a, const Curve& b) {
  EXPECT_EQ(a.points.size(), b.points.size());
  double largest = 0;
  for (const auto& [name, value] : a.points) {
    largest = std::max(largest, std::abs(b.points.at(name) - value) / std::abs(value));
  }
  return largest;
}

TEST_F(InstructionsTest, InFloat32TheyAgreeWithinRounding) {
  const TrainerJob job = Job("float32");
  const auto baseline = Run(job, "baseline");
  ASSERT_TRUE(baseline.has_value());
  EXPECT_GT(baseline->points.size(), 12u);
  for (const char* set : kSets) {
    const auto one = Run(job, set), two = Run(job, set);
    if (!one) continue;
    EXPECT_EQ(one->weights, two->weights) << set;
    EXPECT_LT(Distance(*one, *baseline), 2e-5) << set;
  }
}

// A machine without instructions for bfloat16 trains in float32 instead. Those with them round the
// same numbers to bfloat16 and differ in the order of float32 sums, which now and then tips such a
// rounding; from float32 they are as far as bfloat16 is, on a curve that falls by nine tenths in
// six steps.
TEST_F(InstructionsTest, InBf16TheyAgreeWithinItsRounding) {
  std::optional<Curve> first;
  for (const char* set : kSets) {
    const bool may = std::string(set) == "amx" || std::string(set) == "avx512_bf16";
    const bool has_them = may && HasBf16(set);
    const auto one = Run(Job("bf16"), set), two = Run(Job("bf16"), set);
    if (!one) continue;
    EXPECT_EQ(one->weights, two->weights) << set;
    const auto float32 = Run(Job("float32"), set);
    if (!has_them) {
      EXPECT_EQ(one->points, float32->points) << set;
      continue;
    }
    EXPECT_LT(Distance(*one, *float32), 5e-2) << set;
    EXPECT_NE(one->points, float32->points) << set;
    if (!first) first = one;
    EXPECT_LT(Distance(*one, *first), 5e-3) << set;
  }
}

TEST_F(InstructionsTest, AnUnknownSetIsRefused) {
  EXPECT_FALSE(Run(Job("float32"), "avx1024").has_value());
}

}  // namespace
}  // namespace gyre
