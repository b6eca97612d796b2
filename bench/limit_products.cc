#include "bench/limit_products.h"

#include <omp.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "bench/limit_piece.h"

namespace gyre {
namespace {

using Type = dnnl::memory::data_type;
constexpr int64_t kBlock = 256;

Type InType(ProductTypes types) { return types.bf16_in ? Type::bf16 : Type::f32; }
Type OutType(ProductTypes types) { return types.bf16_out ? Type::bf16 : Type::f32; }

/// Room for so many numbers of any type: random, and about 2^-7 whether they are read as float32 or
/// as bf16.
class Numbers {
 public:
  explicit Numbers(int64_t count) : words_(static_cast<size_t>(count)) {
    uint32_t state = 1;
    for (uint32_t& word : words_) {
      state = state * 1664525 + 1013904223;
      word = (state & 0x80ff80ff) | 0x3c003c00;
    }
  }
  PieceMatrix Matrix(int64_t rows, int64_t columns, Type type) {
    return {words_.data(), type, rows, columns, columns, 1};
  }

 private:
  std::vector<uint32_t> words_;
};

std::function<void()> OnOurThreads(std::vector<std::vector<Piece>> of_thread) {
  return [of_thread = std::move(of_thread)] {
    const int threads = static_cast<int>(of_thread.size());
#pragma omp parallel num_threads(threads)
    for (const Piece& piece : of_thread[static_cast<size_t>(omp_get_thread_num())]) piece();
  };
}

/// Part `i` of `parts` nearly equal ones of 0..whole.
std::pair<int64_t, int64_t> Part(int64_t whole, int parts, int i) {
  return {whole * i / parts, whole * (i + 1) / parts};
}

using PieceFunction = Piece (PieceMaker::*)(const PieceProduct&);

/// One product, cut in several ways.
class Cuts {
 public:
  Cuts(int threads, std::shared_ptr<void> operands, std::vector<Formulation>* all)
      : threads_(threads), operands_(std::move(operands)), all_(*all) {}

  /// One call, on the library's own threads.
  template <typename Make>
  void Whole(const std::string& name, const Make& make) {
    Try(name + ", the library's threads", threads_, [&](PieceMaker& maker) { return make(maker); });
  }
  /// `make(maker, thread)` gives the pieces of one of our threads, on which the library has but
  /// one.
  template <typename Make>
  void Split(const std::string& name, const Make& make) {
    Try(name + ", our threads", 1, [&](PieceMaker& maker) {
      std::vector<std::vector<Piece>> of_thread;
      for (int thread = 0; thread < threads_; ++thread) of_thread.push_back(make(maker, thread));
      return OnOurThreads(std::move(of_thread));
    });
  }

  void WholeProduct(const std::string& name, PieceFunction function, const PieceProduct& product) {
    Whole(name, [&](PieceMaker& maker) { return (maker.*function)(product); });
  }
  /// Rows of c split over the threads, each thread's at once.
  void Rows(const std::string& name, PieceFunction function, const PieceProduct& product) {
    Split(name + " by rows", [&](PieceMaker& maker, int thread) {
      const auto [begin, end] = Part(product.c.rows, threads_, thread);
      return std::vector<Piece>{(maker.*function)(RowsOf(product, begin, end))};
    });
  }
  void RowBlocks(const std::string& name, PieceFunction function, const PieceProduct& product) {
    Split(name + " by row blocks", [&](PieceMaker& maker, int thread) {
      const auto [begin, end] = Part(product.c.rows, threads_, thread);
      std::vector<Piece> pieces;
      for (int64_t at = begin; at < end; at += kBlock) {
        pieces.push_back((maker.*function)(RowsOf(product, at, std::min(at + kBlock, end))));
      }
      return pieces;
    });
  }
  /// Rows of c split over the threads, what is summed over in blocks.
  void SumBlocks(const std::string& name, PieceFunction function, const PieceProduct& product) {
    Split(name + " by rows, summed in blocks", [&](PieceMaker& maker, int thread) {
      const auto [begin, end] = Part(product.c.rows, threads_, thread);
      std::vector<Piece> pieces;
      for (int64_t at = 0; at < product.b.rows; at += kBlock) {
        const int64_t count = std::min(kBlock, product.b.rows - at);
        PieceProduct part = RowsOf(product, begin, end);
        part.a = part.a.Columns(at, count), part.b = part.b.Rows(at, count), part.add = at > 0;
        pieces.push_back((maker.*function)(part));
      }
      return pieces;
    });
  }

 private:
  static PieceProduct RowsOf(const PieceProduct& product, int64_t begin, int64_t end) {
    PieceProduct part = product;
    part.a = product.a.Rows(begin, end - begin), part.c = product.c.Rows(begin, end - begin);
    return part;
  }
  template <typename Make>
  void Try(const std::string& name, int library_threads, const Make& make) {
    try {
      const OneDnnThreads threads(library_threads);
      PieceMaker maker;
      all_.push_back({name, [run = make(maker), operands = operands_] { run(); }});
    } catch (const dnnl::error&) {  // not in this library, or not on this processor
    }
  }

  const int threads_;
  const std::shared_ptr<void> operands_;
  std::vector<Formulation>& all_;
};

struct LinearOperands {
  Numbers x, weight, y;
};

void MatrixFormulations(LinearKind kind, const PieceProduct& product, const std::string& how,
                        Cuts* cuts) {
  for (const auto& [name, function] :
       {std::pair{"matmul", &PieceMaker::Matmul}, std::pair{"sgemm", &PieceMaker::Sgemm}}) {
    cuts->WholeProduct(name + how, function, product);
    cuts->Rows(name + how, function, product);
    if (kind == LinearKind::kBackwardWeight) {
      cuts->SumBlocks(name + how, function, product);
    } else {
      cuts->RowBlocks(name + how, function, product);
    }
  }
}

/// oneDNN's own linear layer.
void LayerFormulations(const LinearShape& shape, int threads, PieceMatrix x, PieceMatrix weight,
                       PieceMatrix y, Cuts* cuts) {
  const auto piece = [&](PieceMaker& maker, int parts, int part) {
    if (shape.kind == LinearKind::kBackwardWeight) {
      const auto [begin, end] = Part(shape.outputs, parts, part);
      return maker.LinearBackwardWeight(x, weight.Rows(begin, end - begin),
                                        y.Columns(begin, end - begin));
    }
    const auto [begin, end] = Part(shape.tokens, parts, part);
    const PieceMatrix some_x = x.Rows(begin, end - begin), some_y = y.Rows(begin, end - begin);
    return shape.kind == LinearKind::kForward ? maker.LinearForward(some_x, weight, some_y)
                                              : maker.LinearBackwardInput(some_x, weight, some_y);
  };
  cuts->Whole("inner product", [&](PieceMaker& maker) { return piece(maker, 1, 0); });
  cuts->Split("inner product", [&](PieceMaker& maker, int thread) {
    return std::vector<Piece>{piece(maker, threads, thread)};
  });
}

}  // namespace

std::vector<Formulation> LinearFormulations(const LinearShape& shape, ProductTypes types,
                                            int threads) {
  const auto [kind, tokens, outputs, inputs] = shape;
  const auto operands = std::make_shared<LinearOperands>(LinearOperands{
      Numbers(tokens * inputs), Numbers(outputs * inputs), Numbers(tokens * outputs)});
  const Type in = InType(types), out = OutType(types);
  const auto type = [&](LinearKind result) { return kind == result ? out : in; };
  const PieceMatrix x = operands->x.Matrix(tokens, inputs, type(LinearKind::kBackwardInput));
  const PieceMatrix weight =
      operands->weight.Matrix(outputs, inputs, type(LinearKind::kBackwardWeight));
  const PieceMatrix y = operands->y.Matrix(tokens, outputs, type(LinearKind::kForward));
  std::vector<Formulation> all;
  Cuts cuts(threads, operands, &all);
  if (kind == LinearKind::kForward) {
    MatrixFormulations(kind, {x, weight.Transposed(), y, true}, "", &cuts);
  } else if (kind == LinearKind::kBackwardInput) {
    MatrixFormulations(kind, {y, weight, x, true}, "", &cuts);
  } else {
    MatrixFormulations(kind, {y.Transposed(), x, weight}, "", &cuts);
    // The same numbers, transposed in memory.
    const PieceMatrix transposed = operands->weight.Matrix(inputs, outputs, out);
    MatrixFormulations(kind, {x.Transposed(), y, transposed}, " of the transpose", &cuts);
  }
  LayerFormulations(shape, threads, x, weight, y, &cuts);
  return all;
}

namespace {

/// The matrices of one unit, or of `units` of them one behind the other.
struct AttentionOperands {
  AttentionOperands(const AttentionShape& s, int64_t units)
      : narrow(size_t{8}, Numbers(units * std::max(s.queries, s.keys) * s.head_dim)),
        square(size_t{3}, Numbers(units * s.tile * s.keys)) {}
  std::vector<Numbers> narrow, square;
};

/// The six products of queries [begin, begin + tile) with the keys that they see.
std::vector<PieceProduct> TileProducts(const AttentionShape& s, int64_t begin, ProductTypes types,
                                       AttentionOperands* operands) {
  const int64_t tile = std::min(s.tile, s.queries - begin);
  const int64_t keys = s.tile < s.queries ? begin + tile : s.keys;
  const Type in = InType(types), out = OutType(types);
  const auto of_queries = [&](size_t which, Type type) {
    return operands->narrow[which].Matrix(s.queries, s.head_dim, type).Rows(begin, tile);
  };
  const auto of_keys = [&](size_t which, Type type) {
    return operands->narrow[which].Matrix(keys, s.head_dim, type);
  };
  const auto square = [&](size_t which, Type type) {
    return operands->square[which].Matrix(tile, keys, type);
  };
  const PieceMatrix q = of_queries(0, in), k = of_keys(1, in), v = of_keys(2, in);
  const PieceMatrix dy = of_queries(3, in);
  const PieceMatrix scores = square(0, out), weights = square(1, in), d_scores = square(2, in);
  const bool add = begin > 0;
  return {
      {q, k.Transposed(), scores},       {weights, v, of_queries(4, out)},
      {dy, v.Transposed(), scores},      {weights.Transposed(), dy, of_keys(5, out), false, add},
      {d_scores, k, of_queries(6, out)}, {d_scores.Transposed(), q, of_keys(7, out), false, add}};
}

}  // namespace

std::vector<Formulation> AttentionFormulations(const AttentionShape& s, ProductTypes types,
                                               int threads) {
  std::vector<Formulation> all;
  // Each thread computes unit after unit, all of them on its own matrices.
  const auto own = std::make_shared<std::vector<AttentionOperands>>(static_cast<size_t>(threads),
                                                                    AttentionOperands(s, 1));
  Cuts by_unit(threads, own, &all);
  for (const auto& [name, function] :
       {std::pair{"matmul", &PieceMaker::Matmul}, std::pair{"sgemm", &PieceMaker::Sgemm}}) {
    by_unit.Split(std::string(name) + " by head", [&](PieceMaker& maker, int thread) {
      std::vector<Piece> unit, pieces;
      for (int64_t begin = 0; begin < s.queries; begin += s.tile) {
        for (const PieceProduct& product :
             TileProducts(s, begin, types, &(*own)[static_cast<size_t>(thread)])) {
          unit.push_back((maker.*function)(product));
        }
      }
      const auto [first, end] = Part(s.units, threads, thread);
      for (int64_t i = first; i < end; ++i) pieces.insert(pieces.end(), unit.begin(), unit.end());
      return pieces;
    });
  }
  if (s.tile < s.queries) return all;
  const auto together = std::make_shared<AttentionOperands>(s, s.units);
  Cuts(threads, together, &all).Whole("matmul of all heads", [&](PieceMaker& maker) {
    std::vector<Piece> pieces;
    for (const PieceProduct& product : TileProducts(s, 0, types, together.get())) {
      pieces.push_back(maker.BatchedMatmul(product, s.units));
    }
    return Piece([pieces = std::move(pieces)] {
      for (const Piece& piece : pieces) piece();
    });
  });
  return all;
}

}  // namespace gyre
