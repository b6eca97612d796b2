#include "cli/object_copy.h"

#include <cstdio>

#include "objects/incoming_object.h"
#include "objects/object_store.h"

namespace gyre {
namespace {

Status CopyOne(const ObjectStore& from, const ObjectStore& to, const ObjectRef& ref) {
  GYRE_ASSIGN_OR_RETURN(const std::vector<ObjectFile> files, from.FilesOf(ref));
  GYRE_ASSIGN_OR_RETURN(IncomingObject incoming, IncomingObject::Open(to, ref, files));
  Status appended = OkStatus();
  GYRE_RETURN_IF_ERROR(from.ReadChunks(ref, files, incoming.offsets(), [&](const FileChunk& chunk) {
    appended = incoming.Append(chunk);
    return appended.ok();
  }));
  GYRE_RETURN_IF_ERROR(appended);
  return incoming.Finish();
}

}  // namespace

Result<CopiedObjects> CopyObjects(const std::filesystem::path& from,
                                  const std::filesystem::path& to,
                                  const std::vector<ObjectRef>& objects) {
  const ObjectStore source(from), target(to);
  CopiedObjects copied;
  for (const ObjectRef& ref : objects) {
    if (target.Has(ref)) {
      ++copied.there;
    } else if (!source.Has(ref)) {
      copied.missing.push_back(ref);
    } else {
      GYRE_RETURN_IF_ERROR(CopyOne(source, target, ref).WithContext(ToString(ref)));
      ++copied.copied;
    }
  }
  return copied;
}

void SayCopied(const CopiedObjects& copied, const std::filesystem::path& from,
               const std::filesystem::path& to) {
  std::printf("copied %d objects to %s, %d were there\n", copied.copied, to.c_str(), copied.there);
  for (const ObjectRef& ref : copied.missing) {
    std::printf("missing in %s: %s\n", from.c_str(), ToString(ref).c_str());
  }
}

}  // namespace gyre
