#pragma once

// The messages of ObjectService as the values of objects/, for the service and the client alike.
// What a partner sends is not checked here; CheckObjectFiles and IsObjectHash do.

#include <vector>

#include "gyre/v1/object_service.pb.h"
#include "objects/object_store.h"

namespace gyre {

/// INVALID_ARGUMENT: no kind, or no hash.
Result<ObjectRef> FromProto(const v1::ObjectRef& ref);
void ToProto(const ObjectRef& ref, v1::ObjectRef* out);

std::vector<ObjectFile> FromProto(const v1::FileList& files);
void ToProto(const std::vector<ObjectFile>& files, v1::FileList* out);

FileOffsets FromProto(const google::protobuf::RepeatedPtrField<v1::FileOffset>& offsets);
void ToProto(const FileOffsets& offsets, google::protobuf::RepeatedPtrField<v1::FileOffset>* out);

/// Looks into the message, which must outlive it. INVALID_ARGUMENT: too large.
Result<FileChunk> FromProto(const v1::Chunk& chunk);
void ToProto(const FileChunk& chunk, v1::Chunk* out);

}  // namespace gyre
