#pragma once

// One call of oneDNN, made ready: primitive, memory and scratch space. Functions throw dnnl::error
// where oneDNN has no fast implementation; limit_products.cc catches that.

#include <cstdint>
#include <dnnl.hpp>
#include <functional>
#include <vector>

namespace gyre {

using Piece = std::function<void()>;

/// A matrix somewhere in memory. Element (r, c) is data[r * row_stride + c * column_stride].
struct PieceMatrix {
  void* data = nullptr;
  dnnl::memory::data_type type = dnnl::memory::data_type::f32;
  int64_t rows = 0, columns = 0, row_stride = 0, column_stride = 1;

  PieceMatrix Transposed() const { return {data, type, columns, rows, column_stride, row_stride}; }
  PieceMatrix Rows(int64_t begin, int64_t count) const;
  PieceMatrix Columns(int64_t begin, int64_t count) const;
};

/// c = a b, or c += a b.
struct PieceProduct {
  PieceMatrix a, b, c;
  bool pack_b = false;  // b is a weight: in the order that oneDNN likes best, long before it runs
  bool add = false;
};

/// Makes pieces. Those that it made share packed weights.
class PieceMaker {
 public:
  PieceMaker();
  Piece Matmul(const PieceProduct& product);
  /// `batch` products whose matrices lie one behind the other.
  Piece BatchedMatmul(const PieceProduct& product, int64_t batch);
  /// Float32 alone.
  Piece Sgemm(const PieceProduct& product);
  /// The three of a linear layer: x (tokens, inputs), weight (outputs, inputs), y (tokens,
  /// outputs).
  Piece LinearForward(PieceMatrix x, PieceMatrix weight, PieceMatrix y);
  Piece LinearBackwardInput(PieceMatrix dx, PieceMatrix weight, PieceMatrix dy);
  Piece LinearBackwardWeight(PieceMatrix x, PieceMatrix d_weight, PieceMatrix dy);

 private:
  dnnl::memory Pack(const PieceMatrix& matrix, const dnnl::memory::desc& wanted);
  Piece Ready(const dnnl::primitive_desc_base& description, const dnnl::primitive& primitive,
              std::unordered_map<int, dnnl::memory> arguments);

  dnnl::engine engine_;
  std::vector<dnnl::memory> packed_;
  std::vector<void*> packed_from_;
};

/// While it lives, oneDNN makes and runs primitives for `threads` threads.
class OneDnnThreads {
 public:
  explicit OneDnnThreads(int threads);
  ~OneDnnThreads();

 private:
  int before_;
};

}  // namespace gyre
