#include "proto/object_messages.h"

#include <string>

namespace gyre {

Result<ObjectRef> FromProto(const v1::ObjectRef& ref) {
  const bool dataset = ref.kind() == v1::OBJECT_KIND_DATASET;
  if (!dataset && ref.kind() != v1::OBJECT_KIND_OBJECT)
    return InvalidArgument("neither a data set nor an object is asked for");
  if (!IsObjectHash(ref.hash()))
    return InvalidArgument("data sets and objects are named by 64 lower-case hex digits");
  return ObjectRef{dataset ? ObjectKind::kDataset : ObjectKind::kObject, ref.hash()};
}

void ToProto(const ObjectRef& ref, v1::ObjectRef* out) {
  out->set_kind(ref.kind == ObjectKind::kDataset ? v1::OBJECT_KIND_DATASET
                                                 : v1::OBJECT_KIND_OBJECT);
  out->set_hash(ref.hash);
}

std::vector<ObjectFile> FromProto(const v1::FileList& files) {
  std::vector<ObjectFile> out;
  for (const v1::FileInfo& file : files.files())
    out.push_back({file.name(), file.bytes(), file.sha256()});
  return out;
}

void ToProto(const std::vector<ObjectFile>& files, v1::FileList* out) {
  for (const ObjectFile& file : files) {
    v1::FileInfo* info = out->add_files();
    info->set_name(file.name);
    info->set_bytes(file.bytes);
    info->set_sha256(file.sha256);
  }
}

FileOffsets FromProto(const google::protobuf::RepeatedPtrField<v1::FileOffset>& offsets) {
  FileOffsets out;
  for (const v1::FileOffset& offset : offsets) out[offset.file()] = offset.offset();
  return out;
}

void ToProto(const FileOffsets& offsets, google::protobuf::RepeatedPtrField<v1::FileOffset>* out) {
  for (const auto& [file, offset] : offsets) {
    v1::FileOffset* added = out->Add();
    added->set_file(file);
    added->set_offset(offset);
  }
}

Result<FileChunk> FromProto(const v1::Chunk& chunk) {
  if (chunk.data().size() > kMaxChunkBytes) {
    return InvalidArgument("a chunk has " + std::to_string(chunk.data().size()) +
                           " bytes, more than " + std::to_string(kMaxChunkBytes));
  }
  return FileChunk{chunk.file(), chunk.offset(), chunk.data()};
}

void ToProto(const FileChunk& chunk, v1::Chunk* out) {
  out->set_file(chunk.file);
  out->set_offset(chunk.offset);
  out->set_data(chunk.data.data(), chunk.data.size());
}

}  // namespace gyre
