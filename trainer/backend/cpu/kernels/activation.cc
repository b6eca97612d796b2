#include "trainer/backend/cpu/kernels/activation.h"

namespace gyre::cpu::GYRE_INSTRUCTION_SET {
namespace {

template <bool kFar, typename Lanes, typename Narrow>
void Keep(Lanes lanes, Floats x, Narrow* p) {
  kFar ? Stream(lanes, x, p) : Store(lanes, x, p);
}

template <typename A, bool kGated, bool kFar, typename Narrow>
[[gnu::flatten]] void ActivateRows(const ActivatedRows& op, const Narrow* gate_up, Narrow* kept,
                                   Narrow* activated) {
  const int n = op.intermediate;
  for (int64_t row = 0; row < op.rows; ++row) {
    const int64_t at = row * (kGated ? 2 * n : n);
    const Narrow *gate = gate_up + at, *up = gate + n;
    Narrow *kept_gate = kept + at, *kept_up = kept_gate + n;
    Narrow* out = activated + row * n;
    ForLanes(n, [=](int64_t i, auto lanes) {
      const Floats z = Load(lanes, gate + i), active = Active<A>(z);
      Keep<kFar>(lanes, z, kept_gate + i);
      if constexpr (kGated) {
        const Floats u = Load(lanes, up + i);
        Keep<kFar>(lanes, u, kept_up + i);
        Store(lanes, active * u, out + i);
      } else {
        Store(lanes, active, out + i);
      }
    });
  }
}

template <typename A, bool kGated, typename Narrow>
[[gnu::flatten]] void ActivateRowsBackward(const ActivatedRows& op, const Narrow* gate_up,
                                           const Narrow* d_activated, Narrow* d_gate_up,
                                           Narrow* activated) {
  const int n = op.intermediate;
  for (int64_t row = 0; row < op.rows; ++row) {
    const int64_t at = row * (kGated ? 2 * n : n);
    const Narrow *gate = gate_up + at, *up = gate + n;
    const Narrow* d_out = d_activated + row * n;
    Narrow *d_gate = d_gate_up + at, *d_up = d_gate + n;
    Narrow* out = activated + row * n;
    ForLanes(n, [=](int64_t i, auto lanes) {
      const Floats z = Load(lanes, gate + i), d = Load(lanes, d_out + i);
      const auto [active, slope] = ActiveAndSlope<A>(z);
      if constexpr (kGated) {
        const Floats u = Load(lanes, up + i);
        Store(lanes, d * u * slope, d_gate + i);
        Store(lanes, d * active, d_up + i);
        Store(lanes, active * u, out + i);
      } else {
        Store(lanes, d * slope, d_gate + i);
        Store(lanes, active, out + i);
      }
    });
  }
}

// Whether whole registers of every row are aligned.
template <typename Narrow>
bool Aligned(const Narrow* rows, int n) {
  constexpr uintptr_t kBytes = kWidth * sizeof(Narrow);
  return reinterpret_cast<uintptr_t>(rows) % kBytes == 0 && n % kWidth == 0;
}

template <typename A, bool kGated, typename Narrow>
void ActivateNearOrFar(const ActivatedRows& op, const Narrow* gate_up, Narrow* kept,
                       Narrow* activated) {
  const bool far = op.far && Aligned(kept, op.intermediate);
  (far ? ActivateRows<A, kGated, true, Narrow>
       : ActivateRows<A, kGated, false, Narrow>)(op, gate_up, kept, activated);
}

template <typename Narrow>
void Activate(const ActivatedRows& op, const Narrow* gate_up, Narrow* kept, Narrow* activated) {
  const bool silu = op.activation == Activation::kSilu;
  const auto rows = op.gated ? (silu ? ActivateNearOrFar<Silu, true, Narrow>
                                     : ActivateNearOrFar<GeluTanh, true, Narrow>)
                             : (silu ? ActivateNearOrFar<Silu, false, Narrow>
                                     : ActivateNearOrFar<GeluTanh, false, Narrow>);
  rows(op, gate_up, kept, activated);
}

template <typename Narrow>
void ActivateBackward(const ActivatedRows& op, const Narrow* gate_up, const Narrow* d_activated,
                      Narrow* d_gate_up, Narrow* activated) {
  const bool silu = op.activation == Activation::kSilu;
  const auto rows = op.gated ? (silu ? ActivateRowsBackward<Silu, true, Narrow>
                                     : ActivateRowsBackward<GeluTanh, true, Narrow>)
                             : (silu ? ActivateRowsBackward<Silu, false, Narrow>
                                     : ActivateRowsBackward<GeluTanh, false, Narrow>);
  rows(op, gate_up, d_activated, d_gate_up, activated);
}

template <typename Narrow>
void Add(NarrowKernels<Narrow>* kernels) {
  kernels->activate = Activate<Narrow>;
  kernels->activate_backward = ActivateBackward<Narrow>;
}

}  // namespace

void AddActivation(Kernels* kernels) {
  Add(&kernels->to_float);
  Add(&kernels->to_bf16);
}

}  // namespace gyre::cpu::GYRE_INSTRUCTION_SET
