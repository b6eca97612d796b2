#include "worker/job_uploads.h"

#include <string>
#include <utility>

namespace gyre {

UploaderOptions UploadsOf(JobFiles* files, int64_t job_id) {
  UploaderOptions uploads;
  uploads.on_obsolete = [files, job_id](const auto& hashes) { files->Delete(job_id, hashes); };
  if (!files->sends()) return uploads;
  uploads.send_object = [files](const std::string& hash, std::stop_token stop) {
    return files->Send(hash, std::move(stop));
  };
  uploads.on_unsent = [files, job_id](const std::string& hash) { files->Delete(job_id, {hash}); };
  return uploads;
}

}  // namespace gyre
