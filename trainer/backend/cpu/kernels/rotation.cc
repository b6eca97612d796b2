#include "trainer/backend/cpu/kernels/kernels.h"
#include "trainer/backend/cpu/kernels/lanes.h"

namespace gyre::cpu::GYRE_INSTRUCTION_SET {
namespace {

// Coordinates a, a + 1, ... turn with b, b + 1, ...
template <typename In, typename Out>
void TurnHalves(const PairRun& run, const float* cosine, const float* sine, float direction,
                const In* x, Out* y) {
  ForLanes(run.count, [=, a = run.a, b = run.b](int64_t i, auto lanes) {
    const Floats c = Load(lanes, cosine + i), s = direction * Load(lanes, sine + i);
    const Floats at_a = Load(lanes, x + a + i), at_b = Load(lanes, x + b + i);
    Store(lanes, at_a * c - at_b * s, y + a + i);
    Store(lanes, at_b * c + at_a * s, y + b + i);
  });
}

// The numbers 0 and 1 of every pair, or those of the pairs in the upper half of a register.
Floats Twice(Floats x, int first) { return __builtin_shuffle(x, Count() / 2 + first); }

// Coordinates a and a + 1 turn, then a + 2 and a + 3, ...
template <typename In, typename Out>
void TurnNeighbours(const PairRun& run, const float* cosine, const float* sine, float direction,
                    const In* x, Out* y) {
  const Floats sign = (Count() & 1) == 0 ? Broadcast(-direction) : Broadcast(direction);
  const auto turn = [=](auto lanes, Floats c, Floats s, const In* from, Out* to) {
    const Floats both = Load(lanes, from);
    Store(lanes, both * c + Swapped(both, 1) * (sign * s), to);
  };
  const In* from = x + run.a;
  Out* to = y + run.a;
  int64_t i = 0;
  for (; i + kWidth <= run.count; i += kWidth) {
    const Floats c = Load(Whole{}, cosine + i), s = Load(Whole{}, sine + i);
    turn(Whole{}, Twice(c, 0), Twice(s, 0), from + 2 * i, to + 2 * i);
    turn(Whole{}, Twice(c, kWidth / 2), Twice(s, kWidth / 2), from + 2 * i + kWidth,
         to + 2 * i + kWidth);
  }
  const int left = static_cast<int>(run.count - i);
  if (left == 0) return;
  const int low = 2 * left < kWidth ? 2 * left : kWidth;
  const Floats c = Load(Part{left}, cosine + i), s = Load(Part{left}, sine + i);
  turn(Part{low}, Twice(c, 0), Twice(s, 0), from + 2 * i, to + 2 * i);
  turn(Part{2 * left - low}, Twice(c, kWidth / 2), Twice(s, kWidth / 2), from + 2 * i + low,
       to + 2 * i + low);
}

// Whatever the run says, a pair at a time.
template <typename In, typename Out>
void TurnPairs(const PairRun& run, const float* cosine, const float* sine, float direction,
               const In* x, Out* y) {
  for (int i = 0; i < run.count; ++i) {
    const int a = run.a + i * run.stride, b = run.b + i * run.stride;
    const Floats at_a = Load(Part{1}, x + a), at_b = Load(Part{1}, x + b);
    const float c = cosine[i], s = direction * sine[i];
    Store(Part{1}, at_a * c - at_b * s, y + a);
    Store(Part{1}, at_b * c + at_a * s, y + b);
  }
}

template <typename In, typename Out>
void Copy(const In* x, int64_t count, Out* y) {
  ForLanes(count, [=](int64_t i, auto lanes) { Store(lanes, Load(lanes, x + i), y + i); });
}

// Where numbers stay where they are, y is x.
template <typename In, typename Out>
[[gnu::flatten]] void Turn(const RotatedRows& op, float direction, const In* x, Out* y) {
  int turned = 0;
  for (int r = 0; r < op.run_count; ++r) turned += 2 * op.runs[r].count;
  const int all_heads = op.heads * op.head_dim;
  const int untouched = turned < op.head_dim ? 0 : all_heads;
  for (int64_t token = 0; token < op.count; ++token, x += op.width, y += op.width) {
    if (static_cast<const void*>(x) != y) Copy(x + untouched, op.width - untouched, y + untouched);
    const int64_t place = (op.first + token) % op.length * op.pairs;
    for (int r = 0; r < op.run_count; ++r) {
      const PairRun& run = op.runs[r];
      const float* cosine = op.cosine + place + run.pair;
      const float* sine = op.sine + place + run.pair;
      for (int head = 0; head < all_heads; head += op.head_dim) {
        if (run.stride == 1) {
          TurnHalves(run, cosine, sine, direction, x + head, y + head);
        } else if (run.stride == 2 && run.b == run.a + 1) {
          TurnNeighbours(run, cosine, sine, direction, x + head, y + head);
        } else {
          TurnPairs(run, cosine, sine, direction, x + head, y + head);
        }
      }
    }
  }
}

template <typename Narrow>
void Rotate(const RotatedRows& op, float* x, Narrow* y) {
  Turn<float, Narrow>(op, 1, x, y);
}
template <typename Narrow>
void RotateBack(const RotatedRows& op, const Narrow* x, float* y) {
  Turn<Narrow, float>(op, -1, x, y);
}

template <typename Narrow>
void RotateBackInPlace(const RotatedRows& op, Narrow* x) {
  Turn<Narrow, Narrow>(op, -1, x, x);
}

template <typename Narrow>
void Add(NarrowKernels<Narrow>* kernels) {
  kernels->rotate = Rotate<Narrow>;
  kernels->rotate_back = RotateBack<Narrow>;
  kernels->rotate_back_in_place = RotateBackInPlace<Narrow>;
}

}  // namespace

void AddRotation(Kernels* kernels) {
  Add(&kernels->to_float);
  Add(&kernels->to_bf16);
}

}  // namespace gyre::cpu::GYRE_INSTRUCTION_SET
