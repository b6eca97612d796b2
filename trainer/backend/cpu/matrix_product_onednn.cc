#include <omp.h>

#include <array>
#include <dnnl.hpp>
#include <map>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <unordered_map>

#include "trainer/backend/cpu/matrix_product.h"
#include "trainer/backend/cpu/memory.h"
#include "trainer/backend/cpu/thread_pool.h"

namespace gyre::cpu {
namespace {

using dnnl::memory;

// Rows of a product for which the order of packed matrices is chosen; it serves all others too.
constexpr int64_t kPackedRows = 256;
// Packed matrices are padded to whole tiles of at most this size, and divided between them.
constexpr int64_t kTile = 64;

int64_t RoundUp(int64_t count) { return (count + kTile - 1) / kTile * kTile; }

template <typename T>
constexpr memory::data_type kType =
    std::is_same_v<T, float> ? memory::data_type::f32 : memory::data_type::bf16;

// Never destroyed: threads may outlive static objects.
dnnl::engine& Engine() {
  static auto* const engine = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *engine;
}

memory::desc Describe(int64_t rows, int64_t columns, memory::data_type type, int64_t stride,
                      Layout layout) {
  const memory::dims strides =
      layout == Layout::kRows ? memory::dims{stride, 1} : memory::dims{1, stride};
  return {{rows, columns}, type, strides};
}

memory::desc DescribePacked(int64_t k, int64_t n, memory::data_type type) {
  using Key = std::array<int64_t, 3>;
  static thread_local std::map<Key, memory::desc> known;
  const auto [place, added] = known.try_emplace(Key{k, n, static_cast<int64_t>(type)});
  if (added) {
    const memory::desc any({k, n}, type, memory::format_tag::any);
    place->second = dnnl::matmul::primitive_desc(
                        {Describe(kPackedRows, k, type, k, Layout::kRows), any,
                         Describe(kPackedRows, n, memory::data_type::f32, n, Layout::kRows)},
                        Engine())
                        .weights_desc();
  }
  return place->second;
}

// What identifies the code for a product: sizes, strides, layouts, types.
using ProductKey = std::array<int64_t, 9>;
struct ProductHash {
  size_t operator()(const ProductKey& key) const {
    uint64_t hash = 0;
    for (const int64_t part : key) {
      hash = (hash ^ static_cast<uint64_t>(part)) * 0x9E3779B97F4A7C15u;
      hash ^= hash >> 29;
    }
    return hash;
  }
};

// A memory object whose address is changed only when it differs: a change may touch the memory.
class Argument {
 public:
  explicit Argument(const memory::desc& desc) : memory_(desc, Engine(), nullptr) {}
  dnnl_memory_t At(const void* address) {
    if (address != address_) memory_.set_data_handle(const_cast<void*>(address));
    address_ = address;
    return memory_.get();
  }

 private:
  memory memory_;
  const void* address_ = nullptr;
};

struct Product {
  dnnl::primitive code;
  Argument a, b, c, scratch;
  size_t scratch_bytes;
};

struct Reordering {
  dnnl::primitive code;
  Argument from, to;
};

// One thread's: products and the scratch memory that they share.
class Library {
 public:
  static Library& OfThisThread() {
    static thread_local Library library;
    return library;
  }

  ~Library() { Forget(); }

  void Forget() {
    products_.clear();
    reorderings_.clear();
    FreeZeros(scratch_);
    scratch_ = nullptr;
    scratch_bytes_ = 0;
  }

  template <typename In, typename Out>
  void Multiply(const MatrixProduct<In, Out>& p) {
    const ProductKey key = {p.m,
                            p.n,
                            p.k,
                            p.a.stride,
                            p.b.stride,
                            p.c_stride,
                            static_cast<int64_t>(p.a.layout) * 4 + static_cast<int64_t>(p.b.layout),
                            static_cast<int64_t>(kType<In>) * 64 + static_cast<int64_t>(kType<Out>),
                            p.add};
    auto found = products_.find(key);
    if (found == products_.end()) found = products_.emplace(key, Make(p)).first;
    Product& product = *found->second;
    Reserve(product.scratch_bytes);
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, product.a.At(p.a.data)},
                                         {DNNL_ARG_WEIGHTS, product.b.At(p.b.data)},
                                         {DNNL_ARG_DST, product.c.At(p.c)},
                                         {DNNL_ARG_SCRATCHPAD, product.scratch.At(scratch_)}};
    dnnl::error::wrap_c_api(dnnl_primitive_execute(product.code.get(), stream_.get(), 4, arguments),
                            "a product");
  }

  // The columns of a packed matrix.
  template <typename In>
  void Pack(const PackedMatrix<In>& b, Range columns) {
    const ProductKey key = {b.k,
                            b.n,
                            columns.begin,
                            columns.end,
                            b.source.stride,
                            static_cast<int64_t>(b.source.layout),
                            static_cast<int64_t>(kType<In>)};
    auto found = reorderings_.find(key);
    if (found == reorderings_.end()) found = reorderings_.emplace(key, Make(b, columns)).first;
    Reordering& reordering = *found->second;
    const int64_t step = b.source.layout == Layout::kRows ? 1 : b.source.stride;
    const dnnl_exec_arg_t arguments[] = {
        {DNNL_ARG_FROM, reordering.from.At(b.source.data + columns.begin * step)},
        {DNNL_ARG_TO, reordering.to.At(b.packed)}};
    dnnl::error::wrap_c_api(
        dnnl_primitive_execute(reordering.code.get(), stream_.get(), 2, arguments), "a reordering");
  }

 private:
  // oneDNN's threads are OpenMP's; it may have one for each of ours, and then starts none.
  Library() : stream_((omp_set_num_threads(1), Engine())) {}

  template <typename In, typename Out>
  std::unique_ptr<Product> Make(const MatrixProduct<In, Out>& p) {
    const memory::desc a = Describe(p.m, p.k, kType<In>, p.a.stride, p.a.layout);
    const memory::desc b = p.b.layout == Layout::kPacked
                               ? DescribePacked(p.k, p.n, kType<In>)
                               : Describe(p.k, p.n, kType<In>, p.b.stride, p.b.layout);
    const memory::desc c = Describe(p.m, p.n, kType<Out>, p.c_stride, Layout::kRows);
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (p.add) {
      dnnl::post_ops sum;
      sum.append_sum(1);
      attributes.set_post_ops(sum);
    }
    const dnnl::matmul::primitive_desc plan({a, b, c}, attributes, Engine());
    const memory::desc scratch = plan.scratchpad_desc();
    return std::make_unique<Product>(Product{dnnl::matmul(plan), Argument(a), Argument(b),
                                             Argument(c), Argument(scratch), scratch.get_size()});
  }

  template <typename In>
  static std::unique_ptr<Reordering> Make(const PackedMatrix<In>& b, Range columns) {
    const memory::desc whole = DescribePacked(b.k, b.n, kType<In>);
    if (whole.get_size() > static_cast<size_t>(PackedSize(b.k, b.n)) * sizeof(In)) {
      throw std::length_error("a packed matrix is larger than PackedSize");
    }
    const memory::desc from =
        Describe(b.k, columns.size(), memory::data_type::f32, b.source.stride, b.source.layout);
    const memory::desc to = whole.submemory_desc({b.k, columns.size()}, {0, columns.begin});
    const dnnl::reorder::primitive_desc plan(Engine(), from, Engine(), to);
    return std::make_unique<Reordering>(
        Reordering{dnnl::reorder(plan), Argument(from), Argument(to)});
  }

  void Reserve(size_t bytes) {
    if (bytes <= scratch_bytes_) return;
    FreeZeros(scratch_);
    scratch_bytes_ = 0;
    scratch_ = AllocateZeros(static_cast<int64_t>(bytes));
    if (scratch_ == nullptr) throw std::bad_alloc();
    scratch_bytes_ = bytes;
  }

  dnnl::stream stream_;
  std::unordered_map<ProductKey, std::unique_ptr<Product>, ProductHash> products_;
  std::unordered_map<ProductKey, std::unique_ptr<Reordering>, ProductHash> reorderings_;
  void* scratch_ = nullptr;
  size_t scratch_bytes_ = 0;
};

const char* InstructionSetName(dnnl::cpu_isa isa) {
  switch (isa) {
    case dnnl::cpu_isa::sse41:
      return "sse41";
    case dnnl::cpu_isa::avx:
      return "avx";
    case dnnl::cpu_isa::avx2:
      return "avx2";
    case dnnl::cpu_isa::avx2_vnni:
      return "avx2_vnni";
    case dnnl::cpu_isa::avx512_core:
      return "avx512_core";
    case dnnl::cpu_isa::avx512_core_vnni:
      return "avx512_core_vnni";
    case dnnl::cpu_isa::avx512_core_bf16:
      return "avx512_core_bf16";
    case dnnl::cpu_isa::avx512_core_amx:
      return "avx512_core_amx";
    default:
      return "(an instruction set without a name here)";
  }
}

}  // namespace

template <typename In, typename Out>
bool Multiply(const MatrixProduct<In, Out>& product) try {
  Library::OfThisThread().Multiply(product);
  return true;
} catch (const std::exception&) {  // dnnl::error, or no memory for its code
  return false;
}

template bool Multiply(const MatrixProduct<float, float>&);
template bool Multiply(const MatrixProduct<Bf16, float>&);
template bool Multiply(const MatrixProduct<Bf16, Bf16>&);

int64_t PackedSize(int64_t k, int64_t n) { return RoundUp(k) * RoundUp(n); }

// A band of whole tiles of columns is a packed matrix of its own.
template <typename In>
bool Pack(const PackedMatrix<In>& b, int part, int parts) try {
  const Range columns = Split({0, b.n}, parts, part, kTile);
  if (columns.size() == 0) return true;
  Library::OfThisThread().Pack(b, columns);
  return true;
} catch (const std::exception&) {
  return false;
}

template bool Pack(const PackedMatrix<float>&, int, int);
template bool Pack(const PackedMatrix<Bf16>&, int, int);

void ForgetProducts() { Library::OfThisThread().Forget(); }

bool SupportsBf16() {
  const dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
  return isa == dnnl::cpu_isa::avx512_core_bf16 || isa == dnnl::cpu_isa::avx512_core_amx;
}

void LimitProducts(const std::string& instruction_set) {
  const std::pair<const char*, dnnl::cpu_isa> limits[] = {
      {"amx", dnnl::cpu_isa::all},
      {"avx512_bf16", dnnl::cpu_isa::avx512_core_bf16},
      {"avx512", dnnl::cpu_isa::avx512_core_vnni},
      {"avx2", dnnl::cpu_isa::avx2},
      {"baseline", dnnl::cpu_isa::sse41}};
  for (const auto& [name, isa] : limits) {
    if (instruction_set == name) dnnl_set_max_cpu_isa(static_cast<dnnl_cpu_isa_t>(isa));
  }
}

std::string MatrixProductLibrary() {
  const dnnl::version_t* version = dnnl_version();
  return "oneDNN " + std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
         std::to_string(version->patch) + " " + InstructionSetName(dnnl::get_effective_cpu_isa());
}

}  // namespace gyre::cpu
