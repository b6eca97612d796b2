#pragma once

// What a scalar of YAML says: numbers with their suffixes, times, sizes. What YAML 1.1 and 1.2
// readers take for different things (no, 1:30, 010) is refused with advice instead of guessed.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gyre {

/// Why a scalar cannot be read: "must be a number, and is 'x'" (what follows a path), and advice.
struct Complaint {
  std::string message, help;
};

template <typename T>
struct Reading {
  std::optional<T> value;
  Complaint complaint;  // where there is no value
};

struct Number {
  double value = 0;              // finite
  std::optional<int64_t> whole;  // where the number is whole and fits
  bool percent = false;          // written with '%'; the value is divided by 100
};

/// 1e-3, 20M, 16Ki, 1_000, 75%. `wanted` is what the complaint says is wanted: "a number".
Reading<Number> ReadNumber(std::string_view text, std::string_view wanted);

/// 90s, 10m, 2h, 500ms, 1d, in milliseconds.
Reading<int64_t> ReadTime(std::string_view text);

/// 4GiB, 512MB, in bytes.
Reading<int64_t> ReadSize(std::string_view text);

/// true or false.
Reading<bool> ReadBoolean(std::string_view text, bool quoted);

/// Advice where a plain scalar stands for a name or text but YAML 1.1 readers make something else
/// of it: a boolean, sixty-based or octal number.
std::optional<Complaint> SurpriseInYaml11(std::string_view text);

/// The shortest decimal that reads back as the value: 0.001, 500000, 1e-5.
std::string FormatNumber(double value);

}  // namespace gyre
