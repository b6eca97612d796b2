// A test of the tests: each planted fault is caught by the build that must catch it, with words
// that say what is wrong; what is clean is called clean by every build.

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace gyre::planted {
namespace {

struct Outcome {
  int status = -1;
  std::string output;
};

/// `build`: "" (plain), "_address" or "_thread".
Outcome RunFault(const std::string& build, const std::string& fault, const std::string& options) {
  const std::string command = "GYRE_EMULATION=devices=4,order=random" + options +
                              " TSAN_OPTIONS=halt_on_error=1 ASAN_OPTIONS=detect_leaks=0 " +
                              GYRE_PLANTED_FAULTS + build + " " + fault + " 2>&1";
  Outcome outcome;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return outcome;
  std::array<char, 4096> part;
  while (const size_t bytes = fread(part.data(), 1, part.size(), pipe)) {
    outcome.output.append(part.data(), bytes);
  }
  outcome.status = pclose(pipe);
  return outcome;
}

struct Caught {
  std::string build, fault, by;
  std::string options = "";
};

class Planted : public testing::TestWithParam<Caught> {};

TEST_P(Planted, IsCaught) {
  const auto& [build, fault, by, options] = GetParam();
  const Outcome outcome = RunFault(build, fault, options);
  EXPECT_NE(outcome.status, 0);
  EXPECT_NE(outcome.output.find(by), std::string::npos) << outcome.output;
}

void PrintTo(const Caught& caught, std::ostream* out) { *out << caught.fault << caught.build; }

std::string NameOf(const testing::TestParamInfo<Caught>& info) {
  return info.param.fault + info.param.build;
}

INSTANTIATE_TEST_SUITE_P(Kernels, Planted,
                         testing::ValuesIn(std::vector<Caught>{
                             {"_address", "shared_array_overrun", "use-after-poison"},
                             {"_address", "dynamic_shared_overrun", "use-after-poison"},
                             {"", "memory_not_written", "wrong result"},
                             {"", "shared_not_written", "wrong result"},
                             {"_thread", "no_syncwarp", "data race"},
                             {"_thread", "no_syncthreads", "data race"},
                             {"", "no_syncthreads", "wrong result"},
                             {"_thread", "blocks_race", "data race"},
                             {"", "return_before_syncthreads", "returned"},
                             {"", "two_syncthreads", "are at different __syncthreads"},
                             {"", "divergent_shuffle", "wait for each other"},
                             {"_address", "misaligned_vector", "misaligned address"},
                             {"", "async_copy_no_wait", "wrong result"},
                             {"_thread", "async_copy_no_barrier", "data race"},
                             {"", "misaligned_load_matrix", "ldmatrix: misaligned row"},
                         }),
                         NameOf);

INSTANTIATE_TEST_SUITE_P(Host, Planted,
                         testing::ValuesIn(std::vector<Caught>{
                             {"", "host_pointer", "isn't within an allocation of device memory"},
                             {"", "host_pointer_in_struct", "holds a pointer to host memory"},
                             {"_address", "host_reads_device_memory", "use-after-poison"},
                             {"", "freed", "isn't within an allocation of device memory"},
                             {"", "freed_in_stream", "isn't within an allocation of device memory",
                              ",lazy"},
                             {"_address", "freed_too_early", "heap-use-after-free", ",lazy"},
                             {"", "of_another_device", "is memory of device 0, used on device 1"},
                             {"", "shared_without_asking", "wrong result"},
                             {"", "too_many_threads", "cudaErrorInvalidConfiguration"},
                             {"", "read_back_no_wait", "wrong result", ",lazy"},
                             {"", "source_reused", "wrong result", ",lazy"},
                             {"", "two_streams_no_event", "wrong result", ",lazy"},
                             {"", "product_beyond_memory", "A of cublasLtMatmul isn't within"},
                             {"", "product_misaligned", "A isn't aligned to 256 bytes"},
                             {"", "product_of_another_shape", "was chosen for another product"},
                             {"", "product_workspace", "the workspace is smaller"},
                             {"", "product_on_its_operand", "D overlaps A or B"},
                             {"", "ranks_disagree", "ranks disagree about a collective"},
                             {"", "ranks_on_one_device", "wrong result"},
                         }),
                         NameOf);

TEST(Clean, IsClean) {
  for (const char* build : {"", "_address", "_thread"}) {
    for (const char* name :
         {"shared_array", "dynamic_shared", "memory_written", "shared_written", "syncwarp",
          "syncthreads", "atomics", "vector", "async_copy", "load_matrix", "struct",
          "freed_after_wait", "most_threads", "read_back", "source_reused_after_wait",
          "two_streams", "product", "ranks"}) {
      const Outcome outcome = RunFault(build, name, ",lazy");
      EXPECT_EQ(outcome.status, 0) << build << " " << name << "\n" << outcome.output;
    }
  }
}

}  // namespace
}  // namespace gyre::planted
