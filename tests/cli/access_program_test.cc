// What a user does to let another machine in, with the built program: what it says, and that the
// token is said nowhere but where it was asked for.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <map>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/ids.h"
#include "tests/cli/gyre_process.h"

namespace gyre {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class AccessProgramTest : public ::testing::Test {
 protected:
  AccessProgramTest() { std::filesystem::create_directories(home_); }
  ~AccessProgramTest() override { std::filesystem::remove_all(home_); }

  GyreOptions Options(std::vector<std::string> more = {}) const {
    more.push_back("GYRE_HOME=" + home_.string());
    return {.environment = std::move(more)};
  }
  GyreResult Run(const std::vector<std::string>& arguments, std::vector<std::string> more = {}) {
    return RunGyre(arguments, Options(std::move(more)));
  }

  const std::filesystem::path home_ =
      std::filesystem::temp_directory_path() / ("gyre-access-" + NewId());
};

TEST_F(AccessProgramTest, TheTokenIsSaidNowhere) {
  const GyreResult refused = Run({"coordinator", "--listen", "0.0.0.0:0"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.error,
              AllOf(HasSubstr("gyre certificates create --host"), HasSubstr("gyre token create")));

  const GyreResult certificates = Run({"certificates", "create", "--host", "gpu-box"});
  ASSERT_EQ(certificates.exit_code, 0) << certificates.error;
  EXPECT_THAT(certificates.output, HasSubstr("ca.pem"));
  const GyreResult created = Run({"token", "create"});
  ASSERT_EQ(created.exit_code, 0) << created.error;
  EXPECT_THAT(created.output, AllOf(HasSubstr("ca.pem"), HasSubstr("scp")));
  std::string token = Run({"token", "show"}).output;
  ASSERT_EQ(token.size(), 44u);
  token.pop_back();
  EXPECT_THAT(created.output + created.error, Not(HasSubstr(token)));
  EXPECT_EQ(Run({"token", "create"}).exit_code, 1);
  EXPECT_EQ(Run({"certificates", "create", "--host", "gpu-box"}).exit_code, 1);
  EXPECT_EQ(Run({"certificates", "create", "--host", "a:1", "--force"}).exit_code, 2);

  GyreProcess coordinator({"coordinator", "--listen", "0.0.0.0:0"}, Options());
  ASSERT_TRUE(coordinator.WaitForError("coordinator listens on 0.0.0.0:", Millis(20000)))
      << coordinator.error();
  const std::string said = coordinator.error();
  const size_t port = said.find("listens on 0.0.0.0:") + 19;
  const std::string address = "127.0.0.1:" + said.substr(port, said.find(' ', port) - port);
  const GyreResult status = Run({"status", "--coordinator", address});
  EXPECT_EQ(status.exit_code, 0) << status.error;

  const std::string wrong(43, 'x');
  for (const char* command : {"status", "worker"}) {
    const GyreResult stranger = Run({command, "--coordinator", address}, {"GYRE_TOKEN=" + wrong});
    EXPECT_EQ(stranger.exit_code, 2) << command;
    EXPECT_THAT(stranger.error, AllOf(HasSubstr("the token is not this coordinator's"),
                                      Not(HasSubstr(wrong)), Not(HasSubstr(token))))
        << command;
  }
  const GyreResult doctor = Run({"doctor", "--coordinator", address});
  EXPECT_EQ(doctor.exit_code, 0) << doctor.output;
  EXPECT_THAT(doctor.output, AllOf(HasSubstr("answers, version"), HasSubstr("valid until"),
                                   Not(HasSubstr(token))));
  // microsoft/nni#2108, microsoft/nni#4651: a port in use is an error, and no second coordinator half gets the workers.
  const GyreResult second = Run({"coordinator", "--listen", address, "--db", "other.db"});
  EXPECT_EQ(second.exit_code, 1);
  EXPECT_THAT(second.error, HasSubstr(address + ": the port is in use"));

  coordinator.Signal(SIGTERM);
  EXPECT_EQ(coordinator.Wait(), 0);
  EXPECT_THAT(coordinator.error() + coordinator.output(), Not(HasSubstr(token)));
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(home_)) {
    if (!entry.is_regular_file() || entry.path() == home_ / "token") continue;
    ++files;
    EXPECT_THAT(*ReadFile(entry.path()), AllOf(Not(HasSubstr(token)), Not(HasSubstr(wrong))))
        << entry.path();
  }
  EXPECT_GE(files, 5);
}

TEST_F(AccessProgramTest, TheDoctorHasOneFixAThing) {
  ASSERT_EQ(Run({"token", "create"}).exit_code, 0);
  std::filesystem::permissions(home_ / "token", std::filesystem::perms::others_read,
                               std::filesystem::perm_options::add);
  const GyreResult result = Run({"doctor", "--format", "json"});
  EXPECT_EQ(result.exit_code, 1);
  const auto json = nlohmann::json::parse(result.output, nullptr, false);
  ASSERT_TRUE(json.is_object()) << result.output;
  EXPECT_EQ(json["ok"], false);
  std::map<std::string, nlohmann::json> checks;
  for (const auto& check : json["checks"]) checks[check["name"]] = check;
  EXPECT_EQ(checks["token"]["state"], "missing");
  EXPECT_EQ(checks["token"]["fix"], "chmod 600 " + (home_ / "token").string());
  EXPECT_EQ(checks["trainer"]["state"], "ok") << checks["trainer"];
  EXPECT_EQ(checks["home"]["state"], "ok");
  EXPECT_EQ(checks["coordinator"]["state"], "note");  // none was named
  EXPECT_EQ(checks["authority"]["state"], "note");

  const GyreResult named = Run({"doctor", "--coordinator", "127.0.0.1:1"});
  EXPECT_EQ(named.exit_code, 1);
  EXPECT_THAT(named.output, AllOf(HasSubstr("missing  coordinator"), HasSubstr("-> ")));

  const GyreResult two =
      Run({"doctor"}, {"GYRE_HOME=/proc/nowhere", "GYRE_INSTRUCTIONS=mmx", "PATH=/nowhere"});
  EXPECT_EQ(two.exit_code, 1);
  EXPECT_THAT(two.output, AllOf(HasSubstr("missing  home"),
                                HasSubstr("trains nothing with GYRE_INSTRUCTIONS=mmx"),
                                HasSubstr("apt-get install gnuplot-nox")));
}

}  // namespace
}  // namespace gyre
