#pragma once

// -o FILE of every command that draws: a picture in the format that the name's ending says, or,
// with .csv, the rows that the picture shows.

#include <filesystem>
#include <string>

#include "base/status.h"
#include "results/plots/plot.h"

namespace gyre {

class PictureFile {
 public:
  /// INVALID_ARGUMENT: the name ends otherwise than with .svg, .png, .pdf or .csv.
  static Result<PictureFile> At(const std::string& path);

  /// Errors as DrawPicture() and WriteFileAtomically() have them.
  Status Write(const Plot& plot) const;

 private:
  std::filesystem::path path_;
  bool csv_ = false;
  PictureFormat format_ = PictureFormat::kSvg;
};

}  // namespace gyre
