// Softmax in powers of two: scale and log2(e) are one factor, and 2^x needs fewer steps than e^x.

#include "trainer/backend/cpu/kernels/kernels.h"
#include "trainer/backend/cpu/kernels/lanes.h"
#include "trainer/backend/cpu/kernels/vector_math.h"

namespace gyre::cpu::GYRE_INSTRUCTION_SET {
namespace {

// The registers [low, low + count) around the keys that one query sees, [begin, end). Places in a
// row are counted from `low`.
template <bool kSloped>
struct Query {
  Query(const ScoreBlock& op, int i)
      : low(op.first[i] & -kWidth),
        begin(op.first[i] - low),
        end(op.last + i + 1 - low),
        count((end + kWidth - 1) & -kWidth),
        all(((op.keys + kLanes - 1) & -kLanes) - low),
        offset(i * op.stride + low),
        scores(op.scores + offset),
        factor(op.scale * kLog2E),
        slope(op.slope * kLog2E) {}

  // Gives the keys that the query does not see the score -infinity.
  void Hide() const {
    const Floats nothing = Broadcast(-__builtin_inff());
    const Ints left = Count(), right = Count() + (count - kWidth);
    Store(Whole{}, left < begin ? nothing : Load(Whole{}, scores), scores);
    float* last = scores + count - kWidth;
    Store(Whole{}, right >= end ? nothing : Load(Whole{}, last), last);
  }

  // log2(e) times the logit.
  Floats Logit(int64_t key) const {
    const Floats score = Load(Whole{}, scores + key) * factor;
    if constexpr (!kSloped) return score;
    const Ints distance = Count() + (static_cast<int>(key) - (end - 1));
    return score + slope * __builtin_convertvector(distance, Floats);
  }

  template <typename Number>
  Number* Row(Number* rows) const {
    return rows + offset;
  }

  template <typename Narrow>
  void ZeroRest(Narrow* row) const {
    for (int c = -low; c < 0; c += kWidth) Store(Whole{}, Floats{}, row + c);
    for (int c = count; c < all; c += kWidth) Store(Whole{}, Floats{}, row + c);
  }

  int low, begin, end, count, all;
  int64_t offset;
  float* scores;
  float factor, slope;
};

// A step of several queries, then the next step: within one query each waits for the last, and
// most rows are short.
template <bool kSloped, typename Narrow>
[[gnu::flatten]] void SoftmaxRows(const ScoreBlock& op, Narrow* probabilities, float* log_sum_exp,
                                  int64_t log_stride) {
  for (int first = 0; first < op.queries; first += kWidth) {
    const int count = op.queries - first < kWidth ? op.queries - first : kWidth;
    float largest[kWidth] = {}, sum[kWidth] = {};
    for (int i = 0; i < count; ++i) {
      const Query<kSloped> query(op, first + i);
      query.Hide();
      largest[i] = Largest(query.count, [=](int64_t c, auto) { return query.Logit(c); });
    }
    for (int i = 0; i < count; ++i) {
      const Query<kSloped> query(op, first + i);
      const float shift = largest[i];
      sum[i] = Sum(query.count, [=](int64_t c, auto lanes) {
        const Floats e = Exp2(query.Logit(c) - shift);
        Store(lanes, e, query.scores + c);
        return e;
      });
    }
    for (int i = 0; i < count; ++i) {
      const Query<kSloped> query(op, first + i);
      const float inverse = 1 / sum[i];
      Narrow* out = query.Row(probabilities);
      ForLanes(query.count, [=](int64_t c, auto lanes) {
        Store(lanes, Load(lanes, query.scores + c) * inverse, out + c);
      });
      query.ZeroRest(out);
    }
    const Floats log_sums = Load(Whole{}, largest) * kLn2 + Log(Load(Whole{}, sum));
    for (int i = 0; i < count; ++i) log_sum_exp[(first + i) * log_stride] = log_sums[i];
  }
}

template <bool kSloped, typename Narrow>
[[gnu::flatten]] void SoftmaxRowsBackward(const ScoreBlock& op, const float* d_scores,
                                          const float* means, const float* log_sum_exp,
                                          int64_t log_stride, Narrow* probabilities,
                                          Narrow* d_narrow) {
  for (int i = 0; i < op.queries; ++i) {
    const Query<kSloped> query(op, i);
    query.Hide();
    const float* d = query.Row(d_scores);
    Narrow* out = query.Row(probabilities);
    Narrow* d_out = query.Row(d_narrow);
    const float log_sum = log_sum_exp[i * log_stride] * kLog2E, mean = means[i], scale = op.scale;
    ForLanes(query.count, [=](int64_t c, auto lanes) {
      const Floats p = Exp2(query.Logit(c) - log_sum);
      const Floats change = p * ((Load(lanes, d + c) - mean) * scale);
      Store(lanes, p, out + c);
      // What d holds for hidden keys may be anything.
      Store(lanes, p == 0 ? Floats{} : change, d_out + c);
    });
    query.ZeroRest(out);
    query.ZeroRest(d_out);
  }
}

template <typename Narrow>
void Softmax(const ScoreBlock& op, Narrow* probabilities, float* log_sum_exp, int64_t log_stride) {
  (op.slope == 0 ? SoftmaxRows<false, Narrow> : SoftmaxRows<true, Narrow>)(op, probabilities,
                                                                           log_sum_exp, log_stride);
}

template <typename Narrow>
void SoftmaxBackward(const ScoreBlock& op, const float* d_scores, const float* means,
                     const float* log_sum_exp, int64_t log_stride, Narrow* probabilities,
                     Narrow* d_narrow) {
  const auto rows =
      op.slope == 0 ? SoftmaxRowsBackward<false, Narrow> : SoftmaxRowsBackward<true, Narrow>;
  rows(op, d_scores, means, log_sum_exp, log_stride, probabilities, d_narrow);
}

template <typename Narrow>
[[gnu::flatten]] void RowProducts(const Narrow* x, const Narrow* y, int64_t rows, int n,
                                  int64_t stride, float* sums) {
  for (int64_t row = 0; row < rows; ++row, x += stride, y += stride) {
    sums[row] =
        Sum(n, [=](int64_t c, auto lanes) { return Load(lanes, x + c) * Load(lanes, y + c); });
  }
}

template <typename Narrow>
void Add(NarrowKernels<Narrow>* kernels) {
  kernels->softmax = Softmax<Narrow>;
  kernels->softmax_backward = SoftmaxBackward<Narrow>;
  kernels->row_products = RowProducts<Narrow>;
}

}  // namespace

void AddSoftmax(Kernels* kernels) {
  Add(&kernels->to_float);
  Add(&kernels->to_bf16);
}

}  // namespace gyre::cpu::GYRE_INSTRUCTION_SET
