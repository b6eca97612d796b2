// The products of the library that this build has, of sizes with every kind of rest, against sums
// in double precision. Everything around the operands is infinite, and so is what lay in packed
// matrices before: what does not belong to a product must not get into it, not even times zero.

#include "trainer/backend/cpu/matrix_product.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>

#include "tests/trainer/backend/kernel_rows.h"
#include "trainer/backend/cpu/memory.h"

namespace gyre::cpu {
namespace {

constexpr int64_t kMargin = 70;

// A matrix in memory that is infinite beside it and in the gaps between its rows.
template <typename T>
class Stored {
 public:
  Stored(int64_t rows, int64_t columns, int64_t gap, Layout layout)
      : rows_(rows), columns_(columns), turned_(layout == Layout::kTransposed) {
    stride_ = (turned_ ? rows : columns) + gap;
    const int64_t lines = turned_ ? columns : rows;
    T infinite;
    Assign(std::numeric_limits<float>::infinity(), &infinite);
    numbers_.assign(static_cast<size_t>(lines * stride_ + 2 * kMargin), infinite);
    std::mt19937 random(static_cast<unsigned>(rows * 1000 + columns));
    std::uniform_real_distribution<float> number(-1, 1);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) Assign(number(random), &At(i, j));
    }
  }

  T& At(int64_t row, int64_t column) {
    const int64_t at = turned_ ? column * stride_ + row : row * stride_ + column;
    return numbers_[static_cast<size_t>(kMargin + at)];
  }
  float operator()(int64_t row, int64_t column) { return Value(At(row, column)); }
  T* data() { return numbers_.data() + kMargin; }
  int64_t stride() const { return stride_; }
  Matrix<T> matrix() const {
    return {numbers_.data() + kMargin, stride_, turned_ ? Layout::kTransposed : Layout::kRows};
  }
  /// How many of all numbers are finite: those of the matrix, and nobody else's.
  int64_t Finite() const {
    return std::count_if(numbers_.begin(), numbers_.end(),
                         [](T number) { return std::isfinite(Value(number)); });
  }
  int64_t size() const { return rows_ * columns_; }

 private:
  int64_t rows_, columns_, stride_ = 0;
  bool turned_;
  std::vector<T> numbers_;
};

struct Sizes {
  int64_t m, n, k;
};
std::ostream& operator<<(std::ostream& out, const Sizes& sizes) {
  return out << sizes.m << " x " << sizes.n << " x " << sizes.k;
}

template <typename In>
float Rounded(float x) {
  In y;
  Assign(x, &y);
  return Value(y);
}

// c must be before + a b up to float32's rounding of sums, and then Out's.
template <typename In, typename Out, typename B>
void ExpectProduct(const Sizes& sizes, Stored<In>* a, Stored<B>* b, Stored<Out>* before, bool add,
                   Stored<Out>* c) {
  for (int64_t i = 0; i < sizes.m; ++i) {
    for (int64_t j = 0; j < sizes.n; ++j) {
      double want = add ? (*before)(i, j) : 0, size = std::abs(want);
      for (int64_t l = 0; l < sizes.k; ++l) {
        const double term = static_cast<double>((*a)(i, l)) * Rounded<In>((*b)(l, j));
        want += term, size += std::abs(term);
      }
      const double got = (*c)(i, j);
      ASSERT_LE(std::abs(got - want), 1e-6 * size + std::abs(want) * kRounding<Out>)
          << sizes << ", at " << i << ", " << j << ": " << got << " for " << want;
    }
  }
  EXPECT_EQ(c->Finite(), c->size()) << sizes << ": written beside";
}

template <typename In, typename Out>
void CheckPlain(const Sizes& sizes, Layout a_layout, Layout b_layout, int64_t gap, bool add) {
  Stored<In> a(sizes.m, sizes.k, gap, a_layout), b(sizes.k, sizes.n, gap, b_layout);
  Stored<Out> c(sizes.m, sizes.n, gap, Layout::kRows), before = c;
  const MatrixProduct<In, Out> product{.m = sizes.m,
                                       .n = sizes.n,
                                       .k = sizes.k,
                                       .a = a.matrix(),
                                       .b = b.matrix(),
                                       .c = c.data(),
                                       .c_stride = c.stride(),
                                       .add = add};
  ASSERT_TRUE(Multiply(product)) << sizes;
  ExpectProduct(sizes, &a, &b, &before, add, &c);
}

// Memory for a packed matrix as an operation finds it.
template <typename In>
class PackedMemory {
 public:
  explicit PackedMemory(int64_t count)
      : count_(count), memory_(AllocateZeros((count + kMargin) * int64_t{sizeof(In)}), FreeZeros) {
    Spoil();
  }
  void Spoil() {
    for (int64_t i = 0; i < count_ + kMargin; ++i) {
      Assign(std::numeric_limits<float>::infinity(), data() + i);
    }
  }
  In* data() { return static_cast<In*>(memory_.get()); }
  bool UntouchedBeyond() {
    return std::all_of(data() + count_, data() + count_ + kMargin,
                       [](In number) { return std::isinf(Value(number)); });
  }

 private:
  int64_t count_;
  std::unique_ptr<void, void (*)(void*)> memory_;
};

template <typename In, typename Out>
void CheckPacked(const Sizes& sizes, Layout source, int parts, bool add) {
  Stored<In> a(sizes.m, sizes.k, 0, Layout::kRows);
  Stored<float> b(sizes.k, sizes.n, 0, source);
  Stored<Out> c(sizes.m, sizes.n, 0, Layout::kRows), before = c;
  PackedMemory<In> packed(PackedSize(sizes.k, sizes.n));
  const PackedMatrix<In> form{sizes.k, sizes.n, b.matrix(), packed.data()};
  for (int again = 0; again < 2; ++again) {  // at an address that is known by then
    packed.Spoil();
    c = before;
    for (int part = 0; part < parts; ++part) ASSERT_TRUE(Pack(form, part, parts)) << sizes;
    const MatrixProduct<In, Out> product{.m = sizes.m,
                                         .n = sizes.n,
                                         .k = sizes.k,
                                         .a = a.matrix(),
                                         .b = {packed.data(), 0, Layout::kPacked},
                                         .c = c.data(),
                                         .c_stride = c.stride(),
                                         .add = add};
    ASSERT_TRUE(Multiply(product)) << sizes;
    ExpectProduct(sizes, &a, &b, &before, add, &c);
    EXPECT_TRUE(packed.UntouchedBeyond()) << sizes;
  }
}

std::vector<Sizes> ManySizes() {
  constexpr int64_t kSizes[] = {1, 2, 3, 15, 16, 17, 31, 33, 48, 63, 64, 65, 100, 129};
  std::vector<Sizes> all;
  std::mt19937 random(5);
  const auto any = [&] { return kSizes[random() % std::size(kSizes)]; };
  for (const int64_t size : kSizes) {
    all.push_back({any(), any(), size});
    all.push_back({any(), size, any()});
    all.push_back({size, any(), any()});
  }
  return all;
}

TEST(MatrixProduct, OfAnyLayout) {
  int turn = 0;
  for (const Sizes& sizes : ManySizes()) {
    for (int kind = 0; kind < 4; ++kind, ++turn) {
      const Layout a = (kind & 1) != 0 ? Layout::kTransposed : Layout::kRows;
      const Layout b = (kind & 2) != 0 ? Layout::kTransposed : Layout::kRows;
      const int64_t gap = turn % 3;
      CheckPlain<float, float>(sizes, a, b, gap, turn % 2 == 0);
      if (!SupportsBf16()) continue;
      CheckPlain<Bf16, float>(sizes, a, b, gap, turn % 2 == 0);
      CheckPlain<Bf16, Bf16>(sizes, a, b, gap, false);
    }
  }
}

TEST(MatrixProduct, OfPackedMatrices) {
  int turn = 0;
  for (const Sizes& sizes : ManySizes()) {
    for (const Layout source : {Layout::kRows, Layout::kTransposed}) {
      const int parts = turn++ % 4 + 1;
      CheckPacked<float, float>(sizes, source, parts, turn % 3 == 0);
      if (!SupportsBf16()) continue;
      CheckPacked<Bf16, float>(sizes, source, parts, turn % 3 == 0);
      CheckPacked<Bf16, Bf16>(sizes, source, parts, false);
    }
  }
}

}  // namespace
}  // namespace gyre::cpu
