// The GPUs of a machine, made up by a plug-in of the tests: what the trainer says of them, and that
// a job runs on one.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cstdio>
#include <sstream>

#include "base/files.h"
#include "tests/trainer/data/temporary_home.h"
#include "tests/trainer/made_job.h"
#include "trainer/backend/create_backend.h"
#include "trainer/commands.h"

namespace gyre {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct Said {
  int code = -1;
  std::string text;
};

/// The command in a process of its own, since a plug-in is loaded once in each.
Said Devices(const std::string& arguments, const std::string& environment,
             const std::string& plugin = GYRE_MADE_CUDA) {
  // NCCL is where it was built; here it never is.
  const std::string command = environment + " GYRE_CUDA_PLUGIN='" + plugin +
                              "' GYRE_NCCL_PLUGIN=/nowhere.so " GYRE_TRAINER " devices " +
                              arguments + " 2>&1";
  Said said;
  FILE* pipe = popen(command.c_str(), "r");
  char bytes[4096];
  while (const size_t got = fread(bytes, 1, sizeof bytes, pipe)) said.text.append(bytes, got);
  said.code = WEXITSTATUS(pclose(pipe));
  return said;
}

TEST(DevicesCommand, EachGpuWithWhatItHas) {
  const Said said = Devices("", "GYRE_MADE_CUDA=2");
  EXPECT_EQ(said.code, 0);
  EXPECT_EQ(said.text,
            "cuda:0  Made GPU, compute capability 9.0, 7.5 of 8.0 GiB free\n"
            "cuda:1  Made GPU, compute capability 9.0, 7.5 of 8.0 GiB free\n"
            "CUDA 13.0, reference 1; the driver is for CUDA 13.1\n");
  const Json json = Json::parse(Devices("--format json", "GYRE_MADE_CUDA=2").text);
  EXPECT_EQ(json["gpus"][1], Json({{"name", "cuda:1"},
                                   {"model", "Made GPU"},
                                   {"compute_capability", "9.0"},
                                   {"memory_bytes", int64_t{8} << 30},
                                   {"free_bytes", int64_t{8000000000}},
                                   {"unusable", ""}}));
  EXPECT_EQ(json["absent"], "");
  EXPECT_EQ(json["driver"], "13.1");
  EXPECT_EQ(json["runtime"], "13.0");
  EXPECT_EQ(json["libraries"], "reference 1");
}

TEST(DevicesCommand, AGpuThatIsTooOldIsListedWithTheReason) {
  EXPECT_THAT(Devices("", "GYRE_MADE_CUDA=old").text,
              HasSubstr("cuda:0  cannot be used: it has compute capability 7.0\n"));
}

TEST(DevicesCommand, WhyThereIsNone) {
  EXPECT_EQ(Devices("", "GYRE_MADE_CUDA='no driver'").text,
            "no GPU: no NVIDIA driver is installed\nCUDA 13.0, reference 1\n");
  EXPECT_EQ(Devices("", "GYRE_MADE_CUDA=0").text,
            "no GPU: the NVIDIA driver finds no GPU\n"
            "CUDA 13.0, reference 1; the driver is for CUDA 13.1\n");
  EXPECT_THAT(Devices("", "", "/nowhere/libgyre_cuda.so").text,
              HasSubstr("no GPU: no libgyre_cuda.so in this build (there is no /nowhere/"));
  EXPECT_THAT(Devices("", "", GYRE_NEEDS_ABSENT).text,
              HasSubstr("no GPU: CUDA's libraries are missing: libmade_absent.so: "));
  EXPECT_THAT(Devices("", "", "/etc/passwd").text,
              HasSubstr("no GPU: libgyre_cuda.so cannot be loaded: /etc/passwd"));
  EXPECT_THAT(Devices("", "", GYRE_MADE_CUDA_OF_ANOTHER_VERSION).text,
              HasSubstr("belongs to another version of Gyre"));
  const Said json = Devices("--format=json", "", "/nowhere/x");
  EXPECT_EQ(json.code, 0);
  EXPECT_EQ(Json::parse(json.text)["gpus"], Json::array());
}

TEST(DevicesCommand, OtherArgumentsAreAnError) {
  for (const char* arguments : {"cuda:0", "--format yaml", "--backend cuda", "--format"}) {
    EXPECT_EQ(Devices(arguments, "").code, 2) << arguments;
  }
  EXPECT_THAT(Devices("--help", "").text, HasSubstr("example: gyre-trainer devices"));
}

class TrainOnGpuTest : public TemporaryHomeTest {
 protected:
  TrainOnGpuTest() {
    setenv("GYRE_CUDA_PLUGIN", GYRE_MADE_CUDA, 1);
    setenv("GYRE_MADE_CUDA", "2", 1);
    unsetenv("GYRE_MADE_CUDA_FREE");
    unsetenv("GYRE_MADE_CUDA_BROKEN");
  }
  class Observer : public RecordingObserver {
   public:
    void OnStart(const Json& said) override { fingerprint = said; }
    Json fingerprint;
  };
  Status TrainOn(const std::string& backend, Observer* observer) {
    TrainControl control;
    return Train(MakeJob(home_), {home_, "", 1, backend}, *observer, control).status();
  }
};

TEST_F(TrainOnGpuTest, AJobRunsThereAndSaysSo) {
  Observer gpu, reference;
  ASSERT_EQ(TrainOn("cuda:1", &gpu), OkStatus());
  ASSERT_EQ(TrainOn("reference", &reference), OkStatus());
  EXPECT_EQ(gpu.fingerprint["backend"], "cuda");
  EXPECT_EQ(gpu.fingerprint["instruction_set"], "Made GPU 9.0");
  EXPECT_EQ(gpu.fingerprint["libraries"], "reference 1");
  EXPECT_EQ(gpu.Curve("train/loss"), reference.Curve("train/loss"));
}

TEST_F(TrainOnGpuTest, AJobThatAGpuHasNoRoomForFailsWithTheNumbers) {
  setenv("GYRE_MADE_CUDA_FREE", "1000000", 1);
  Observer observer;
  const Status full = TrainOn("cuda:0", &observer);
  EXPECT_EQ(full.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(full.message(),
              AllOf(HasSubstr("the job needs about "), HasSubstr("and cuda:0 has 1 MiB"),
                    HasSubstr("train.micro_batch")));
}

TEST_F(TrainOnGpuTest, AGpuThatIsGoneIsTheJobsError) {
  setenv("GYRE_MADE_CUDA_BROKEN", "1", 1);
  Observer observer;
  EXPECT_EQ(TrainOn("cuda:1", &observer), Unavailable("cuda:1 has fallen off the bus"));
  EXPECT_EQ(TrainOn("cuda:2", &observer), Unavailable("there is no cuda:2"));
  EXPECT_EQ(TrainOn("cuda:0", &observer), OkStatus());
}

}  // namespace
}  // namespace gyre
