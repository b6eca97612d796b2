#pragma once

// Where a head lies in the packed arrays of attention, and which keys and queries see each other.

#include "trainer/backend/cuda/kernels/gpu.h"
#include "trainer/backend/cuda/kernels/kernels.h"

namespace gyre::cuda {

/// Where a head of a row lies: elements before that of its first token. Those of the next tokens
/// follow `stride` (qkv) or heads * head_dim (output) elements apart.
struct HeadPlace {
  __device__ HeadPlace(const AttentionShape& shape, int row, int head)
      : token(int64_t{row} * shape.length),
        stride((shape.heads + 2 * shape.kv_heads) * shape.head_dim),
        output_stride(shape.heads * shape.head_dim),
        query(token * stride + int64_t{head} * shape.head_dim),
        output(token * output_stride + int64_t{head} * shape.head_dim) {
    const int kv_head = head / (shape.heads / shape.kv_heads);
    key = token * stride + int64_t{shape.heads + kv_head} * shape.head_dim;
    value = key + int64_t{shape.kv_heads} * shape.head_dim;
  }

  int64_t token;
  int stride, output_stride;
  int64_t query, output;
  int64_t key, value;
};

/// The first key that query i sees; queries beyond the row see as the last one does.
__device__ __forceinline__ int FirstKey(const AttentionShape& shape, int row, int i) {
  i = min(i, shape.length - 1);
  int first = shape.window > 0 ? max(0, i - shape.window + 1) : 0;
  if (shape.document_starts != nullptr) {
    first = max(first, shape.document_starts[int64_t{row} * shape.length + i]);
  }
  return first;
}

/// The end of the queries that see any of the keys first .. last: neither windows nor documents
/// ever reach further back as queries go on.
__device__ __forceinline__ int EndOfQueries(const AttentionShape& shape, int row, int first,
                                            int last) {
  const int end = shape.window > 0 ? min(shape.length, last + shape.window) : shape.length;
  if (shape.document_starts == nullptr) return end;
  const int32_t* starts = shape.document_starts + int64_t{row} * shape.length;
  int low = min(first, end), high = end;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (starts[middle] > last) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

}  // namespace gyre::cuda
