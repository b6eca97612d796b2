#include "access/certificates.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdlib>

#include "access/secrets.h"
#include "base/files.h"
#include "base/ids.h"

namespace gyre {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr Millis kNow{1800000000000};  // 2027-01-15
constexpr Millis kDay = std::chrono::hours(24);

class CertificatesTest : public testing::Test {
 protected:
  ~CertificatesTest() override { std::filesystem::remove_all(home_); }

  static std::string Read(const std::filesystem::path& path) { return *ReadFile(path); }

  const std::filesystem::path home_ =
      std::filesystem::path(testing::TempDir()) / ("certificates-" + NewId());
  const AccessPaths paths_{home_};
};

TEST_F(CertificatesTest, OfAnAuthorityAndAServerForTheirOwnerAlone) {
  const mode_t before = umask(0);
  const auto made = MakeCertificates(home_, {"gpu-box", "192.0.2.7", "2001:db8::7"}, false, kNow);
  umask(before);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_TRUE(made->new_authority);
  EXPECT_THAT(made->server.hosts,
              ElementsAre("localhost", "gpu-box", "127.0.0.1", "::1", "192.0.2.7", "2001:db8::7"));
  EXPECT_EQ(made->server.valid_from, kNow - kDay);
  EXPECT_EQ(made->server.valid_until, kNow + 730 * kDay);
  const auto authority = ReadCertificate(Read(paths_.authority));
  ASSERT_TRUE(authority.ok());
  EXPECT_EQ(authority->valid_until, kNow + 3650 * kDay);
  struct stat info {};
  ASSERT_EQ(stat(paths_.folder.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
  for (const auto& entry : std::filesystem::directory_iterator(paths_.folder)) {
    ASSERT_EQ(stat(entry.path().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, 0600u) << entry.path();
  }
  const auto server = ReadServerCertificate(home_, kNow);
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_EQ(server->info.hosts, made->server.hosts);
}

TEST_F(CertificatesTest, NothingIsReplacedUnaskedAndTheAuthorityStays) {
  ASSERT_TRUE(MakeCertificates(home_, {"a"}, false, kNow).ok());
  const std::string authority = Read(paths_.authority), server = Read(paths_.certificate);
  const Status again = MakeCertificates(home_, {"b"}, false, kNow).status();
  EXPECT_EQ(again.code(), StatusCode::kAlreadyExists);
  EXPECT_THAT(again.message(), HasSubstr("for localhost, a, 127.0.0.1 and ::1"));
  EXPECT_EQ(Read(paths_.certificate), server);

  const auto forced = MakeCertificates(home_, {"b"}, true, kNow + kDay);
  ASSERT_TRUE(forced.ok()) << forced.status();
  EXPECT_FALSE(forced->new_authority);
  EXPECT_EQ(Read(paths_.authority), authority);
  EXPECT_NE(Read(paths_.certificate), server);
  EXPECT_TRUE(ReadServerCertificate(home_, kNow + kDay).ok());

  // A server's certificate outlives no authority.
  const auto later = MakeCertificates(home_, {"b"}, true, kNow + 3000 * kDay);
  ASSERT_TRUE(later.ok());
  EXPECT_TRUE(later->new_authority);
}

TEST_F(CertificatesTest, HostsAreNamesOrAddresses) {
  for (const char* bad : {"", "a b", "host:7470", "https://host", "10.0.0.256", "a,IP:1.2.3.4",
                          "-a", "x.*", "a/b", "1.2.3", "[::1]"}) {
    EXPECT_EQ(MakeCertificates(home_, {bad}, false, kNow).status().code(),
              StatusCode::kInvalidArgument)
        << bad;
  }
  EXPECT_FALSE(std::filesystem::exists(paths_.folder));
  EXPECT_TRUE(MakeCertificates(home_, {"*.example.org", "a_b", "localhost"}, false, kNow).ok());
}

TEST_F(CertificatesTest, ACopiedAuthorityIsNotReplaced) {
  ASSERT_TRUE(MakeFolders(paths_.folder).ok());
  ASSERT_TRUE(MakeCertificates(home_, {"a"}, false, kNow).ok());
  std::filesystem::remove(paths_.authority_key);
  const std::string authority = Read(paths_.authority);
  const Status status = MakeCertificates(home_, {"a"}, true, kNow).status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("another machine's"));
  EXPECT_EQ(Read(paths_.authority), authority);
}

TEST_F(CertificatesTest, AServersCertificateIsCheckedBeforeItIsShown) {
  EXPECT_EQ(ReadServerCertificate(home_, kNow).status().code(), StatusCode::kNotFound);
  ASSERT_TRUE(MakeCertificates(home_, {"a"}, false, kNow).ok());
  const Status expired = ReadServerCertificate(home_, kNow + 731 * kDay).status();
  EXPECT_EQ(expired.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(expired.message(), HasSubstr("expired on 2029-01-14"));
  EXPECT_THAT(expired.message(), HasSubstr("gyre certificates create --force"));

  ASSERT_EQ(chmod(paths_.key.c_str(), 0644), 0);
  EXPECT_THAT(ReadServerCertificate(home_, kNow).status().message(), HasSubstr("chmod 600"));
  ASSERT_TRUE(WriteSecret(paths_.key, Read(paths_.authority_key)).ok());
  EXPECT_THAT(ReadServerCertificate(home_, kNow).status().message(),
              HasSubstr("do not belong together"));
  ASSERT_TRUE(WriteSecret(paths_.key, "junk").ok());
  EXPECT_EQ(ReadServerCertificate(home_, kNow).status().code(), StatusCode::kDataLoss);
  ASSERT_TRUE(WriteSecret(paths_.certificate, "junk").ok());
  EXPECT_EQ(ReadServerCertificate(home_, kNow).status().code(), StatusCode::kDataLoss);
}

TEST(ReadCertificate, OfSomethingElse) {
  EXPECT_EQ(ReadCertificate("").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ReadCertificate("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
                .status()
                .code(),
            StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace gyre
