#include <cstdio>
#include <memory>
#include <string>

#include "access/secrets.h"
#include "base/files.h"
#include "cli/command.h"
#include "cli/exit_code.h"

namespace gyre {
namespace {

int CreateTokenFile(bool force) {
  if (Status created = CreateToken(GyreHome(), force); !created.ok()) return Fail(created);
  const AccessPaths paths(GyreHome());
  std::printf(
      "made %s\n\n"
      "Whoever has it may use the coordinator. A machine with a worker needs this file and\n"
      "certificates/ca.pem in its GYRE_HOME, and nothing else from here:\n\n"
      "  ssh HOST mkdir -p -m 700 .local/share/gyre/certificates\n"
      "  scp -p %s HOST:.local/share/gyre/token\n"
      "  scp -p %s HOST:.local/share/gyre/certificates/ca.pem\n",
      paths.token.c_str(), paths.token.c_str(), paths.authority.c_str());
  return kExitDone;
}

int ShowToken() {
  const Result<std::string> token = ReadToken(GyreHome());
  if (token.status().code() == StatusCode::kNotFound) {
    return Fail(NotFound("there is no token, " + TokenPlace(GyreHome()).string() +
                         "; make one with 'gyre token create' on the coordinator's machine"));
  }
  if (!token.ok()) return Fail(token.status());
  std::printf("%s\n", token->c_str());
  return kExitDone;
}

}  // namespace

void AddTokenCommand(CLI::App& app, int* exit_code) {
  auto* command = app.add_subcommand("token", "The secret that lets other machines in");
  command->require_subcommand(1);
  command->footer(
      "A coordinator that listens beyond its own machine takes no call without it. It is in "
      "GYRE_HOME/token; a client\n"
      "may have it in GYRE_TOKEN_FILE or GYRE_TOKEN instead.\n\n"
      "Example:\n  gyre token create");

  auto* create = command->add_subcommand("create", "Make one, in GYRE_HOME/token");
  create->footer("Example:\n  gyre token create");
  const auto force = std::make_shared<bool>(false);
  create->add_flag("--force", *force, "Replace one that is there");
  create->callback([force, exit_code] { *exit_code = CreateTokenFile(*force); });

  auto* show = command->add_subcommand("show", "Print it, to carry it to another machine");
  show->footer("Example:\n  gyre token show | ssh HOST 'umask 077; cat > .local/share/gyre/token'");
  show->callback([exit_code] { *exit_code = ShowToken(); });
}

}  // namespace gyre
