// What pairs supply to logits, a register of keys at a time: for each of them a query's products by
// pair, whose sizes are added up by pair, and which themselves add up to the logits.

#include "trainer/backend/cpu/kernels/kernels.h"
#include "trainer/backend/cpu/kernels/lanes.h"
#include "trainer/backend/cpu/kernels/vector_math.h"
#include "trainer/backend/cpu/kernels/words.h"

namespace gyre::cpu::GYRE_INSTRUCTION_SET {
namespace {

[[gnu::always_inline]] inline Floats Size(Floats x) {
  return __builtin_bit_cast(Floats, __builtin_bit_cast(Bits, x) & 0x7fffffff);
}

// Keys [begin, end) of a register of them, each of which has a row of a's and then of b's, `pairs`
// of each.
struct Keys {
  const float* rows;
  int pairs, begin, end;
};

// Of kRegisters registers of pairs: adds the products' sizes to `sizes`, and assigns or adds to
// logits[key] their sum, still spread over the lanes.
template <int kRegisters, bool kAdd>
[[gnu::always_inline]] inline void AddPairs(const float* query, const Keys& keys, float* sizes,
                                            Floats* logits) {
  Floats a[kRegisters], b[kRegisters], size[kRegisters];
  for (int r = 0; r < kRegisters; ++r) {
    a[r] = Load(Whole{}, query + r * kWidth);
    b[r] = Load(Whole{}, query + keys.pairs + r * kWidth);
    size[r] = Load(Whole{}, sizes + r * kWidth);
  }
  const auto product = [&](int key, int r) {
    const float* at = keys.rows + int64_t{2} * key * keys.pairs + r * kWidth;
    return a[r] * Load(Whole{}, at) + b[r] * Load(Whole{}, at + keys.pairs);
  };
  const auto keep = [&](int key, Floats sum) { logits[key] = kAdd ? logits[key] + sum : sum; };
  int key = keys.begin;
  // Two at a time: `size` would wait for itself.
  for (; key + 2 <= keys.end; key += 2) {
    Floats sum0 = {}, sum1 = {};
    for (int r = 0; r < kRegisters; ++r) {
      const Floats c0 = product(key, r), c1 = product(key + 1, r);
      size[r] += Size(c0) + Size(c1);
      sum0 = r == 0 ? c0 : sum0 + c0;
      sum1 = r == 0 ? c1 : sum1 + c1;
    }
    keep(key, sum0);
    keep(key + 1, sum1);
  }
  if (key < keys.end) {
    Floats sum = {};
    for (int r = 0; r < kRegisters; ++r) {
      const Floats c = product(key, r);
      size[r] += Size(c);
      sum = r == 0 ? c : sum + c;
    }
    keep(key, sum);
  }
  for (int r = 0; r < kRegisters; ++r) Store(Whole{}, size[r], sizes + r * kWidth);
}

// Lane i: the sum of the lanes of rows[i]. Destroys the rows.
template <int kDistance = 1>
[[gnu::always_inline]] inline Floats SumsOfRows(Floats* rows) {
  if constexpr (kDistance == kWidth) {
    return rows[0];
  } else {
    const Exchange<kDistance> exchange;
    for (int i = 0; i < kWidth; i += 2 * kDistance) {
      const Floats a = rows[i], b = rows[i + kDistance];
      rows[i] = __builtin_shuffle(a, b, __builtin_bit_cast(Ints, exchange.low)) +
                __builtin_shuffle(a, b, __builtin_bit_cast(Ints, exchange.high));
    }
    return SumsOfRows<2 * kDistance>(rows);
  }
}

[[gnu::always_inline]] inline Floats Products(const float* query, const Keys& keys, float* sizes) {
  Floats logits[kWidth];
  if (keys.begin > 0 || keys.end < kWidth) {
    for (Floats& logit : logits) logit = Floats{};
  }
  int pair = 0;
  const auto add = [&](auto add_pairs, int registers) {
    add_pairs(query + pair, Keys{keys.rows + pair, keys.pairs, keys.begin, keys.end}, sizes + pair,
              logits);
    pair += registers * kWidth;
  };
  if (keys.pairs == kWidth) {
    add(AddPairs<1, false>, 1);
  } else {
    add(AddPairs<2, false>, 2);
  }
  while (pair + 2 * kWidth <= keys.pairs) add(AddPairs<2, true>, 2);
  if (pair < keys.pairs) add(AddPairs<1, true>, 1);
  return SumsOfRows(logits);
}

[[gnu::flatten]] void AddStatistics(const StatisticsBlock& op, float* sizes, float* scores) {
  Floats diagonal = {}, previous = {}, first = {}, entropy = {}, mean = {};
  for (int done = 0; done < op.keys; done += kWidth) {
    const int key = op.first_key + done;
    const int count = op.keys - done < kWidth ? op.keys - done : kWidth;
    for (int n = 0; n < op.queries; ++n) {
      const int query = op.first_query + n, hidden = query - op.window + 1 - key;
      const Keys keys = {op.key_rows + int64_t{2} * done * op.pairs, op.pairs,
                         op.window > 0 && hidden > 0 ? hidden : 0,
                         query + 1 - key < count ? query + 1 - key : count};
      if (keys.begin >= keys.end) continue;
      const Floats product = Products(op.query_rows + int64_t{2} * n * op.pairs, keys, sizes);
      const Ints distance = (query - key) - Count();
      const Floats far = __builtin_convertvector(distance, Floats);
      const Floats log_alpha =
          product * op.scale - far * op.slope - op.log_sum_exp[n * op.log_stride];
      const Ints visible = (Count() >= keys.begin) & (Count() < keys.end);
      const Floats alpha = visible != 0 ? Exp2(log_alpha * kLog2E) : Floats{};
      diagonal += distance == 0 ? alpha : Floats{};
      previous += distance == 1 ? alpha : Floats{};
      first += Count() == -key ? alpha : Floats{};
      entropy -= alpha * log_alpha;
      mean += alpha * far;
    }
  }
  scores[HeadScore::kDiagonal] += SumOfLanes(diagonal);
  scores[HeadScore::kPrevious] += SumOfLanes(previous);
  scores[HeadScore::kFirst] += SumOfLanes(first);
  scores[HeadScore::kEntropy] += SumOfLanes(entropy);
  scores[HeadScore::kDistance] += SumOfLanes(mean);
}

[[gnu::flatten]] void AddNorms(const float* rows, int64_t count, int pairs, float* sums) {
  for (int pair = 0; pair < pairs; pair += kWidth) {
    Floats sum = Load(Whole{}, sums + pair);
    for (int64_t row = 0; row < count; ++row) {
      const float* at = rows + 2 * row * pairs + pair;
      const Floats a = Load(Whole{}, at), b = Load(Whole{}, at + pairs);
      sum += SquareRoot(a * a + b * b);
    }
    Store(Whole{}, sum, sums + pair);
  }
}

}  // namespace

void AddAttentionStatistics(Kernels* kernels) {
  kernels->add_norms = AddNorms;
  kernels->add_statistics = AddStatistics;
}

}  // namespace gyre::cpu::GYRE_INSTRUCTION_SET
