#include "analysis/linear.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "trainer/backend/cpu/matrix_product.h"

namespace gyre {
namespace {

// Enough that a product is worth its call, and few enough that threads have something to share.
constexpr int64_t kMostRows = 128, kFewestRows = 16;

}  // namespace

Linear::Linear(const WeightRows* weights, cpu::ThreadPool* pool, std::stop_token stop)
    : weights_(weights),
      pool_(pool),
      stop_(std::move(stop)),
      rows_(static_cast<size_t>(pool->size())),
      products_(static_cast<size_t>(pool->size())) {}

int64_t Linear::RowsAtOnce(int64_t outputs) const {
  const int64_t share = (outputs + pool_->size() - 1) / pool_->size();
  return std::clamp((share + kFewestRows - 1) / kFewestRows * kFewestRows, kFewestRows, kMostRows);
}

Status Linear::ForBlocks(const std::string& name, int64_t inputs, int64_t outputs,
                         const Block& block) {
  const int64_t rows = RowsAtOnce(outputs);
  std::mutex mutex;
  Status fault;
  std::atomic<bool> failed{false};
  const auto fail = [&](Status status) {
    const std::lock_guard lock(mutex);
    if (!failed.exchange(true)) fault = std::move(status);
  };
  pool_->Share((outputs + rows - 1) / rows, [&](int64_t i, int thread) {
    if (failed) return;
    if (stop_.stop_requested()) return fail(Cancelled("interrupted"));
    const int64_t first = i * rows, count = std::min(rows, outputs - first);
    std::vector<float>& weights = rows_[static_cast<size_t>(thread)];
    weights.resize(static_cast<size_t>(count * inputs));
    if (Status read = weights_->Read(name, first, count, weights); !read.ok()) {
      return fail(std::move(read));
    }
    if (!block(thread, first, count, weights.data())) {
      fail(ResourceExhausted("there is not enough memory for products with " + name));
    }
  });
  return fault;
}

bool Linear::MultiplyRows(const Input& input, const float* weights, int64_t rows, float* y,
                          int64_t stride) {
  return cpu::Multiply(
      cpu::MatrixProduct<float, float>{.m = input.tokens,
                                       .n = rows,
                                       .k = input.inputs,
                                       .a = {input.x, input.inputs},
                                       .b = {weights, input.inputs, cpu::Layout::kTransposed},
                                       .c = y,
                                       .c_stride = stride});
}

Status Linear::Multiply(const std::string& name, const Input& input, int64_t outputs, float* y,
                        int64_t stride) {
  return ForBlocks(name, input.inputs, outputs,
                   [&](int, int64_t first, int64_t count, const float* weights) {
                     return MultiplyRows(input, weights, count, y + first, stride);
                   });
}

}  // namespace gyre
