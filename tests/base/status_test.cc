#include "base/status.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace gyre {
namespace {

Result<int> Half(int n) {
  if (n % 2 != 0) return InvalidArgument("odd");
  return n / 2;
}

Result<int> Quarter(int n) {
  GYRE_ASSIGN_OR_RETURN(const int half, Half(n));
  GYRE_ASSIGN_OR_RETURN(const int quarter, Half(half));
  return quarter;
}

TEST(Status, PassesErrorsThrough) {
  EXPECT_EQ(*Quarter(8), 2);
  EXPECT_EQ(Quarter(6).status(), InvalidArgument("odd"));
  EXPECT_EQ(Quarter(6).status().WithContext("here").ToString(), "INVALID_ARGUMENT: here: odd");
  EXPECT_EQ(OkStatus().WithContext("here"), OkStatus());
}

TEST(Status, ErrnoTellsAFullDiskFromABug) {
  EXPECT_EQ(ErrnoStatus(ENOSPC, "x").code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(ErrnoStatus(ENOENT, "x").code(), StatusCode::kNotFound);
  EXPECT_EQ(ErrnoStatus(EBADF, "x").code(), StatusCode::kInternal);
}

}  // namespace
}  // namespace gyre
