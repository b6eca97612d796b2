// A square of as many rows as a register has lanes is transposed in registers: log2(lanes) rounds
// of exchanges between pairs of rows. Bf16 goes in pairs of rows, each pair a 32-bit lane.

#include "trainer/backend/cpu/kernels/kernels.h"

namespace gyre::cpu::GYRE_INSTRUCTION_SET {
namespace {

#if defined(__AVX512F__)
constexpr int kWidth = 16;
#elif defined(__AVX2__)
constexpr int kWidth = 8;
#else
constexpr int kWidth = 4;
#endif
static_assert(kLanes % kWidth == 0);

typedef uint32_t Words __attribute__((vector_size(kWidth * 4), aligned(2), may_alias));
typedef uint16_t Halves __attribute__((vector_size(kWidth * 2), aligned(2), may_alias));

// Lane c of round kDistance: from the first row where bit kDistance of c is 0 (or, for the second
// result, the lane kDistance further), else from the second row.
template <int kDistance>
struct Exchange {
  Words low, high;
  constexpr Exchange() : low(), high() {
    for (int c = 0; c < kWidth; ++c) {
      const bool second = (c & kDistance) != 0;
      low[c] = static_cast<uint32_t>(second ? kWidth + c - kDistance : c);
      high[c] = static_cast<uint32_t>(second ? kWidth + c : c + kDistance);
    }
  }
};

template <int kDistance>
[[gnu::always_inline]] inline void Round(Words* rows) {
  if constexpr (kDistance < kWidth) {
    const Exchange<kDistance> exchange;
#pragma GCC unroll 16
    for (int i = 0; i < kWidth; ++i) {
      if ((i & kDistance) != 0) continue;
      const Words a = rows[i], b = rows[i + kDistance];
      rows[i] = __builtin_shuffle(a, b, exchange.low);
      rows[i + kDistance] = __builtin_shuffle(a, b, exchange.high);
    }
    Round<kDistance * 2>(rows);
  }
}

// How many rows of x make a square of words.
template <typename Narrow>
constexpr int kSquareRows = static_cast<int>(kWidth * sizeof(uint32_t) / sizeof(Narrow));

[[gnu::always_inline]] inline Words LoadRow(const float* x, int row, int64_t stride) {
  return *reinterpret_cast<const Words*>(x + row * stride);
}
[[gnu::always_inline]] inline Words LoadRow(const Bf16* x, int row, int64_t stride) {
  const Halves even = *reinterpret_cast<const Halves*>(x + 2 * row * stride);
  const Halves odd = *reinterpret_cast<const Halves*>(x + (2 * row + 1) * stride);
  return __builtin_convertvector(even, Words) | (__builtin_convertvector(odd, Words) << 16);
}

template <typename Narrow>
[[gnu::always_inline]] inline void TransposeSquare(const Narrow* x, int64_t stride, Narrow* y,
                                                   int64_t y_stride) {
  Words rows[kWidth];
#pragma GCC unroll 16
  for (int i = 0; i < kWidth; ++i) rows[i] = LoadRow(x, i, stride);
  Round<1>(rows);
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
