// The way to a coordinator.

#include "access/certificates.h"
#include "access/secrets.h"
#include "access/tls_probe.h"
#include "base/clock.h"
#include "base/files.h"
#include "cli/doctor_checks.h"
#include "cli/exit_code.h"
#include "cli/sweep_client.h"

namespace gyre {
namespace {

constexpr int kSoonDays = 30;
constexpr size_t kMaxPemBytes = 1 << 20;

Finding ExamineCoordinator(const DoctorOptions& options) {
  Finding finding{"coordinator", FindingState::kOk, "", ""};
  const auto fail = [&](const Status& status) {
    finding.state = options.needs_coordinator ? FindingState::kMissing : FindingState::kNote;
    finding.found = status.message();
    // What refuses says itself what to do.
    if (ExitCodeFor(status) == kExitUnreachable)
      finding.fix = "start it with 'gyre coordinator', or name another with --coordinator";
    if (status.code() == StatusCode::kUnavailable && !options.needs_coordinator) {
      finding.found = "none at " + options.coordinator + " ('gyre run' brings its own)";
    }
    return finding;
  };
  const auto client = SweepClient::Connect(options.coordinator);
  if (!client.ok()) return fail(client.status());
  const auto cluster = (*client)->GetCluster();
  if (!cluster.ok()) return fail(cluster.status());
  finding.found = options.coordinator + " answers, version " + cluster->version + ", " +
                  std::to_string(cluster->workers.size()) +
                  (cluster->workers.size() == 1 ? " worker" : " workers");
  if (cluster->version != GYRE_VERSION) {
    finding.state = FindingState::kNote;
    finding.fix = "it is better to run one version everywhere; this one is " GYRE_VERSION;
  }
  return finding;
}

Finding ExamineToken(const DoctorOptions& options) {
  const std::string place = TokenPlace(options.home).string();
  const auto token = ReadToken(options.home);
  if (token.ok()) return {"token", FindingState::kOk, place, ""};
  if (token.status().code() == StatusCode::kNotFound) {
    return {"token", FindingState::kNote, "none (only a coordinator on this machine can be used)",
            "on the coordinator's machine 'gyre token create'; elsewhere copy the file"};
  }
  return {"token", FindingState::kMissing, token.status().message(),
          token.status().code() == StatusCode::kFailedPrecondition
              ? "chmod 600 " + place
              : "copy the file 'token' anew from the coordinator's machine"};
}

/// What a certificate's time says; the name is the file's.
Finding JudgeTime(const std::string& name, const std::string& place, const CertificateInfo& info,
                  const std::string& fix) {
  const Millis now = Clock::Real().WallTime();
  const std::string until = FormatUtc(info.valid_until).substr(0, 10);
  Finding finding{name, FindingState::kOk, place + ", valid until " + until, ""};
  if (info.valid_until <= now) {
    finding = {name, FindingState::kMissing, place + " expired on " + until, fix};
  } else if (info.valid_until < now + std::chrono::hours(24 * kSoonDays)) {
    finding.state = FindingState::kNote;
    finding.fix = fix;
  }
  return finding;
}

Finding ExamineAuthority(const DoctorOptions& options) {
  const std::filesystem::path place = AuthorityPlace(options.home);
  const auto pem = ReadFile(place, kMaxPemBytes);
  if (pem.status().code() == StatusCode::kNotFound) {
    return {"authority", FindingState::kNote,
            "none (only a coordinator on this machine can be used)",
            "on the coordinator's machine 'gyre certificates create --host NAME'; elsewhere copy "
            "certificates/ca.pem"};
  }
  const auto info = pem.ok() ? ReadCertificate(*pem) : pem.status();
  if (!info.ok()) {
    return {"authority", FindingState::kMissing, place.string() + ": " + info.status().message(),
            "copy certificates/ca.pem anew from the coordinator's machine"};
  }
  return JudgeTime("authority", place.string(), *info,
                   "make new certificates on the coordinator's machine, and copy ca.pem");
}

/// Nothing on a machine that is not to be a coordinator.
std::vector<Finding> ExamineServerCertificate(const DoctorOptions& options) {
  const AccessPaths paths(options.home);
  const std::string fix = "gyre certificates create --force --host NAME";
  const auto server = ReadServerCertificate(options.home, Millis(0));
  if (server.status().code() == StatusCode::kNotFound) return {};
  if (!server.ok()) {
    const bool open = CheckOnlyOwnerReads(paths.key).code() == StatusCode::kFailedPrecondition;
    return {{"certificate", FindingState::kMissing, server.status().message(),
             open ? "chmod 600 " + paths.key.string() : fix}};
  }
  return {JudgeTime("certificate",
                    paths.certificate.string() + " for " + ListHosts(server->info.hosts),
                    server->info, fix)};
}

}  // namespace

std::vector<Finding> ExamineAccess(const DoctorOptions& options) {
  std::vector<Finding> findings = {ExamineCoordinator(options), ExamineToken(options),
                                   ExamineAuthority(options)};
  for (Finding& finding : ExamineServerCertificate(options)) findings.push_back(std::move(finding));
  return findings;
}

}  // namespace gyre
