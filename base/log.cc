#include "base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

namespace gyre {
namespace {

spdlog::logger& Logger() {
  static const auto logger = [] {
    auto made = spdlog::stderr_color_mt("gyre");
    made->set_pattern("%Y-%m-%dT%H:%M:%S.%e %^%L%$ %v");
    return made;
  }();
  return *logger;
}

}  // namespace

void SetLogLevel(LogLevel level) {
  static constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::debug, spdlog::level::info,
                                                          spdlog::level::warn, spdlog::level::err,
                                                          spdlog::level::off};
  Logger().set_level(kLevels[static_cast<int>(level)]);
}
void LogDebug(std::string_view message) { Logger().debug("{}", message); }
void LogInfo(std::string_view message) { Logger().info("{}", message); }
void LogWarning(std::string_view message) { Logger().warn("{}", message); }
void LogError(std::string_view message) { Logger().error("{}", message); }

}  // namespace gyre
