#pragma once

// A folder of files that is there whole or not at all: it is written beside its place, as
// NAME.partial-ID, and goes away unless it is finished.

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

namespace gyre {

class NewFolder {
 public:
  /// FAILED_PRECONDITION: `folder` is there and not an empty folder.
  static Result<NewFolder> Create(const std::filesystem::path& folder);
  NewFolder(NewFolder&& other) noexcept;
  NewFolder& operator=(NewFolder&&) = delete;
  ~NewFolder();

  /// Text behind what the file has; its path is within the folder. Files are written one after the
  /// other. RESOURCE_EXHAUSTED: the disk is full.
  Status Append(const std::filesystem::path& file, std::string_view text);

  /// Puts it in its place. Nothing after it.
  Status Finish();

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const { (void)std::fclose(file); }
  };
  NewFolder(std::filesystem::path folder, std::filesystem::path partial)
      : folder_(std::move(folder)), partial_(std::move(partial)) {}
  Status Close();
  Status Failed(std::string_view what) const;

  std::filesystem::path folder_, partial_;  // partial_ is empty once it is in its place, or moved
  std::filesystem::path name_;              // of the open file
  std::unique_ptr<std::FILE, CloseFile> file_;
};

}  // namespace gyre
