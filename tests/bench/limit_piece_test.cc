// The limit would be no limit if its products were not those of a step.

#include "bench/limit_piece.h"

#include <gtest/gtest.h>

namespace gyre {
namespace {

using Type = dnnl::memory::data_type;

/// Small integers, so that every order of summing gives the same bits.
std::vector<float> Integers(int64_t count, int first) {
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>((first + 7 * static_cast<int>(i)) % 11 - 5);
  }
  return values;
}

PieceMatrix MatrixOf(std::vector<float>& values, int64_t rows, int64_t columns) {
  return {values.data(), Type::f32, rows, columns, columns, 1};
}

float At(const PieceMatrix& m, int64_t row, int64_t column) {
  return static_cast<const float*>(m.data)[row * m.row_stride + column * m.column_stride];
}

/// c as it should be after the piece has run; `before` is c's old value.
void ExpectProduct(const PieceProduct& p, float before, const char* what) {
  for (int64_t i = 0; i < p.c.rows; ++i) {
    for (int64_t j = 0; j < p.c.columns; ++j) {
      float sum = p.add ? before : 0;
      for (int64_t k = 0; k < p.a.columns; ++k) sum += At(p.a, i, k) * At(p.b, k, j);
      ASSERT_EQ(At(p.c, i, j), sum) << what << " at " << i << ", " << j;
    }
  }
}

class LimitPiece : public testing::Test {
 private:
  const OneDnnThreads one_{1};
};

struct Matrices {
  std::vector<float> a = Integers(64 * 48, 1), b = Integers(48 * 32, 2);
  std::vector<float> c = std::vector<float>(64 * 32, 3.0f);
};

TEST_F(LimitPiece, EveryEntryPointGivesTheSameProduct) {
  for (const bool a_transposed : {false, true}) {
    for (const bool b_transposed : {false, true}) {
      for (const bool add : {false, true}) {
        for (const auto function : {&PieceMaker::Matmul, &PieceMaker::Sgemm}) {
          Matrices m;
          const PieceProduct product = {
              a_transposed ? MatrixOf(m.a, 48, 64).Transposed() : MatrixOf(m.a, 64, 48),
              b_transposed ? MatrixOf(m.b, 32, 48).Transposed() : MatrixOf(m.b, 48, 32),
              MatrixOf(m.c, 64, 32), !a_transposed, add};
          PieceMaker maker;
          (maker.*function)(product)();
          ExpectProduct(product, 3, function == &PieceMaker::Matmul ? "matmul" : "sgemm");
        }
      }
    }
  }
}

TEST_F(LimitPiece, PartsOfMatricesStayInThem) {
  Matrices m;
  PieceMaker maker;
  const PieceMatrix c = MatrixOf(m.c, 64, 32);
  const PieceProduct part = {MatrixOf(m.a, 64, 48).Rows(16, 16),
                             MatrixOf(m.b, 48, 32).Columns(8, 16), c.Rows(16, 16).Columns(8, 16)};
  maker.Matmul(part)();
  ExpectProduct(part, 0, "a part");
  for (int64_t i = 0; i < 64; ++i) {
    for (int64_t j = 0; j < 32; ++j) {
      const bool inside = i >= 16 && i < 32 && j >= 8 && j < 24;
      if (inside) continue;
      ASSERT_EQ(At(c, i, j), 3) << i << ", " << j;
    }
  }
}

TEST_F(LimitPiece, ABatchIsSeveralProducts) {
  Matrices m;
  PieceMaker maker;
  // Four of (16, 12) by (12, 8).
  maker.BatchedMatmul({MatrixOf(m.a, 16, 12), MatrixOf(m.b, 12, 8), MatrixOf(m.c, 16, 8)}, 4)();
  for (int64_t i = 0; i < 4; ++i) {
    ExpectProduct({{m.a.data() + i * 192, Type::f32, 16, 12, 12, 1},
                   {m.b.data() + i * 96, Type::f32, 12, 8, 8, 1},
                   {m.c.data() + i * 128, Type::f32, 16, 8, 8, 1}},
                  0, "one of a batch");
  }
}

TEST_F(LimitPiece, OneDnnsOwnLinearLayer) {
  constexpr int64_t kTokens = 64, kInputs = 48, kOutputs = 32;
  std::vector<float> x = Integers(kTokens * kInputs, 1), w = Integers(kOutputs * kInputs, 2);
  std::vector<float> y(kTokens * kOutputs);
  const PieceMatrix x_matrix = MatrixOf(x, kTokens, kInputs),
                    w_matrix = MatrixOf(w, kOutputs, kInputs);
  const PieceMatrix y_matrix = MatrixOf(y, kTokens, kOutputs);
  PieceMaker maker;
  maker.LinearForward(x_matrix, w_matrix, y_matrix)();
  ExpectProduct({x_matrix, w_matrix.Transposed(), y_matrix}, 0, "forward");
  maker.LinearBackwardInput(x_matrix, w_matrix, y_matrix)();
  ExpectProduct({y_matrix, w_matrix, x_matrix}, 0, "to the inputs");
}

}  // namespace
}  // namespace gyre
