// Products on tiles against sums in double precision, for every way in which their operands may lie
// in memory and every kind of rest. What is random is seeded.

#include "tests/trainer/backend/packed_tiles.h"

namespace gyre::cpu {
namespace {

constexpr int64_t kGap = 7;  // between rows

struct Sizes {
  int64_t m, n, k;
};
constexpr Sizes kSizes[] = {{1, 16, 32},
                            {15, 48, 64},
                            {16, 32, 96},
                            {17, 80, 32},
                            {45, 64, 64},
                            {100, 112, 160},
                            {40, 48, 544},
                            // By columns.
                            {32, 80, 64},
                            {64, 144, 544},
                            {96, 288, 416}};

// A matrix (rows, columns) whose rows, or columns, lie in memory with gaps of infinities.
template <typename T>
struct Stored {
  Stored(int64_t row_count, int64_t column_count, bool by_columns)
      : rows(row_count),
        columns(column_count),
        turned(by_columns),
        stride((turned ? rows : columns) + kGap),
        numbers((turned ? columns : rows) * stride) {
    std::mt19937 random(static_cast<unsigned>(rows * 1000 + columns));
    std::uniform_real_distribution<double> number(-1, 1);
    numbers.Fill([&](int64_t i) {
      return i % stride < (turned ? rows : columns) ? number(random) : INFINITY;
    });
  }
  double At(int64_t row, int64_t column) const {
    Bf16 rounded;
    Assign(numbers[turned ? column * stride + row : row * stride + column], &rounded);
    return Value(rounded);
  }
  int64_t rows, columns;
  bool turned;
  int64_t stride;
  Guarded<T> numbers;
};

template <typename A, typename B, typename Out>
void ExpectProduct(const TileProduct<Out>& p, const Stored<A>& a, const Stored<B>& b,
                   const Guarded<float>& addend, const Guarded<Out>& c) {
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = 0; j < p.c_stride; ++j) {
      const int64_t at = i * p.c_stride + j;
      if (j >= p.n) {
        ASSERT_TRUE(c.Untouched(at) || c[at] == addend[at]) << i << ", " << j;
        continue;
      }
      double want = p.addend == nullptr ? 0 : addend[at];
      for (int64_t l = 0; l < p.k; ++l) want += a.At(i, l) * b.At(l, j);
      ASSERT_NO_FATAL_FAILURE(ExpectNear<Out>(c[at], want, 1e-5, "product")) << i << ", " << j;
    }
  }
}

// Of a, whose rows lie in memory, and b, packed.
template <typename B>
void CheckPackedB(const TileKernels& tiles, const Sizes& s, const Stored<B>& b,
                  const Guarded<Bf16>& packed) {
  const Stored<Bf16> a(s.m, s.k, false);
  const int64_t stride = s.n + kGap;
  const Guarded<float> addend = RandomNumbers<float>(s.m * stride);
  Guarded<float> c(s.m * stride), sum(s.m * stride), in_place = addend;
  Guarded<Bf16> narrow(s.m * stride);
  TileProduct<float> p{.m = s.m, .n = s.n, .k = s.k, .a = a.numbers.data(), .a_stride = a.stride};
  p.b = packed.data(), p.c = c.data(), p.c_stride = stride;
  tiles.multiply(p);
  ExpectProduct(p, a, b, addend, c);
  p.addend = addend.data(), p.c = sum.data();
  tiles.multiply(p);
  ExpectProduct(p, a, b, addend, sum);
  p.addend = p.c = in_place.data();
  tiles.multiply(p);
  ExpectProduct(p, a, b, addend, in_place);
  TileProduct<Bf16> to_narrow{.m = s.m, .n = s.n, .k = s.k, .a = p.a, .a_stride = p.a_stride};
  to_narrow.b = packed.data(), to_narrow.c = narrow.data(), to_narrow.c_stride = stride;
  tiles.multiply_to_narrow(to_narrow);
  ExpectProduct(to_narrow, a, b, addend, narrow);
}

TEST_F(TilesTest, RowsAndColumnsOfBothTypes) {
  for (const Sizes& s : kSizes) {
    SCOPED_TRACE(testing::Message() << s.m << " x " << s.n << " x " << s.k);
    const Stored<float> rows(s.k, s.n, false), columns(s.k, s.n, true);
    const Stored<Bf16> narrow_rows(s.k, s.n, false), narrow_columns(s.k, s.n, true);
    Guarded<Bf16> packed = Unwritten(s.k * s.n);
    tiles_.pack_float_rows(rows.numbers.data(), rows.stride, s.k, s.n, 0, s.k, packed.data());
    CheckPackedB(tiles_, s, rows, packed);
    packed = Unwritten(s.k * s.n);
    tiles_.pack_float_columns(columns.numbers.data(), columns.stride, s.n, s.k, packed.data());
    CheckPackedB(tiles_, s, columns, packed);
    packed = Unwritten(s.k * s.n);
    for (int64_t at = 0; at < s.k; at += kTileDepth) {
      tiles_.pack_rows(narrow_rows.numbers.data() + at * narrow_rows.stride, narrow_rows.stride,
                       kTileDepth, s.n, at, s.k, packed.data());
    }
    CheckPackedB(tiles_, s, narrow_rows, packed);
    packed = Unwritten(s.k * s.n);
    tiles_.pack_columns(narrow_columns.numbers.data(), narrow_columns.stride, s.n, s.k,
                        packed.data());
    CheckPackedB(tiles_, s, narrow_columns, packed);
  }
}

// Some rows of b, and a packed from its columns, of which the last rows may be no one's.
TEST_F(TilesTest, PartsAndATransposedLeftSide) {
  for (const int64_t m : {16, 41, 48, 80}) {
    constexpr int64_t kN = 64, kK = 64, kDepth = 160, kAt = 96;
    const int64_t padded = (m + kLanes - 1) / kLanes * kLanes;
    const Stored<Bf16> a(padded, kK, true), whole(kDepth, kN, false);
    Guarded<Bf16> left = Unwritten(padded * kK), right = Unwritten(kDepth * kN);
    for (int64_t at = 0; at < kK; at += kTileDepth) {
      tiles_.pack_transposed(a.numbers.data() + at * a.stride, a.stride, kTileDepth, padded, at, kK,
                             left.data());
    }
    tiles_.pack_rows(whole.numbers.data(), whole.stride, kDepth, kN, 0, kDepth, right.data());
    Guarded<float> c(m * kN);
    TileProduct<float> p{.m = m, .n = kN, .k = kK, .a = left.data()};
    p.b = right.data() + kAt * kTileStrip, p.b_depth = kDepth, p.c = c.data(), p.c_stride = kN;
    tiles_.multiply(p);
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < kN; ++j) {
        double want = 0;
        for (int64_t l = 0; l < kK; ++l) want += a.At(i, l) * whole.At(kAt + l, j);
        ExpectNear<float>(c[i * kN + j], want, 1e-5, "product");
      }
    }
  }
}

double Activate(Activation activation, double z) {
  if (activation == Activation::kSilu) return z / (1 + std::exp(-z));
  return z / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (z + 0.044715 * z * z * z)));
}
double Slope(Activation activation, double z) {
  constexpr double kStep = 1e-5;
  return (Activate(activation, z + kStep) - Activate(activation, z - kStep)) / (2 * kStep);
}

double Sum(const Stored<Bf16>& a, const Stored<Bf16>& b, int64_t row, int64_t column) {
  double sum = 0;
  for (int64_t l = 0; l < a.columns; ++l) sum += a.At(row, l) * b.At(l, column);
  return sum;
}

struct ActivatedSizes {
  int64_t rows, k, n;
};

class ActivatedTilesTest : public TilesTest {
 protected:
  // Calls check(sizes, kind of activation) for all there are.
  template <typename Check>
  void ForAll(const Check& check) {
    for (const ActivatedSizes& s :
         {ActivatedSizes{32, 32, 32}, {96, 160, 64}, {64, 64, 96}, {128, 544, 32}}) {
      for (const Activation activation : {Activation::kSilu, Activation::kGeluTanh}) {
        for (const bool gated : {false, true}) {
          for (const bool far : {false, true}) {
            SCOPED_TRACE(testing::Message() << s.rows << " x " << s.k << " x " << s.n << ", gated "
                                            << gated << ", far " << far);
            check(s, ActivatedRows{activation, gated, s.rows, static_cast<int>(s.n), far});
          }
        }
      }
    }
  }
  // Rows without gaps, of numbers of a moderate size.
  static Guarded<Bf16> Dense(const Stored<Bf16>& x) {
    return Guarded<Bf16>(x.rows * x.columns).Fill([&](int64_t i) {
      return x.At(i / x.columns, i % x.columns);
    });
  }
  Guarded<Bf16> PackedB(const Stored<Bf16>& b) const {
    Guarded<Bf16> packed = Unwritten(b.rows * b.columns);
    tiles_.pack_rows(b.numbers.data(), b.stride, b.rows, b.columns, 0, b.rows, packed.data());
    return packed;
  }
};

TEST_F(ActivatedTilesTest, Forward) {
  ForAll([&](const ActivatedSizes& s, const ActivatedRows& rows) {
    const int64_t width = rows.gated ? 2 * s.n : s.n;
    const Stored<Bf16> a(s.rows, s.k, false), b(s.k, width, false);
    const Guarded<Bf16> left = Dense(a), right = PackedB(b);
    Guarded<Bf16> kept = Unwritten(s.rows * width + kLanes), active = Unwritten(s.rows * s.n);
    // Whole registers go past the caches only where they are aligned.
    const auto misaligned = reinterpret_cast<uintptr_t>(kept.data()) / sizeof(Bf16) % kLanes;
    const int64_t first = (kLanes - static_cast<int64_t>(misaligned)) % kLanes;
    tiles_.activate({.activated = rows,
                     .k = s.k,
                     .a = left.data(),
                     .b = right.data(),
                     .kept = kept.data() + first,
                     .activations = active.data()});
    for (int64_t i = 0; i < s.rows; ++i) {
      for (int64_t j = 0; j < width; ++j) {
        ExpectNear<Bf16>(kept[first + i * width + j], Sum(a, b, i, j), 1e-5, "kept");
      }
      for (int64_t j = 0; j < s.n; ++j) {
        const double z = kept[first + i * width + j];
        const double u = rows.gated ? kept[first + i * width + s.n + j] : 1;
        ExpectNear<Bf16>(AtA(active, i, j, s.n), Activate(rows.activation, z) * u,
                         2e-6 * std::max(1.0, std::abs(z * u)), "activated");
      }
    }
  });
}

// The rows are the last ones of a block of them.
TEST_F(ActivatedTilesTest, Backward) {
  ForAll([&](const ActivatedSizes& s, const ActivatedRows& rows) {
    const int64_t width = rows.gated ? 2 * s.n : s.n, at = kTileDepth, depth = at + s.rows;
    const Stored<Bf16> a(s.rows, s.k, false), b(s.k, s.n, false);
    const Guarded<Bf16> left = Dense(a), right = PackedB(b),
                        kept = RandomNumbers<Bf16>(s.rows * width);
    Guarded<Bf16> d_gate_up = Unwritten(s.rows * width), transposed = Unwritten(depth * width);
    Guarded<Bf16> active = Unwritten(depth * s.n);
    tiles_.activate_backward({.activated = rows,
                              .k = s.k,
                              .a = left.data(),
                              .b = right.data(),
                              .kept = kept.data(),
                              .d_gate_up = d_gate_up.data(),
                              .at = at,
                              .depth = depth,
                              .d_transposed = transposed.data(),
                              .activations = active.data()});
    for (int64_t i = 0; i < s.rows; ++i) {
      for (int64_t j = 0; j < s.n; ++j) {
        const double z = kept[i * width + j], u = rows.gated ? kept[i * width + s.n + j] : 1;
        const double d = Sum(a, b, i, j), activated = Activate(rows.activation, z);
        const double near = 1e-5 * std::max(1.0, std::abs(d));
        ExpectNear<Bf16>(AtB(active, at + i, j, depth), activated * u, near, "activated");
        ExpectNear<Bf16>(AtA(d_gate_up, i, j, width), d * u * Slope(rows.activation, z), 4 * near,
                         "d_gate");
        if (rows.gated) {
          ExpectNear<Bf16>(AtA(d_gate_up, i, s.n + j, width), d * activated, 4 * near, "d_up");
        }
      }
      for (int64_t j = 0; j < width; ++j) {
        ASSERT_EQ(AtA(transposed, j, at + i, depth), AtA(d_gate_up, i, j, width));
      }
    }
    for (int64_t i = 0; i < at; ++i) {
      for (int64_t j = 0; j < width; ++j) ASSERT_TRUE(std::isnan(AtA(transposed, j, i, depth)));
      for (int64_t j = 0; j < s.n; ++j) ASSERT_TRUE(std::isnan(AtB(active, i, j, depth)));
    }
  });
}

}  // namespace
}  // namespace gyre::cpu
