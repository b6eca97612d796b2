#include "cli/device_options.h"

namespace gyre {

void AddDeviceOptions(CLI::App* command, WorkerOptions* options) {
  command
      ->add_option("--devices", options->devices,
                   "What to train on: auto (all GPUs, or the CPU where there is none), or a list "
                   "of cpu, cuda (all GPUs), cuda:0, ...")
      ->type_name("LIST")
      ->capture_default_str();
  command
      ->add_option("--slots", options->slots,
                   "Jobs at a time (default: one a core, or --slots-per-gpu on each GPU)")
      ->check(CLI::Range(1, 1024));
  command
      ->add_option("--slots-per-gpu", options->slots_per_gpu,
                   "Jobs that share a GPU, unless they ask for one (default: 4, or fewer where "
                   "there are not that many cores a GPU)")
      ->check(CLI::Range(1, 1024));
}

}  // namespace gyre
