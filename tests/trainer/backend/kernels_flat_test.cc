// The CPU kernels over flat arrays, and plain matrix products. See kernels_test.cc.

#include <algorithm>

#include "tests/trainer/backend/kernel_rows.h"
#include "trainer/backend/cpu/matrix_product.h"

namespace gyre::cpu {
namespace {

TEST(FlatKernelsTest, AdamWInAnyDivision) {
  for (const Kernels* kernels : SupportedKernels()) {
    SCOPED_TRACE(kernels->instruction_set);
    for (const int n : kOddSizes) {
      const Guarded<float> g = RandomNumbers<float>(n), m = RandomNumbers<float>(n, -1, 1);
      const Guarded<float> v = RandomNumbers<float>(n, 0, 0.5), w = RandomNumbers<float>(n, -3, 3);
      AdamWRows op{.count = n,
                   .gradient_scale = 0.5f,
                   .beta1 = 0.9f,
                   .beta2 = 0.95f,
                   .rest1 = 0.1f,
                   .rest2 = 0.05f,
                   .correction1 = 2,
                   .correction2 = 3,
                   .lr = 0.01f,
                   .epsilon = 1e-8f,
                   .weight_decay = 0.1f,
                   .gradient = g.data()};
      const auto run = [&](int64_t from, int64_t to, Guarded<float>* weight, Guarded<float>* first,
                           Guarded<float>* second) {
        AdamWRows part = op;
        part.count = to - from;
        part.gradient += from;
        part.weight = weight->data() + from;
        part.first_moment = first->data() + from;
        part.second_moment = second->data() + from;
        kernels->adamw(part);
      };
      Guarded<float> weight = w, first = m, second = v, weight2 = w, first2 = m, second2 = v;
      run(0, n, &weight, &first, &second);
      run(0, n / 3, &weight2, &first2, &second2);
      run(n / 3, n, &weight2, &first2, &second2);
      EXPECT_EQ(weight, weight2);
      EXPECT_EQ(first, first2);
      EXPECT_EQ(second, second2);
      for (int64_t i = 0; i < n; ++i) {
        const double gradient = 0.5 * g[i], new_m = 0.9 * m[i] + 0.1 * gradient;
        const double new_v = 0.95 * v[i] + 0.05 * gradient * gradient;
        ExpectNear<float>(first[i], new_m, 1e-6, "m");
        ExpectNear<float>(second[i], new_v, 1e-6, "v");
        const double step = 0.01 * (new_m * 2 / (std::sqrt(new_v * 3) + 1e-8) + 0.1 * w[i]);
        ExpectNear<float>(weight[i], w[i] - step, 1e-6, "weight");
      }
    }
  }
}

TEST(FlatKernelsTest, ScaledSums) {
  for (const Kernels* kernels : SupportedKernels()) {
    SCOPED_TRACE(kernels->instruction_set);
    for (const int n : kOddSizes) {
      const Guarded<float> x = RandomNumbers<float>(n), start = RandomNumbers<float>(n, 3, 4);
      Guarded<float> assigned(n), added = start;
      kernels->assign_scaled(x.data(), 1.7f, n, assigned.data());
      kernels->add_scaled(x.data(), 1.7f, n, added.data());
      double squares = 0;
      for (int64_t i = 0; i < n; ++i) {
        const double scaled = static_cast<double>(1.7f) * x[i];
        squares += std::pow(static_cast<double>(x[i]), 2);
        ExpectNear<float>(assigned[i], scaled, 0, "assigned");
        ExpectNear<float>(added[i], start[i] + scaled, 1e-6, "added");
      }
      EXPECT_NEAR(kernels->sum_of_squares(x.data(), n), squares, 1e-13 * squares);
    }
  }
}

TEST(FlatKernelsTest, PlainProductsOfEveryOrientation) {
  for (const Kernels* kernels : SupportedKernels()) {
    SCOPED_TRACE(kernels->instruction_set);
    for (int orientation = 0; orientation < 8; ++orientation) {
      const bool a_turned = orientation & 1, b_turned = orientation & 2, add = orientation & 4;
      const int64_t m = 5, n = 31, k = 17, a_stride = 40, b_stride = 50, c_stride = 33;
      const Guarded<float> a = RandomNumbers<float>(40 * 17), b = RandomNumbers<float>(50 * 31);
      Guarded<float> c(m * c_stride);
      const Guarded<float> start = RandomNumbers<float>(m * c_stride);
      for (int64_t i = 0; i < m; ++i) {
        std::copy_n(start.data() + i * c_stride, n, c.data() + i * c_stride);
      }
      kernels->multiply({m,
                         n,
                         k,
                         {a.data(), a_stride, a_turned ? Layout::kTransposed : Layout::kRows},
                         {b.data(), b_stride, b_turned ? Layout::kTransposed : Layout::kRows},
                         c.data(),
                         c_stride,
                         add});
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < c_stride; ++j) {
          if (j >= n) {
            EXPECT_TRUE(c.Untouched(i * c_stride + j));
            continue;
          }
          double want = add ? start[i * c_stride + j] : 0;
          for (int64_t l = 0; l < k; ++l) {
            want += static_cast<double>(a[a_turned ? l * a_stride + i : i * a_stride + l]) *
                    b[b_turned ? j * b_stride + l : l * b_stride + j];
          }
          ExpectNear<float>(c[i * c_stride + j], want, 1e-5, "c");
        }
      }
    }
  }
}

}  // namespace
}  // namespace gyre::cpu
