#include "bench/limit_piece.h"

#include <omp.h>

#include <string>
#include <utility>

namespace gyre {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

memory::desc Described(const PieceMatrix& m) {
  return memory::desc({m.rows, m.columns}, m.type, {m.row_stride, m.column_stride});
}

dnnl::primitive_attr Attributes(bool add) {
  dnnl::primitive_attr attributes;
  // Its own scratch space belongs to the thread that made the primitive; ours to the piece.
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (add) {
    dnnl::post_ops sum;
    sum.append_sum(1.0f);
    attributes.set_post_ops(sum);
  }
  return attributes;
}

int64_t Bytes(memory::data_type type) { return type == memory::data_type::bf16 ? 2 : 4; }

PieceMatrix Moved(PieceMatrix m, int64_t elements) {
  m.data = static_cast<char*>(m.data) + elements * Bytes(m.type);
  return m;
}

void Refuse(const char* why) { throw dnnl::error(dnnl_unimplemented, why); }

}  // namespace

PieceMatrix PieceMatrix::Rows(int64_t begin, int64_t count) const {
  PieceMatrix part = Moved(*this, begin * row_stride);
  part.rows = count;
  return part;
}

PieceMatrix PieceMatrix::Columns(int64_t begin, int64_t count) const {
  PieceMatrix part = Moved(*this, begin * column_stride);
  part.columns = count;
  return part;
}

PieceMaker::PieceMaker() : engine_(dnnl::engine::kind::cpu, 0) {}

memory PieceMaker::Pack(const PieceMatrix& matrix, const memory::desc& wanted) {
  for (size_t i = 0; i < packed_.size(); ++i) {
    if (packed_from_[i] == matrix.data && packed_[i].get_desc() == wanted) return packed_[i];
  }
  memory from(Described(matrix), engine_, matrix.data), to(wanted, engine_);
  dnnl::stream stream(engine_);
  dnnl::reorder(from, to).execute(stream, from, to);
  stream.wait();
  packed_.push_back(to);
  packed_from_.push_back(matrix.data);
  return to;
}

Piece PieceMaker::Ready(const dnnl::primitive_desc_base& description,
                        const dnnl::primitive& primitive,
                        std::unordered_map<int, memory> arguments) {
  const std::string implementation = description.impl_info_str();
  if (implementation.find("ref") != std::string::npos) Refuse("only in plain loops");
  arguments[DNNL_ARG_SCRATCHPAD] = memory(description.scratchpad_desc(), engine_);
  return [primitive, arguments = std::move(arguments), stream = dnnl::stream(engine_)] {
    primitive.execute(stream, arguments);
  };
}

Piece PieceMaker::Matmul(const PieceProduct& p) {
  const memory::desc any({p.b.rows, p.b.columns}, p.b.type, Tag::any);
  const dnnl::matmul::desc product(Described(p.a), p.pack_b ? any : Described(p.b), Described(p.c));
  const dnnl::matmul::primitive_desc description(product, Attributes(p.add), engine_);
  const memory b =
      p.pack_b ? Pack(p.b, description.weights_desc()) : memory(Described(p.b), engine_, p.b.data);
  return Ready(description, dnnl::matmul(description),
               {{DNNL_ARG_SRC, memory(Described(p.a), engine_, p.a.data)},
                {DNNL_ARG_WEIGHTS, b},
                {DNNL_ARG_DST, memory(Described(p.c), engine_, p.c.data)}});
}

Piece PieceMaker::BatchedMatmul(const PieceProduct& p, int64_t batch) {
  const auto described = [&](const PieceMatrix& m) {
    return memory::desc({batch, m.rows, m.columns}, m.type,
                        {m.rows * m.columns, m.row_stride, m.column_stride});
  };
  const dnnl::matmul::desc product(described(p.a), described(p.b), described(p.c));
  const dnnl::matmul::primitive_desc description(product, Attributes(p.add), engine_);
  return Ready(description, dnnl::matmul(description),
               {{DNNL_ARG_SRC, memory(described(p.a), engine_, p.a.data)},
                {DNNL_ARG_WEIGHTS, memory(described(p.b), engine_, p.b.data)},
                {DNNL_ARG_DST, memory(described(p.c), engine_, p.c.data)}});
}

Piece PieceMaker::Sgemm(const PieceProduct& p) {
  const auto letter = [](const PieceMatrix& m) { return m.column_stride == 1 ? 'N' : 'T'; };
  const auto stride = [](const PieceMatrix& m) {
    return m.column_stride == 1 ? m.row_stride : m.column_stride;
  };
  for (const PieceMatrix* m : {&p.a, &p.b, &p.c}) {
    if (m->type != memory::data_type::f32) Refuse("float32 alone");
  }
  return [p, a = letter(p.a), b = letter(p.b), a_stride = stride(p.a), b_stride = stride(p.b)] {
    dnnl_sgemm(a, b, p.a.rows, p.b.columns, p.a.columns, 1.0f, static_cast<const float*>(p.a.data),
               a_stride, static_cast<const float*>(p.b.data), b_stride, p.add ? 1.0f : 0.0f,
               static_cast<float*>(p.c.data), p.c.row_stride);
  };
}

Piece PieceMaker::LinearForward(PieceMatrix x, PieceMatrix weight, PieceMatrix y) {
  const memory::desc any({weight.rows, weight.columns}, weight.type, Tag::any);
  const dnnl::inner_product_forward::desc product(dnnl::prop_kind::forward_training, Described(x),
                                                  any, Described(y));
  const dnnl::inner_product_forward::primitive_desc description(product, Attributes(false),
                                                                engine_);
  return Ready(description, dnnl::inner_product_forward(description),
               {{DNNL_ARG_SRC, memory(Described(x), engine_, x.data)},
                {DNNL_ARG_WEIGHTS, Pack(weight, description.weights_desc())},
                {DNNL_ARG_DST, memory(Described(y), engine_, y.data)}});
}

Piece PieceMaker::LinearBackwardInput(PieceMatrix dx, PieceMatrix weight, PieceMatrix dy) {
  const memory::desc any({weight.rows, weight.columns}, weight.type, Tag::any);
  const dnnl::inner_product_forward::primitive_desc forward(
      {dnnl::prop_kind::forward_training, Described(dx), any, Described(dy)}, engine_);
  const dnnl::inner_product_backward_data::primitive_desc description(
      {Described(dx), any, Described(dy)}, Attributes(false), engine_, forward);
  return Ready(description, dnnl::inner_product_backward_data(description),
               {{DNNL_ARG_DIFF_SRC, memory(Described(dx), engine_, dx.data)},
                {DNNL_ARG_WEIGHTS, Pack(weight, description.weights_desc())},
                {DNNL_ARG_DIFF_DST, memory(Described(dy), engine_, dy.data)}});
}

Piece PieceMaker::LinearBackwardWeight(PieceMatrix x, PieceMatrix d_weight, PieceMatrix dy) {
  const memory::desc any({d_weight.rows, d_weight.columns}, d_weight.type, Tag::any);
  const dnnl::inner_product_forward::primitive_desc forward(
      {dnnl::prop_kind::forward_training, Described(x),
       memory::desc({d_weight.rows, d_weight.columns}, x.type, Tag::any),
       memory::desc({dy.rows, dy.columns}, dy.type, Tag::any)},
      engine_);
  const dnnl::inner_product_backward_weights::primitive_desc description(
      {Described(x), any, Described(dy)}, Attributes(false), engine_, forward);
  return Ready(description, dnnl::inner_product_backward_weights(description),
               {{DNNL_ARG_SRC, memory(Described(x), engine_, x.data)},
                {DNNL_ARG_DIFF_WEIGHTS, memory(description.diff_weights_desc(), engine_)},
                {DNNL_ARG_DIFF_DST, memory(Described(dy), engine_, dy.data)}});
}

OneDnnThreads::OneDnnThreads(int threads) : before_(omp_get_max_threads()) {
  omp_set_num_threads(threads);
}

OneDnnThreads::~OneDnnThreads() { omp_set_num_threads(before_); }

}  // namespace gyre
