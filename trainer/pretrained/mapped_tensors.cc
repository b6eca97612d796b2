#include "trainer/pretrained/mapped_tensors.h"

#include <sys/mman.h>

#include <utility>

namespace gyre {
namespace {

// Of types that only travel: safetensors'.
int64_t ValueBytes(const std::string& dtype) {
  static const std::map<std::string, int64_t> kBytes = {
      {"F64", 8}, {"I64", 8}, {"U64", 8}, {"I32", 4},  {"U32", 4},     {"I16", 2},
      {"U16", 2}, {"I8", 1},  {"U8", 1},  {"BOOL", 1}, {"F8_E4M3", 1}, {"F8_E5M2", 1}};
  const auto found = kBytes.find(dtype);
  return found == kBytes.end() ? 0 : found->second;
}

}  // namespace

void MappedTensors::DropPages() const {
  const std::string_view all = bytes();
  if (!all.empty()) (void)madvise(const_cast<char*>(all.data()), all.size(), MADV_DONTNEED);
}

Status MappedTensors::Add(TensorEntry tensor) {
  const size_t size = data_bytes();
  if (tensor.offset > size || tensor.bytes > size - tensor.offset) {
    return DataLoss("tensor " + tensor.name + " lies outside the file, which has " +
                    std::to_string(size) + " bytes of values");
  }
  const int64_t count = ValueCount(tensor.shape);
  bool fits = BytesOfValues(tensor.dtype, count) == static_cast<int64_t>(tensor.bytes);
  if (const int64_t bytes = ValueBytes(tensor.dtype); bytes > 0) {
    fits = count >= 0 && tensor.bytes % static_cast<uint64_t>(bytes) == 0 &&
           tensor.bytes / static_cast<uint64_t>(bytes) == static_cast<uint64_t>(count);
  } else if (BytesOfValues(tensor.dtype, 0) < 0) {
    return DataLoss("tensor " + tensor.name + " has the unknown type " + tensor.dtype);
  }
  if (!fits) {
    return DataLoss("tensor " + tensor.name + " has a shape that does not fit its " +
                    std::to_string(tensor.bytes) + " bytes");
  }
  if (!by_name_.emplace(tensor.name, tensors_.size()).second) {
    return DataLoss("two tensors named " + tensor.name);
  }
  tensors_.push_back(std::move(tensor));
  return OkStatus();
}

Status MappedTensors::Change(const std::function<bool(TensorEntry*)>& change) {
  by_name_.clear();
  for (TensorEntry& tensor : std::exchange(tensors_, {})) {
    if (change(&tensor)) GYRE_RETURN_IF_ERROR(Add(std::move(tensor)));
  }
  return OkStatus();
}

const TensorEntry* MappedTensors::Find(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &tensors_[found->second];
}

Status MappedTensors::Read(const TensorEntry& tensor, int64_t first,
                           std::span<float> values) const {
  const int64_t count = ValueCount(tensor.shape), wanted = static_cast<int64_t>(values.size());
  if (first < 0 || first > count || wanted > count - first) {
    return InvalidArgument("tensor " + tensor.name + " has " + std::to_string(count) +
                           " values, not " + std::to_string(wanted) + " from " +
                           std::to_string(first) + " on");
  }
  GYRE_RETURN_IF_ERROR(CheckReadable(tensor));
  ReadValues(tensor.dtype, file_.bytes().data() + data_at_ + tensor.offset, first, values);
  if (tensor.added != 0) {
    for (float& value : values) value += tensor.added;
  }
  return OkStatus();
}

}  // namespace gyre
