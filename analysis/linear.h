#pragma once

// Products with a pretrained matrix that is read while it is used, some rows at a time by each
// thread: what is in memory of it follows from the number of threads and not from the matrix.

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "analysis/weight_rows.h"
#include "trainer/backend/cpu/thread_pool.h"

namespace gyre {

class Linear {
 public:
  /// Both outlive the object.
  Linear(const WeightRows* weights, cpu::ThreadPool* pool, std::stop_token stop);

  /// (tokens, inputs), dense.
  struct Input {
    const float* x = nullptr;
    int64_t tokens = 0, inputs = 0;
  };
  /// Assigns y (tokens, outputs), whose rows are `stride` apart, = x W^T, W being the tensor `name`
  /// (outputs, inputs). CANCELLED once a stop is asked for; else as WeightRows::Read().
  Status Multiply(const std::string& name, const Input& input, int64_t outputs, float* y,
                  int64_t stride);

  /// The same without keeping y: of each block of rows of W, `take(thread, first, rows, y)` gets y
  /// (tokens, rows), dense, on the thread that computed it.
  template <typename Take>
  Status MultiplyBlocks(const std::string& name, const Input& input, int64_t outputs,
                        const Take& take) {
    const int64_t rows = RowsAtOnce(outputs);
    return ForBlocks(name, input.inputs, outputs,
                     [&](int thread, int64_t first, int64_t count, const float* weights) {
                       std::vector<float>& y = products_[static_cast<size_t>(thread)];
                       y.resize(static_cast<size_t>(input.tokens * rows));
                       if (!MultiplyRows(input, weights, count, y.data(), count)) return false;
                       take(thread, first, count, y.data());
                       return true;
                     });
  }

 private:
  using Block = std::function<bool(int thread, int64_t first, int64_t rows, const float* weights)>;

  int64_t RowsAtOnce(int64_t outputs) const;
  Status ForBlocks(const std::string& name, int64_t inputs, int64_t outputs, const Block& block);
  static bool MultiplyRows(const Input& input, const float* weights, int64_t rows, float* y,
                           int64_t stride);

  const WeightRows* weights_;
  cpu::ThreadPool* pool_;
  const std::stop_token stop_;
  std::vector<std::vector<float>> rows_, products_;  // by thread
};

}  // namespace gyre
