#pragma once

// How numbers are written for people: in tables, in sentences, in progress lines. Machines get all
// digits (JSON, CSV).

#include <cstdint>
#include <string>

namespace gyre {

/// Decimals with which a value with this spread (a standard deviation, half an interval) is worth
/// writing: two significant digits of the spread, between 0 and 6. A spread that is zero or not
/// finite gives 3.
int DecimalsFor(double spread);

/// "-0.693"; "0.000", never "-0.000".
std::string FormatFixed(double value, int decimals);
/// The same with a sign in front: "+0.690".
std::string FormatSigned(double value, int decimals);

/// 1600000 -> "1.6M", 20000000 -> "20M", 999 -> "999": three significant digits.
std::string FormatCount(double count);

/// "0.0028", "0.41", "<0.0001".
std::string FormatP(double p);

/// "8s", "2m 10s", "1h 05m", "3d 4h".
std::string FormatDuration(int64_t seconds);

}  // namespace gyre
