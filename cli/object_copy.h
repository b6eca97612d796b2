#pragma once

// Objects from one folder of this machine into another, beside a backup and back.

#include <cstdint>
#include <filesystem>
#include <vector>

#include "base/status.h"
#include "objects/object_ref.h"

namespace gyre {

struct CopiedObjects {
  int copied = 0, there = 0;       // anew, and before
  std::vector<ObjectRef> missing;  // not in `from`
};

/// Copies what `to` lacks, each verified by its hash. RESOURCE_EXHAUSTED: the disk is full; what
/// was copied stays, and the next time goes on.
Result<CopiedObjects> CopyObjects(const std::filesystem::path& from,
                                  const std::filesystem::path& to,
                                  const std::vector<ObjectRef>& objects);

/// "3 objects copied to DIR, 2 were there; 1 is missing in FROM", and a line for each missing one.
void SayCopied(const CopiedObjects& copied, const std::filesystem::path& from,
               const std::filesystem::path& to);

}  // namespace gyre
