#include "access/secrets.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdlib>
#include <set>

#include "base/files.h"
#include "base/ids.h"

namespace gyre {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class SecretsTest : public testing::Test {
 protected:
  SecretsTest() {
    unsetenv("GYRE_TOKEN");
    unsetenv("GYRE_TOKEN_FILE");
    unsetenv("GYRE_CA_FILE");
  }
  ~SecretsTest() override { std::filesystem::remove_all(home_); }

  static unsigned ModeOf(const std::filesystem::path& path) {
    struct stat info {};
    EXPECT_EQ(stat(path.c_str(), &info), 0) << path;
    return info.st_mode & 07777;
  }

  const std::filesystem::path home_ =
      std::filesystem::path(testing::TempDir()) / ("secrets-" + NewId());
};

TEST_F(SecretsTest, ATokenIs32RandomBytesForItsOwnerAlone) {
  const mode_t before = umask(0);
  ASSERT_TRUE(CreateToken(home_, false).ok());
  umask(before);
  EXPECT_EQ(ModeOf(home_ / "token"), 0600u);
  const auto token = ReadToken(home_);
  ASSERT_TRUE(token.ok()) << token.status();
  EXPECT_EQ(token->size(), 43u);
  std::set<std::string> different;
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(CreateToken(home_, true).ok());
    different.insert(*ReadToken(home_));
  }
  EXPECT_EQ(different.size(), 50u);
}

TEST_F(SecretsTest, ATokenIsNotReplacedUnasked) {
  ASSERT_TRUE(CreateToken(home_, false).ok());
  const std::string first = *ReadToken(home_);
  const Status again = CreateToken(home_, false);
  EXPECT_EQ(again.code(), StatusCode::kAlreadyExists);
  EXPECT_THAT(again.message(), AllOf(HasSubstr("--force"), Not(HasSubstr(first))));
  EXPECT_EQ(*ReadToken(home_), first);
}

TEST_F(SecretsTest, WhatOthersCanReadIsRefusedWithTheCommandThatMendsIt) {
  ASSERT_TRUE(CreateToken(home_, false).ok());
  const std::string token = *ReadToken(home_);
  const std::string path = (home_ / "token").string();
  for (const mode_t mode : {0640, 0604, 0660, 0622, 0777}) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    const Status status = ReadToken(home_).status();
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << mode;
    EXPECT_THAT(status.message(), AllOf(HasSubstr("chmod 600 " + path), Not(HasSubstr(token))));
  }
  ASSERT_EQ(chmod(path.c_str(), 0400), 0);
  EXPECT_EQ(*ReadToken(home_), token);
}

TEST_F(SecretsTest, TheEnvironmentGoesFirst) {
  EXPECT_EQ(ReadToken(home_).status().code(), StatusCode::kNotFound);
  ASSERT_TRUE(CreateToken(home_, false).ok());
  const std::string other(40, 'x'), third(40, 'y');
  const std::filesystem::path file = home_ / "elsewhere";
  ASSERT_TRUE(WriteSecret(file, other + "\r\n").ok());
  setenv("GYRE_TOKEN_FILE", file.c_str(), 1);
  EXPECT_EQ(*ReadToken(home_), other);
  EXPECT_EQ(TokenPlace(home_), file);
  setenv("GYRE_TOKEN", third.c_str(), 1);
  EXPECT_EQ(*ReadToken(home_), third);
  EXPECT_EQ(TokenPlace(home_), "GYRE_TOKEN");
  EXPECT_EQ(AuthorityPlace(home_), home_ / "certificates" / "ca.pem");
  setenv("GYRE_CA_FILE", "/somewhere/ca.pem", 1);
  EXPECT_EQ(AuthorityPlace(home_), "/somewhere/ca.pem");
}

TEST_F(SecretsTest, WhatIsNoTokenIsNotRepeated) {
  ASSERT_TRUE(MakeFolders(home_).ok());
  for (const std::string& bad :
       {std::string(), std::string("password123"), std::string(40, ' '),
        std::string(40, 'x') + "\ny", std::string(600, 'x'), std::string(40, '\0')}) {
    ASSERT_TRUE(WriteSecret(home_ / "token", bad).ok());
    const Status status = ReadToken(home_).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr("holds no token"));
    EXPECT_TRUE(bad.empty() || status.message().find(bad) == std::string::npos);
  }
}

TEST_F(SecretsTest, SameSecret) {
  EXPECT_TRUE(SameSecret("", ""));
  EXPECT_TRUE(SameSecret("abc", "abc"));
  EXPECT_FALSE(SameSecret("abc", "abd"));
  EXPECT_FALSE(SameSecret("abc", "abcd"));
  EXPECT_FALSE(SameSecret("abc", ""));
}

}  // namespace
}  // namespace gyre
