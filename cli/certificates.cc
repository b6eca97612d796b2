#include "access/certificates.h"

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "access/secrets.h"
#include "base/files.h"
#include "cli/command.h"
#include "cli/exit_code.h"

namespace gyre {
namespace {

struct Arguments {
  std::vector<std::string> hosts;
  bool force = false;
};

int RunCreate(const Arguments& arguments) {
  const auto made =
      MakeCertificates(GyreHome(), arguments.hosts, arguments.force, Clock::Real().WallTime());
  if (!made.ok()) return Fail(made.status());
  const AccessPaths paths(GyreHome());
  std::printf("made %s, for %s, valid until %s\n", paths.certificate.c_str(),
              ListHosts(made->server.hosts).c_str(),
              FormatUtc(made->server.valid_until).substr(0, 10).c_str());
  if (made->new_authority) {
    std::printf("by a new authority: other machines need %s (and the token, 'gyre token create')\n",
                paths.authority.c_str());
  } else {
    std::printf("by the authority of before: other machines need nothing new\n");
  }
  return kExitDone;
}

}  // namespace

void AddCertificatesCommand(CLI::App& app, int* exit_code) {
  auto* command = app.add_subcommand("certificates", "What a coordinator shows to other machines");
  command->require_subcommand(1);
  command->footer("Example:\n  gyre certificates create --host gpu-box.example.org");

  auto* create =
      command->add_subcommand("create", "Make them, in GYRE_HOME/certificates, on its machine");
  create->footer(
      "The first time this makes an authority, too; machines that are to use the coordinator need "
      "its certificate,\n"
      "certificates/ca.pem. Later ones, for other hosts or in place of an expired one, are by the "
      "same authority.\n\n"
      "Example:\n  gyre certificates create --host gpu-box.example.org --host 192.168.1.5");
  auto arguments = std::make_shared<Arguments>();
  create
      ->add_option("--host", arguments->hosts,
                   "A name or address under which other machines reach this one; may be repeated")
      ->required();
  create->add_flag("--force", arguments->force, "Replace the certificate that is there");
  create->callback([arguments, exit_code] { *exit_code = RunCreate(*arguments); });
}

}  // namespace gyre
