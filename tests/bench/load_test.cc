// gyre-load against a coordinator, on a small scale: what it counts is what the database has. How
// fast is for bench/orchestration/run to say.

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "base/log.h"
#include "coordinator/server.h"
#include "gyre/v1/sweep_service.grpc.pb.h"
#include "tests/coordinator/harness.h"
#include "tests/trainer/data/made_dataset.h"

namespace gyre {
namespace {

constexpr int kSeeds = 40;

Result<std::vector<SweepSpec>> ParseName(const std::string& yaml, const SpecOptions& options) {
  SweepSpec spec;
  spec.name = yaml;
  Variant variant;
  variant.name = "a";
  variant.config.train.tokens = 1000;
  variant.train_dataset = options.dataset_hashes("request").value_or("");
  spec.variants = {variant};
  spec.baselines = {-1};
  for (int seed = 0; seed < kSeeds; ++seed) {
    spec.seeds.push_back(static_cast<uint64_t>(seed));
    spec.jobs.push_back(
        {0, static_cast<uint64_t>(seed), yaml + "-" + std::to_string(seed), std::nullopt});
  }
  return std::vector<SweepSpec>{spec};
}

class LoadTest : public testing::Test {
 protected:
  LoadTest() {
    SetLogLevel(LogLevel::kError);
    ServerOptions options;
    options.listen = "127.0.0.1:0";
    options.database = folder_ / "results.db";
    options.home = folder_ / "home";
    options.parser = ParseName;
    dataset_ = MakeDataset(options.home, {"text"});
    auto server = CoordinatorServer::Start(options);
    EXPECT_TRUE(server.ok()) << server.status();
    if (server.ok()) server_ = *std::move(server);
  }
  ~LoadTest() override {
    server_.reset();
    std::filesystem::remove_all(folder_);
  }

  void SetUp() override {
    ASSERT_NE(server_, nullptr);
    const auto stub = v1::SweepService::NewStub(
        grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials()));
    v1::SubmitRequest request;
    request.set_yaml("s");
    (*request.mutable_datasets())["request"].set_hash(dataset_);
    v1::SubmitResponse response;
    grpc::ClientContext context;
    context.set_deadline(gpr_time_from_seconds(20, GPR_TIMESPAN));
    const grpc::Status status = stub->Submit(&context, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
  }

  /// What it prints; null if it fails or says no JSON.
  nlohmann::json Load(const std::string& arguments) {
    const std::string command =
        std::string(GYRE_LOAD) + " --coordinator " + server_->address() + " " + arguments;
    FILE* const pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return nullptr;
    std::string said;
    std::array<char, 4096> part;
    while (const size_t size = std::fread(part.data(), 1, part.size(), pipe)) {
      said.append(part.data(), size);
    }
    if (pclose(pipe) != 0) return nullptr;
    auto json = nlohmann::json::parse(said, nullptr, false);
    return json.is_discarded() ? nlohmann::json() : json;
  }
  int64_t Count(const std::string& what) {
    auto database = Database::OpenReadOnly(folder_ / "results.db");
    if (!database.ok()) return -1;
    auto rows = database->Prepare("SELECT count(*) FROM " + what);
    return rows.ok() && rows->Step().ok() ? rows->Int(0) : -1;
  }

  const std::filesystem::path folder_ = FreshFolder("load");
  std::string dataset_;
  std::unique_ptr<CoordinatorServer> server_;
};

TEST_F(LoadTest, JobsWithPointsAreInTheDatabaseOnce) {
  const nlohmann::json result = Load(
      "--workers 3 --slots 2 --batches 2 --points 10 --watch --jobs " + std::to_string(kSeeds));
  ASSERT_TRUE(result.is_object());
  EXPECT_EQ(result["jobs"], kSeeds);
  EXPECT_EQ(result["points"], kSeeds * 20);
  for (const char* call : {"register_ms", "report_ms", "finish_ms"}) {
    EXPECT_TRUE(result.contains(call)) << call;
  }
  EXPECT_EQ(Count("jobs WHERE state = 'SUCCEEDED'"), kSeeds);
  EXPECT_EQ(Count("points"), kSeeds * 20);
  EXPECT_EQ(Count("attempts"), kSeeds);  // none was leased twice
}

TEST_F(LoadTest, WorkersThatHoldTheirJobsLetThemGoAtTheEnd) {
  const nlohmann::json result = Load("--workers 5 --slots 1 --job-ms 10 --seconds 0.3");
  ASSERT_TRUE(result.is_object());
  EXPECT_EQ(Count("attempts WHERE state = 'SUCCEEDED'"), Count("jobs WHERE state = 'SUCCEEDED'"));
  EXPECT_GE(Count("jobs WHERE state = 'SUCCEEDED'"), result["jobs"].get<int64_t>());
}

TEST_F(LoadTest, OptionsThatMakeNoSenseAreRefused) { EXPECT_TRUE(Load("--workers 0").is_null()); }

}  // namespace
}  // namespace gyre
