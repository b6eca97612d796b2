#pragma once

// A Backend that passes everything on to another and adds up the processor time of each kind of
// operation.

#include <map>
#include <string>
#include <utility>

#include "bench/step_server.h"
#include "trainer/backend/backend.h"

namespace gyre {

class TimedBackend : public Backend {
 public:
  explicit TimedBackend(Backend* backend) : backend_(*backend) {}

  /// Seconds by kind since the last call.
  std::map<std::string, double> TakeSeconds() { return std::exchange(seconds_, {}); }

  BackendError Allocate(int64_t count, Reals* place) override {
    return backend_.Allocate(count, place);
  }
  BackendError Allocate(int64_t count, Narrows* place) override {
    return backend_.Allocate(count, place);
  }
  BackendError Allocate(int64_t count, Ints* place) override {
    return backend_.Allocate(count, place);
  }
  void Free(Reals place) override { backend_.Free(place); }
  void Free(Narrows place) override { backend_.Free(place); }
  void Free(Ints place) override { backend_.Free(place); }
  BackendError Reserve(const WorkspaceShape& shape) override { return backend_.Reserve(shape); }
  void Write(Reals to, std::span<const double> values) override { backend_.Write(to, values); }
  void Write(Narrows to, std::span<const double> values) override { backend_.Write(to, values); }
  void Write(Ints to, std::span<const int32_t> values) override { backend_.Write(to, values); }
  BackendError Read(Reals from, std::span<double> values) override {
    return backend_.Read(from, values);
  }
  BackendError Read(Narrows from, std::span<double> values) override {
    return backend_.Read(from, values);
  }
  void Zero(Reals place, int64_t count) override {
    Time("zero", [&] { backend_.Zero(place, count); });
  }
  void EmbeddingForward(const Embedding& op) override {
    Time("embedding", [&] { backend_.EmbeddingForward(op); });
  }
  void EmbeddingBackward(const Embedding& op, Reals dx, Reals d_table) override {
    Time("embedding", [&] { backend_.EmbeddingBackward(op, dx, d_table); });
  }
  void NormForward(const Norm& op) override {
    Time("final norm", [&] { backend_.NormForward(op); });
  }
  void NormBackward(const Norm& op, Reals dy, Reals dx, Reals d_weight) override {
    Time("final norm", [&] { backend_.NormBackward(op, dy, dx, d_weight); });
  }
  void NormQkvForward(const NormQkv& op) override {
    Time("norm, qkv, rotation: forward", [&] { backend_.NormQkvForward(op); });
  }
  void NormQkvBackward(const NormQkv& op, const NormQkvGradients& g) override {
    Time("norm, qkv, rotation: backward", [&] { backend_.NormQkvBackward(op, g); });
  }
  void AttentionForward(const Attention& op) override {
    Time("attention: forward", [&] { backend_.AttentionForward(op); });
  }
  void AttentionBackward(const Attention& op, const AttentionGradients& g) override {
    Time("attention: backward", [&] { backend_.AttentionBackward(op, g); });
  }
  void CollectAttentionStatistics(const AttentionStatistics& op) override {
    Time("attention: statistics", [&] { backend_.CollectAttentionStatistics(op); });
  }
  void LinearResidualForward(const LinearResidual& op) override {
    Time("out: forward", [&] { backend_.LinearResidualForward(op); });
  }
  void LinearResidualBackward(const LinearResidual& op, const LinearResidualGradients& g) override {
    Time("out: backward", [&] { backend_.LinearResidualBackward(op, g); });
  }
  void MlpForward(const Mlp& op) override {
    Time("mlp: forward", [&] { backend_.MlpForward(op); });
  }
  void MlpBackward(const Mlp& op, const MlpGradients& g) override {
    Time("mlp: backward", [&] { backend_.MlpBackward(op, g); });
  }
  void LinearCrossEntropyForward(const LinearCrossEntropy& op) override {
    Time("cross-entropy", [&] { backend_.LinearCrossEntropyForward(op); });
  }
  void LinearCrossEntropyForwardBackward(const LinearCrossEntropy& op,
                                         const LinearCrossEntropyGradients& g) override {
    Time("cross-entropy", [&] { backend_.LinearCrossEntropyForwardBackward(op, g); });
  }
  void Linear(int64_t tokens, int inputs, int outputs, Reals x, Reals weight, Reals y) override {
    Time("linear", [&] { backend_.Linear(tokens, inputs, outputs, x, weight, y); });
  }
  void Norm2(Reals x, int64_t count, Reals norm) override {
    Time("gradient norm", [&] { backend_.Norm2(x, count, norm); });
  }
  void AdamWStep(const AdamW& op) override {
    Time("adamw", [&] { backend_.AdamWStep(op); });
  }
  void AllReduce(Reals place, int64_t count, Communicator& ranks) override {
    Time("all-reduce", [&] { backend_.AllReduce(place, count, ranks); });
  }

 private:
  template <typename Operation>
  void Time(const char* kind, const Operation& operation) {
    const double start = ProcessSeconds();
    operation();
    seconds_[kind] += ProcessSeconds() - start;
  }

  Backend& backend_;
  std::map<std::string, double> seconds_;
};

}  // namespace gyre
