// The CPU kernels, every table that this processor can run, against loops in double precision:
// conversions, norms, rotations, activations. What is random is seeded.

#include <algorithm>
#include <numbers>

#include "tests/trainer/backend/kernel_rows.h"

namespace gyre::cpu {
namespace {

template <typename Narrow>
using KernelsTest = NarrowKernelsTest<Narrow>;
TYPED_TEST_SUITE(KernelsTest, BothNarrow);

TYPED_TEST(KernelsTest, NarrowRoundsToNearestEven) {
  this->OnEveryInstructionSet([](const auto& kernels, const Kernels&) {
    // Every upper half, with lower halves around the tie: zeros, denormals, infinities, NaNs, the
    // largest, all.
    constexpr uint32_t kLow[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};
    std::vector<float> x;
    for (uint32_t high = 0; high <= 0xffff; ++high) {
      for (const uint32_t low : kLow) x.push_back(std::bit_cast<float>(high << 16 | low));
    }
    std::vector<TypeParam> y(x.size());
    kernels.narrow(x.data(), static_cast<int64_t>(x.size()), y.data());
    for (size_t i = 0; i < x.size(); ++i) {
      TypeParam want;
      Assign(x[i], &want);
      ASSERT_EQ(std::bit_cast<uint32_t>(Value(y[i])), std::bit_cast<uint32_t>(Value(want)))
          << std::hex << std::bit_cast<uint32_t>(x[i]);
    }
  });
}

TEST(NarrowTest, KnownRoundings) {
  for (const Kernels* kernels : SupportedKernels()) {
    const std::pair<uint32_t, uint16_t> known[] = {
        {0x3f808000, 0x3f80}, {0x3f818000, 0x3f82}, {0x3f808001, 0x3f81}, {0x7f7fffff, 0x7f80},
        {0xff800000, 0xff80}, {0x7f800001, 0x7fc0}, {0xffffffff, 0xffff}, {0x00008000, 0x0000},
        {0x00818000, 0x0082}, {0x80000000, 0x8000}, {0x807fffff, 0x8000}, {0x00000001, 0x0000}};
    for (const auto& [from, to] : known) {
      const float x = std::bit_cast<float>(from);
      Bf16 y;
      kernels->to_bf16.narrow(&x, 1, &y);
      EXPECT_EQ(y.bits, to) << kernels->instruction_set << std::hex << " " << from;
    }
  }
}

TYPED_TEST(KernelsTest, ConversionsKeepToTheirNumbers) {
  this->OnEveryInstructionSet([](const auto& kernels, const Kernels&) {
    for (const int n : kOddSizes) {
      const Guarded<float> x = RandomNumbers<float>(n), before = x;
      Guarded<TypeParam> narrow(n), want(n);
      kernels.narrow(x.data(), n, narrow.data());
      EXPECT_EQ(x, before);
      EXPECT_EQ(narrow, want.Fill([&](int64_t i) { return x[i]; }));
      Guarded<float> wide(n), back(n);
      kernels.widen(narrow.data(), n, wide.data());
      EXPECT_EQ(wide, back.Fill([&](int64_t i) { return narrow[i]; }));
    }
  });
}

// Three rows of x and what the norm is made of.
struct NormCase {
  NormCase(int columns, bool one_plus, double size)
      : n(columns),
        x(RandomNumbers<float>(kRows * n, -size, size)),
        weight(RandomNumbers<float>(n, -0.5, 0.5)),
        op{x.data(), weight.data(), kRows, n, {1e-6, one_plus}} {}
  double InverseRms(int64_t row) const {
    double squares = 0;
    for (int c = 0; c < n; ++c) squares += std::pow(x[row * n + c], 2);
    return 1 / std::sqrt(squares / n + 1e-6);
  }
  double Gain(int64_t c) const { return (op.kind.one_plus ? 1.0 : 0.0) + weight[c]; }

  static constexpr int64_t kRows = 3;
  int n;
  Guarded<float> x, weight;
  NormRows op;
};

// The variance is a sum in float, whatever x was rounded to (pytorch/pytorch#189581,
// sgl-project/sglang#27540), and so is 1 + weight (huggingface/transformers#29402).
TYPED_TEST(KernelsTest, Normalize) {
  this->OnEveryInstructionSet([](const auto& kernels, const Kernels&) {
    for (const int n : {1, 15, 16, 17, 31, 100, 257, 1024}) {
      for (const double size : {1e-12, 1.0, 1e15}) {
        const NormCase norm(n, n % 2 == 1, size);
        const Guarded<float> x = norm.x, weight = norm.weight;
        Guarded<TypeParam> y(3 * n), again(3 * n);
        Guarded<float> inverse_rms(3), dy(3 * n), dx(3 * n), d_weight(n);
        kernels.normalize(norm.op, y.data(), inverse_rms.data());
        for (int64_t i = 0; i < 3 * n; ++i) {
          const double inverse = norm.InverseRms(i / n), want = norm.Gain(i % n) * x[i] * inverse;
          ExpectNear<float>(inverse_rms[i / n], inverse, 1e-6 * inverse, "inverse_rms");
          ExpectNear<TypeParam>(y[i], want, 1e-6 * std::abs(want), "y");
        }
        kernels.normalize_backward_add(norm.op, inverse_rms.data(), dy.data(), dx.data(),
                                       d_weight.data(), again.data());
        EXPECT_EQ(again, y);
        // GeeeekExplorer/nano-vllm#170: normalizing destroyed what it read.
        EXPECT_EQ(norm.x, x);
        EXPECT_EQ(norm.weight, weight);
      }
    }
  });
}

TEST(NormalizeTest, InPlaceGivesTheSameBits) {
  for (const Kernels* kernels : SupportedKernels()) {
    const NormCase norm(100, true, 1);
    Guarded<float> y(300), inverse_rms(3), in_place = norm.x;
    kernels->to_float.normalize(norm.op, y.data(), inverse_rms.data());
    NormRows op = norm.op;
    op.x = in_place.data();
    kernels->to_float.normalize(op, in_place.data(), inverse_rms.data());
    EXPECT_EQ(in_place, y) << kernels->instruction_set;
  }
}

TEST(NormalizeTest, Backward) {
  for (const Kernels* kernels : SupportedKernels()) {
    SCOPED_TRACE(kernels->instruction_set);
    for (const int n : kOddSizes) {
      const NormCase norm(n, n % 2 == 0, 3);
      const Guarded<float> dy = RandomNumbers<float>(3 * n), start = RandomNumbers<float>(3 * n);
      Guarded<float> y(3 * n), inverse_rms(3), assigned = dy, added = start;
      Guarded<float> d_weight(n), d_weight_again(n);
      kernels->to_float.normalize(norm.op, y.data(), inverse_rms.data());
      d_weight.Fill([](int64_t c) { return c; });
      d_weight_again.Fill([](int64_t c) { return c; });
      const Guarded<float> x = norm.x;
      kernels->to_float.normalize_backward_add(norm.op, inverse_rms.data(), dy.data(), added.data(),
                                               d_weight.data(), y.data());
      kernels->normalize_backward_assign(norm.op, inverse_rms.data(), assigned.data(),
                                         assigned.data(), d_weight_again.data());
      EXPECT_EQ(d_weight, d_weight_again);
      EXPECT_EQ(norm.x, x);
      std::vector<double> d_gain(static_cast<size_t>(n));
      for (int64_t row = 0; row < 3; ++row) {
        const double inverse = norm.InverseRms(row);
        double along = 0, all = 0;
        for (int64_t c = 0, i = row * n; c < n; ++c, ++i) {
          along += dy[i] * norm.Gain(c) * x[i];
          all += std::abs(dy[i] * norm.Gain(c) * x[i]);
          d_gain[static_cast<size_t>(c)] += dy[i] * x[i] * inverse;
        }
        for (int64_t c = 0, i = row * n; c < n; ++c, ++i) {
          const double change =
              inverse * (dy[i] * norm.Gain(c) - along * inverse * inverse / n * x[i]);
          const double size = inverse * (std::abs(dy[i] * norm.Gain(c)) +
                                         all * inverse * inverse / n * std::abs(x[i]));
          ExpectNear<float>(assigned[i], change, 1e-6 * size, "dx");
          ExpectNear<float>(added[i], start[i] + change, 1e-6 * size, "dx added");
        }
      }
      for (int64_t c = 0; c < n; ++c) {
        ExpectNear<float>(d_weight[c], static_cast<double>(c) + d_gain[static_cast<size_t>(c)],
                          1e-5, "d_weight");
      }
    }
  }
}

struct RotationCase {
  const char* name;
  int head_dim;
  std::vector<PairRun> runs;
};
const RotationCase kRotations[] = {
    {"halves", 64, {{.pair = 0, .a = 0, .b = 32, .count = 32}}},
    {"odd halves", 30, {{.pair = 0, .a = 0, .b = 15, .count = 15}}},
    {"one pair", 2, {{.pair = 0, .a = 0, .b = 1, .count = 1}}},
    {"neighbours", 128, {{.pair = 0, .a = 0, .b = 1, .stride = 2, .count = 64}}},
    {"odd neighbours", 26, {{.pair = 0, .a = 0, .b = 1, .stride = 2, .count = 13}}},
    // AI-Hypercomputer/maxtext#4616: what is not to turn must come through unchanged.
    {"a quarter", 64, {{.pair = 0, .a = 0, .b = 32, .count = 8}}},
    {"the first", 100, {{.pair = 0, .a = 0, .b = 17, .count = 17}}},
    {"ends",
     48,
     {{.pair = 0, .a = 0, .b = 24, .count = 5}, {.pair = 5, .a = 14, .b = 38, .count = 10}}},
    {"some neighbours", 80, {{.pair = 3, .a = 6, .b = 7, .stride = 2, .count = 20}}},
    {"others", 40, {{.pair = 0, .a = 0, .b = 20, .stride = 3, .count = 6}}},
};

TYPED_TEST(KernelsTest, Rotation) {
  this->OnEveryInstructionSet([](const auto& kernels, const Kernels&) {
    for (const RotationCase& rotation : kRotations) {
      SCOPED_TRACE(rotation.name);
      const int dim = rotation.head_dim, width = 4 * dim, pairs = dim / 2;
      const int64_t first = 3, count = 7, length = 5, numbers = count * width;
      Guarded<float> cosine(length * pairs), sine(length * pairs);
      cosine.Fill([](int64_t i) { return std::cos(i); });
      sine.Fill([](int64_t i) { return std::sin(i); });
      const RotatedRows op{.heads = 3,
                           .head_dim = dim,
                           .width = width,
                           .first = first,
                           .count = count,
                           .length = static_cast<int>(length),
                           .runs = rotation.runs.data(),
                           .run_count = static_cast<int>(rotation.runs.size()),
                           .pairs = pairs,
                           .cosine = cosine.data(),
                           .sine = sine.data()};
      const Guarded<float> x = RandomNumbers<float>(numbers);
      const Guarded<TypeParam> dy = RandomNumbers<TypeParam>(numbers), before = dy;
      Guarded<float> destroyed = x, dx(numbers);
      Guarded<TypeParam> y(numbers);
      kernels.rotate(op, destroyed.data(), y.data());
      kernels.rotate_back(op, dy.data(), dx.data());
      EXPECT_EQ(dy, before);
      Guarded<TypeParam> in_place = dy, rounded_dx(numbers);
      kernels.rotate_back_in_place(op, in_place.data());
      kernels.narrow(dx.data(), numbers, rounded_dx.data());
      EXPECT_EQ(in_place, rounded_dx);

      std::vector<double> want(static_cast<size_t>(numbers)), want_back(want);
      for (int64_t i = 0; i < numbers; ++i) {
        TypeParam rounded;
        Assign(x[i], &rounded);
        want[static_cast<size_t>(i)] = Value(rounded);
        want_back[static_cast<size_t>(i)] = dy[i];
      }
      std::vector<bool> turns(static_cast<size_t>(numbers));
      for (int64_t token = 0; token < count; ++token) {
        for (int head = 0; head < 3; ++head) {
          for (const PairRun& run : rotation.runs) {
            for (int i = 0; i < run.count; ++i) {
              const int64_t place = (first + token) % length * pairs + run.pair + i;
              const double c = cosine[place], s = sine[place];
              const int64_t at = token * width + head * dim + i * run.stride;
              const int64_t a = at + run.a, b = at + run.b;
              const auto ia = static_cast<size_t>(a), ib = static_cast<size_t>(b);
              want[ia] = x[a] * c - x[b] * s;
              want[ib] = x[b] * c + x[a] * s;
              want_back[ia] = dy[a] * c + dy[b] * s;
              want_back[ib] = dy[b] * c - dy[a] * s;
              turns[ia] = turns[ib] = true;
            }
          }
        }
      }
      for (int64_t i = 0; i < numbers; ++i) {
        const auto at = static_cast<size_t>(i);
        if (turns[at]) {
          ExpectNear<TypeParam>(y[i], want[at], 1e-6, "y");
          ExpectNear<float>(dx[i], want_back[at], 1e-6, "dx");
        } else {
          EXPECT_EQ(y[i], want[at]) << i;
          EXPECT_EQ(dx[i], want_back[at]) << i;
        }
      }
    }
  });
}

double Active(Activation activation, double z) {
  if (activation == Activation::kSilu) return z / (1 + std::exp(-z));
  // The tanh form, which is what Gemma was trained with: huggingface/transformers#29402.
  const double u = std::sqrt(2 / std::numbers::pi) * (z + 0.044715 * z * z * z);
  return z / 2 * (u < 0 ? std::exp(u) / std::cosh(u) : 1 + std::tanh(u));
}

// From -12 to 12, and what lies far out or close to zero.
double Input(int64_t i) {
  constexpr double kSpecial[] = {0, -0.0, 1e-30, -1e-30, 1e-5, -40, 40, -90, 90, -1e4, 1e4, 1e9};
  return i % 5 == 4 ? kSpecial[i / 5 % 12] : 12 * std::sin(static_cast<double>(i) * 1.7);
}

TYPED_TEST(KernelsTest, Activations) {
  this->OnEveryInstructionSet([](const auto& kernels, const Kernels&) {
    for (const int n : kOddSizes) {
      for (const Activation activation : {Activation::kSilu, Activation::kGeluTanh}) {
        for (const bool gated : {true, false}) {
          const int64_t rows = 3, width = gated ? 2 * n : n;
          ActivatedRows op{activation, gated, rows, n};
          Guarded<TypeParam> in(rows * width), active(rows * n), again(rows * n);
          in.Fill(Input);
          Guarded<TypeParam> d_in = in, kept(rows * width);
          const Guarded<TypeParam> before = in, d = RandomNumbers<TypeParam>(rows * n);
          for (const bool far : {true, false}) {
            op.far = far;
            kept.Fill([](int64_t) { return 7.0; });
            kernels.activate(op, in.data(), kept.data(), active.data());
            EXPECT_EQ(in, before);
            EXPECT_EQ(kept, before) << far;
          }
          kernels.activate_backward(op, in.data(), d.data(), d_in.data(), again.data());
          EXPECT_EQ(in, before);
          EXPECT_EQ(again, active) << "computed again";
          Guarded<TypeParam> shared = d, d_in_shared = before;
          kernels.activate_backward(op, before.data(), shared.data(), d_in_shared.data(),
                                    shared.data());
          EXPECT_EQ(shared, active);
          EXPECT_EQ(d_in_shared, d_in);
          for (int64_t row = 0; row < rows; ++row) {
            for (int64_t c = 0; c < n; ++c) {
              const int64_t gate = row * width + c, out = row * n + c;
              const double z = in[gate], up = gated ? in[gate + n] : 1, a = Active(activation, z);
              const double step = 1e-6 * std::max(1.0, std::abs(z));
              const double slope =
                  (Active(activation, z + step) - Active(activation, z - step)) / (2 * step);
              // Below zero a is about z e^u, as exact as u is, and e^-u is at most 2^126.
              const double u = std::log(std::max(0x1p-200, a / z));
              const double error =
                  std::abs(a) * (5e-7 + 3e-7 * std::abs(u)) + std::abs(z) * 0x1p-126;
              ExpectNear<TypeParam>(active[out], a * up, error * std::abs(up), "activated");
              ExpectNear<TypeParam>(d_in[gate], d[out] * up * slope, 4e-6 * std::abs(up * d[out]),
                                    "d_gate");
              if (gated) {
                ExpectNear<TypeParam>(d_in[gate + n], d[out] * a, error * std::abs(d[out]), "d_up");
              }
            }
          }
        }
      }
    }
  });
}

}  // namespace
}  // namespace gyre::cpu
