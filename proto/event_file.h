#pragma once

// TensorBoard's event files as bytes: records of a length, its checksum, an Event
// (proto/tensorboard/event.proto) and its checksum. A file is the start and any number of scalars
// behind it. Pure.

#include <cstdint>
#include <string>
#include <string_view>

namespace gyre {

/// What a file begins with. `wall_time` is in seconds since 1970, as below.
std::string EventFileStart(double wall_time);

/// One value of the curve `tag`; TensorBoard has floats, and NaN and infinities are among them.
std::string ScalarEvent(double wall_time, int64_t step, std::string_view tag, double value);

}  // namespace gyre
