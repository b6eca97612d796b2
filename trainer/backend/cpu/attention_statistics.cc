// A head of a row at a time, on whichever thread is free. Its queries and keys are laid out by
// pairs, in float, so that kernels know nothing of which coordinates a pair has. Kernels add up in
// float what is short enough for it, a block of queries and keys; blocks are added up in double.

#include <algorithm>
#include <cmath>
#include <span>

#include "trainer/backend/cpu/attention_row.h"
#include "trainer/backend/cpu/operations.h"
#include "trainer/backend/cpu/scratch.h"

namespace gyre::cpu {
namespace {

// Of queries and of keys: few enough that both stay in the nearest cache.
constexpr int kStatisticsBlock = 64;

template <typename Narrow>
class HeadStatistics {
 public:
  HeadStatistics(const NarrowDevice<Narrow>& device, const AttentionStatistics& op,
                 const StatisticsScratch& scratch, std::span<const PairCopy> copies, int row,
                 int head, int thread)
      : device_(device),
        op_(op),
        shape_(op.attention),
        copies_(copies),
        places_(op.attention, row),
        row_(row),
        head_(head),
        length_(Data(op.lengths)[row]),
        pairs_(op.attention.head_dim / 2),
        lanes_(PairLanes(op.attention.head_dim)),
        queries_(scratch.queries.Of(thread)),
        keys_(scratch.keys.Of(thread)),
        sums_(scratch.sums.Of(thread)),
        first_(scratch.first.Of(thread)),
        others_(scratch.others.Of(thread)) {}

  void Collect() {
    const int group = shape_.heads / shape_.kv_heads, key_head = head_ / group;
    // Of a group that shares keys and values, one head takes their norms.
    const bool leads = head_ % group == 0;
    if (leads) {
      Spread(places_.Value(key_head, 0), queries_);
      CollectNorms(queries_, shape_.heads + shape_.kv_heads + key_head, nullptr);
    }
    const float* amplitudes = Data(op_.amplitudes);
    Spread(places_.Key(key_head, 0), keys_);
    if (leads) CollectNorms(keys_, shape_.heads + key_head, amplitudes);
    Spread(places_.Query(head_, 0), queries_);
    CollectNorms(queries_, head_, amplitudes);
    CollectScores();
  }

 private:
  // rows (length, 2 lanes) = a head's coordinates by pairs; `at`: those of the first token.
  void Spread(int64_t at, float* rows) const {
    const Narrow* x = Data<Narrow>(shape_.qkv) + at;
    for (int t = 0; t < length_; ++t, x += places_.stride(), rows += 2 * lanes_) {
      for (const PairCopy& copy : copies_) {
        device_.narrow.widen(x + copy.from, copy.count, rows + copy.to);
      }
      std::fill(rows + pairs_, rows + lanes_, 0.0f);
      std::fill(rows + lanes_ + pairs_, rows + 2 * lanes_, 0.0f);
    }
  }

  // `at`: which head of q, k and v together. amplitudes: null = 1.
  void CollectNorms(const float* rows, int at, const float* amplitudes) {
    Zero();
    for (int t = 0, count = 1; t < length_; t += count) {
      count = t == 0 ? 1 : std::min(kStatisticsBlock, length_ - t);
      Add(t == 0 ? first_ : others_,
          [&] { device_.kernels.add_norms(rows + int64_t{2} * t * lanes_, count, lanes_, sums_); });
    }
    const int64_t to = (int64_t{row_} * (shape_.heads + 2 * shape_.kv_heads) + at) * pairs_;
    for (int k = 0; k < pairs_; ++k) {
      const double amplitude = amplitudes == nullptr ? 1 : amplitudes[k];
      Data(op_.first_norms)[to + k] = static_cast<float>(first_[k] / amplitude);
      Data(op_.norms)[to + k] = static_cast<float>(others_[k] / amplitude);
    }
  }

  void CollectScores() {
    Zero();
    double scores[HeadScore::kCount] = {};
    for (int first = 0; first < length_; first += kStatisticsBlock) {
      const int queries = std::min(kStatisticsBlock, length_ - first);
      const int visible = shape_.window > 0 ? std::max(0, first - shape_.window + 1) : 0;
      if (visible == 0) AddBlock(first, queries, 0, 1, first_, scores);
      // Blocks of keys begin behind the first one.
      for (int key = std::max(visible - 1, 0) / kStatisticsBlock * kStatisticsBlock + 1;
           key < first + queries; key += kStatisticsBlock) {
        AddBlock(first, queries, key, std::min(kStatisticsBlock, first + queries - key), others_,
                 scores);
      }
    }
    const double scale = 1 / std::sqrt(shape_.head_dim);
    const int64_t to = int64_t{row_} * shape_.heads + head_;
    for (int k = 0; k < pairs_; ++k) {
      Data(op_.first_contributions)[to * pairs_ + k] = static_cast<float>(first_[k] * scale);
      Data(op_.contributions)[to * pairs_ + k] = static_cast<float>(others_[k] * scale);
    }
    std::copy_n(scores, HeadScore::kCount, Data(op_.scores) + to * HeadScore::kCount);
  }

  void AddBlock(int first_query, int queries, int first_key, int keys, double* contributions,
                double* scores) {
    float block_scores[HeadScore::kCount] = {};
    Add(contributions, [&] {
      device_.kernels.add_statistics(
          {.query_rows = queries_ + int64_t{2} * first_query * lanes_,
           .key_rows = keys_ + int64_t{2} * first_key * lanes_,
           .pairs = lanes_,
           .first_query = first_query,
           .queries = queries,
           .first_key = first_key,
           .keys = keys,
           .window = shape_.window,
           .log_sum_exp = Data(shape_.log_sum_exp) + places_.LogSumExp(head_, first_query),
           .log_stride = shape_.heads,
           .scale = static_cast<float>(1 / std::sqrt(shape_.head_dim)),
           .slope = shape_.alibi_slopes ? Data(shape_.alibi_slopes)[head_] : 0},
          sums_, block_scores);
    });
    for (int s = 0; s < HeadScore::kCount; ++s) scores[s] += block_scores[s];
  }

  void Zero() {
    std::fill_n(first_, pairs_, 0.0);
    std::fill_n(others_, pairs_, 0.0);
  }
  // totals += what `add_to_sums` adds to sums_.
  template <typename AddToSums>
  void Add(double* totals, const AddToSums& add_to_sums) {
    std::fill_n(sums_, lanes_, 0.0f);
    add_to_sums();
    for (int k = 0; k < pairs_; ++k) totals[k] += sums_[k];
  }

  const NarrowDevice<Narrow>& device_;
  const AttentionStatistics& op_;
  const Attention& shape_;
  const std::span<const PairCopy> copies_;
  const Row places_;
  const int row_, head_, length_, pairs_, lanes_;
  float *const queries_, *const keys_, *const sums_;
  double *const first_, *const others_;
};

// How a head is laid out by pairs: first coordinates, then second ones. Neighbours that stay
// neighbours go together. Returns how many copies that takes.
size_t PlanCopies(const AttentionStatistics& op, PairCopy* copies) {
  const int pairs = op.attention.head_dim / 2, lanes = PairLanes(op.attention.head_dim);
  const int32_t* coordinates = Data(op.pairs);
  size_t count = 0;
  for (const int second : {0, 1}) {
    for (int k = 0; k < pairs; ++k) {
      const int from = coordinates[2 * k + second];
      PairCopy* last = k > 0 ? &copies[count - 1] : nullptr;
      if (last != nullptr && from == last->from + last->count) {
        ++last->count;
      } else {
        copies[count++] = {from, second * lanes + k, 1};
      }
    }
  }
  return count;
}

}  // namespace

template <typename Narrow>
void CollectAttentionStatistics(NarrowDevice<Narrow>& device, const AttentionStatistics& op) {
  const Attention& shape = op.attention;
  const StatisticsScratch scratch(device.workspace.Carve(), Shape(shape), device.threads());
  const std::span<const PairCopy> copies(scratch.copies, PlanCopies(op, scratch.copies));
  ForEachHead(device, shape.rows, shape.heads, [&](int row, int head, int thread) {
    HeadStatistics<Narrow>(device, op, scratch, copies, row, head, thread).Collect();
  });
}

template void CollectAttentionStatistics(NarrowDevice<float>&, const AttentionStatistics&);
template void CollectAttentionStatistics(NarrowDevice<Bf16>&, const AttentionStatistics&);

}  // namespace gyre::cpu
