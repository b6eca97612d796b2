#include "cli/picture_file.h"

#include "base/files.h"
#include "cli/gnuplot.h"
#include "cli/output_table.h"

namespace gyre {

Result<PictureFile> PictureFile::At(const std::string& path) {
  PictureFile file;
  file.path_ = path;
  const std::string extension = file.path_.extension().string();
  if (extension == ".csv") {
    file.csv_ = true;
  } else if (extension == ".png") {
    file.format_ = PictureFormat::kPng;
  } else if (extension == ".pdf") {
    file.format_ = PictureFormat::kPdf;
  } else if (extension != ".svg") {
    return InvalidArgument("--output must end with .svg, .png, .pdf or .csv, and is '" + path +
                           "'");
  }
  return file;
}

Status PictureFile::Write(const Plot& plot) const {
  if (csv_) return WriteFileAtomically(path_, RenderCsv(plot.rows));
  GYRE_ASSIGN_OR_RETURN(const std::string picture, DrawPicture(plot, format_));
  return WriteFileAtomically(path_, picture);
}

}  // namespace gyre
