#pragma once

// The log, on stderr. Lines are for people who debug; nothing reads them back. Thread-safe.

#include <string_view>

namespace gyre {

enum class LogLevel { kDebug, kInfo, kWarning, kError, kOff };

void SetLogLevel(LogLevel level);  // default: kInfo
void LogDebug(std::string_view message);
void LogInfo(std::string_view message);
void LogWarning(std::string_view message);
void LogError(std::string_view message);

}  // namespace gyre
