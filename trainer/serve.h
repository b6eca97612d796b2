#pragma once

// The pipe between a worker and its trainer. One JSON object a line.
//
// stdin (worker -> trainer):
//   {"type": "run", "job": {TrainerJob}, "resume_from": HASH or "", "threads": N, "home": DIR,
//    "device": "cpu" or "cuda:N", "rank": R, "world": W, "rendezvous": DIR}
//                               the last four may be left out: on processors, alone. With a world
//                               of more than one, this trainer is rank R of W that get the same
//                               job, and they find each other in the folder, which is new for each
//                               attempt. Rank 0 says everything; the others nothing but "done" or
//                               "error", and what one is told by "stop" or "checkpoint" all do. An
//                               error that is UNAVAILABLE is another rank's fault
//   {"type": "checkpoint"}      write a checkpoint now, go on
//   {"type": "stop"}            write a checkpoint, end the job with "done" and "stopped": true
//   end of file                 exit at once, from a thread of its own, whatever the training
//   thread does
//
// fd 3 (trainer -> worker):
//   {"type": "hello", "version": "0.1.0", "protocol": 2, "fingerprint": {...}, "precisions": [...]}
//                               once, first; what backend cpu has: the fingerprint but for
//                               "threads" and "precision", which are each job's own, and the
//                               precisions;
//                               an empty list: no job can be trained here (GYRE_INSTRUCTIONS names
//                               what this processor has not got)
//   {"type": "started", "fingerprint": {...}}     a job's first, with its device's fingerprint
//   {"type": "point", "metric", "step", "tokens", "value": number or null, "special": "nan" | "inf"
//   | "-inf"}
//                               "special" only beside a null
//   {"type": "statistics", "record": {StatisticsRecord}}     trainer/statistics/record.h
//   {"type": "progress", "step", "tokens", "tokens_per_second", "loss": as a point's value}
//   {"type": "checkpoint", "hash", "bytes", "step", "tokens", "weights_only": bool}
//   {"type": "disk_full", "message"}     a checkpoint could not be written: one in the middle is
//                               left out, the last weights are tried again until there is room
//   {"type": "done", "step", "tokens", "stopped": bool, "diverged_at_step": N or null,
//    "tokens_per_second", "peak_memory_bytes"}
//   {"type": "error", "code": "RESOURCE_EXHAUSTED", "message"}     the job has ended; the trainer
//   waits for the next.
//                               Also the answer to a line that is none of the above, or a "run"
//                               while a job runs
//
// Numbers are written so that reading them gives the same double. The log is on stderr. Several
// jobs in a row; one at a time. A crash is an error of the attempt; the worker starts a new child.

namespace gyre {

/// `gyre-trainer serve`. Never returns: at end of file the process exits with 0, and with 1 when
/// nobody reads its output.
int Serve(int input_fd, int output_fd);

}  // namespace gyre
