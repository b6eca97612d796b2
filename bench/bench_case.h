#pragma once

// What is measured: a shape, a family of models and a precision. Everybody who takes part is told
// the same numbers.

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "trainer/config/job_config.h"
#include "trainer/model/batch.h"

namespace gyre {

struct BenchShape {
  std::string name;
  int layers = 0, hidden = 0, intermediate = 0, heads = 0, vocab = 0, context = 0, rows = 0;
  bool gyre_alone = false;  // others would hold context x context numbers a head
  int head_dim = 0;         // 0: hidden / heads
  std::string family;       // the only one it is measured with; empty: any

  int64_t tokens() const { return int64_t{rows} * context; }  // of a step
};

/// quick, S, M, long (S at a context of 8192), tiny (for tests); and for GPUs 124M and 124M-8k
/// (GPT-2's smallest), 1B and 1B-8k (Gemma 3's smallest), each at a context of 1024 and of 8192.
const std::vector<BenchShape>& BenchShapes();

struct BenchCase {
  BenchShape shape;
  std::string family;                 // gpt | llama | gemma
  std::string precision = "float32";  // float32 | tf32 | bf16
  int threads = 1;
  std::string backend = "cpu";  // cpu | cuda | cuda:N

  bool on_gpu() const { return backend != "cpu"; }
  ModelConfig Model() const;
  /// What every matrix product of a step takes, backward twice the forward, of attention the full
  /// square: 6 x weights in products + 12 x layers x width of all heads x context (the convention
  /// of PaLM, appendix B).
  double FlopsPerToken() const;
  /// "S llama float32".
  std::string Name() const;
  /// As flags, for a process of this program that takes part.
  std::vector<std::string> Arguments() const;
  /// As one object, for pytorch_steps.py.
  Json Numbers() const;
};

/// INVALID_ARGUMENT lists what there is.
Result<BenchCase> FindBenchCase(const std::string& shape, const std::string& family,
                                const std::string& precision, int threads);

/// Random tokens with random targets: the same for the same shape.
Batch RandomBatch(const BenchShape& shape);

}  // namespace gyre
