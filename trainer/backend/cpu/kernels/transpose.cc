#include "trainer/backend/cpu/kernels/words.h"

namespace gyre::cpu::GYRE_INSTRUCTION_SET {
namespace {

// How many rows of x make a square of words.
template <typename Narrow>
constexpr int kSquareRows = static_cast<int>(kWidth * sizeof(uint32_t) / sizeof(Narrow));

template <typename Narrow>
[[gnu::always_inline]] inline void TransposeSquare(const Narrow* x, int64_t stride, Narrow* y,
                                                   int64_t y_stride) {
  Words rows[kWidth];
#pragma GCC unroll 16
  for (int i = 0; i < kWidth; ++i) rows[i] = LoadWords(x, i, stride);
  TransposeFrom<1>(rows);
#pragma GCC unroll 16
  for (int c = 0; c < kWidth; ++c) *reinterpret_cast<Words*>(y + c * y_stride) = rows[c];
}

template <typename Narrow>
void TransposePart(const Narrow* x, int64_t stride, int64_t rows, int64_t columns, Narrow* y,
                   int64_t y_stride) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) y[c * y_stride + r] = x[r * stride + c];
  }
}

template <typename Narrow>
void Transpose(const Narrow* x, int64_t stride, int64_t rows, int64_t columns, Narrow* y,
               int64_t y_stride) {
  constexpr int kRows = kSquareRows<Narrow>;
  const int64_t whole_rows = rows / kRows * kRows, whole_columns = columns / kWidth * kWidth;
  for (int64_t c = 0; c < whole_columns; c += kWidth) {
    for (int64_t r = 0; r < whole_rows; r += kRows) {
      TransposeSquare(x + r * stride + c, stride, y + c * y_stride + r, y_stride);
    }
  }
  TransposePart(x + whole_columns, stride, rows, columns - whole_columns,
                y + whole_columns * y_stride, y_stride);
  TransposePart(x + whole_rows * stride, stride, rows - whole_rows, whole_columns, y + whole_rows,
                y_stride);
}

}  // namespace

void AddTranspose(Kernels* kernels) {
  kernels->to_float.transpose = Transpose<float>;
  kernels->to_bf16.transpose = Transpose<Bf16>;
}

}  // namespace gyre::cpu::GYRE_INSTRUCTION_SET
