#include "trainer/backend/reference/reference_backend.h"

#include <algorithm>
#include <new>
#include <type_traits>

#include "trainer/backend/reference/adamw.h"
#include "trainer/backend/reference/attention.h"
#include "trainer/backend/reference/attention_statistics.h"
#include "trainer/backend/reference/cross_entropy.h"
#include "trainer/backend/reference/embedding.h"
#include "trainer/backend/reference/linear.h"
#include "trainer/backend/reference/mlp.h"
#include "trainer/backend/reference/norm.h"
#include "trainer/backend/reference/norm_qkv.h"
#include "trainer/collective/communicator.h"

namespace gyre {
namespace {

template <typename Element, typename Tag>
BackendError AllocateZeros(int64_t count, Place<Tag>* place) {
  constexpr int64_t kMost = int64_t{1} << 40;  // nobody waits for plain loops over more
  *place = {};
  if (count <= kMost) {
    place->memory = new (std::nothrow) Element[static_cast<size_t>(std::max<int64_t>(count, 1))]();
  }
  if (*place) return {};
  return {BackendError::Kind::kOutOfMemory, "no memory for " + std::to_string(count) + " elements"};
}

template <typename T>
class ReferenceBackend : public Backend {
 public:
  BackendError Allocate(int64_t count, Reals* place) override {
    return AllocateZeros<T>(count, place);
  }
  BackendError Allocate(int64_t count, Narrows* place) override {
    return AllocateZeros<T>(count, place);
  }
  BackendError Allocate(int64_t count, Ints* place) override {
    return AllocateZeros<int32_t>(count, place);
  }
  void Free(Reals place) override { delete[] static_cast<T*>(place.memory); }
  void Free(Narrows place) override { delete[] static_cast<T*>(place.memory); }
  void Free(Ints place) override { delete[] static_cast<int32_t*>(place.memory); }
  BackendError Reserve(const WorkspaceShape&) override { return {}; }

  void Write(Reals to, std::span<const double> values) override {
    std::copy(values.begin(), values.end(), reference::Data<T>(to));
  }
  void Write(Narrows to, std::span<const double> values) override {
    std::copy(values.begin(), values.end(), reference::Data<T>(to));
  }
  void Write(Ints to, std::span<const int32_t> values) override {
    std::copy(values.begin(), values.end(), reference::Data(to));
  }
  BackendError Read(Reals from, std::span<double> values) override {
    if (!error_.ok()) return error_;
    std::copy_n(reference::Data<T>(from), values.size(), values.begin());
    return {};
  }
  BackendError Read(Narrows from, std::span<double> values) override {
    if (!error_.ok()) return error_;
    std::copy_n(reference::Data<T>(from), values.size(), values.begin());
    return {};
  }
  void Zero(Reals place, int64_t count) override {
    std::fill_n(reference::Data<T>(place), count, T{0});
  }

  void EmbeddingForward(const Embedding& op) override { reference::EmbeddingForward<T>(op); }
  void EmbeddingBackward(const Embedding& op, Reals dx, Reals d_table) override {
    reference::EmbeddingBackward<T>(op, dx, d_table);
  }
  void NormForward(const Norm& op) override { reference::NormForward<T>(op); }
  void NormBackward(const Norm& op, Reals dy, Reals dx, Reals d_weight) override {
    reference::NormBackward<T>(op, dy, dx, d_weight);
  }
  void NormQkvForward(const NormQkv& op) override { reference::NormQkvForward<T>(op); }
  void NormQkvBackward(const NormQkv& op, const NormQkvGradients& gradients) override {
    reference::NormQkvBackward<T>(op, gradients);
  }
  void AttentionForward(const Attention& op) override { reference::AttentionForward<T>(op); }
  void AttentionBackward(const Attention& op, const AttentionGradients& gradients) override {
    reference::AttentionBackward<T>(op, gradients);
  }
  void CollectAttentionStatistics(const AttentionStatistics& op) override {
    reference::CollectAttentionStatistics<T>(op);
  }
  void LinearResidualForward(const LinearResidual& op) override {
    reference::LinearResidualForward<T>(op);
  }
  void LinearResidualBackward(const LinearResidual& op,
                              const LinearResidualGradients& gradients) override {
    reference::LinearResidualBackward<T>(op, gradients);
  }
  void MlpForward(const Mlp& op) override { reference::MlpForward<T>(op); }
  void MlpBackward(const Mlp& op, const MlpGradients& gradients) override {
    reference::MlpBackward<T>(op, gradients);
  }
  void LinearCrossEntropyForward(const LinearCrossEntropy& op) override {
    reference::LinearCrossEntropyRows<T>(op, nullptr);
  }
  void LinearCrossEntropyForwardBackward(const LinearCrossEntropy& op,
                                         const LinearCrossEntropyGradients& gradients) override {
    reference::LinearCrossEntropyRows<T>(op, &gradients);
  }
  void Linear(int64_t tokens, int inputs, int outputs, Reals x, Reals weight, Reals y) override {
    reference::Linear<T>(tokens, inputs, outputs, x, weight, y);
  }
  void Norm2(Reals x, int64_t count, Reals norm) override { reference::Norm2<T>(x, count, norm); }
  void AdamWStep(const AdamW& op) override { reference::AdamWStep<T>(op); }
  void AllReduce(Reals place, int64_t count, Communicator& ranks) override {
    if (!error_.ok()) return;
    T* values = reference::Data<T>(place);
    if constexpr (std::is_same_v<T, double>) {
      error_ = ranks.Sum({values, static_cast<size_t>(count)});
    } else {
      error_ = ranks.Sum(values, count, nullptr);
    }
  }

 private:
  BackendError error_;
};

}  // namespace

std::unique_ptr<Backend> CreateReferenceBackend() {
  return std::make_unique<ReferenceBackend<float>>();
}

std::unique_ptr<Backend> CreateDoubleReferenceBackend() {
  return std::make_unique<ReferenceBackend<double>>();
}

}  // namespace gyre
