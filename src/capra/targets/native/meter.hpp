// Turns snapshots of the tree into its CPU time and its memory.
#pragma once

#include <vector>

#include "tree.hpp"

namespace capra {

// CPU seconds of everybody who ever lived in the tree. Never decreases.
//
// Live processes have a clock; those reaped are in the totals of whoever waited for them, in the end ours. The
// exception: if a parent ignores SIGCHLD its children vanish uncounted. The total then falls below what was seen
// before, by more than rounding explains, and the difference is kept. Only what such a child used after the last
// snapshot is lost.
class CpuMeter {
  public:
    // `reaped_by_us`: getrusage(RUSAGE_CHILDREN), read before the snapshot was taken.
    double update(const std::vector<Process> &tree, double reaped_by_us);
    double finish(double reaped_by_us);
    double total() const { return total_; }

  private:
    double total_ = 0;
    double vanished_ = 0;
    double suspected_ = 0;
};

double reaped_cpu();

// Bytes held by the tree: the sum of resident sizes, which counts pages shared by several processes several times.
// Only when that sum passes the bound is the exact (and dear) figure asked for.
class MemoryMeter {
  public:
    explicit MemoryMeter(double bound) : bound_(bound) {}
    double update(const std::vector<Process> &tree, double now);
    void at_least(double bytes);
    double peak() const { return peak_; }

  private:
    double bound_;
    double peak_ = 0;
    double shared_factor_ = 1;
    double ask_again_ = 0;
};

}  // namespace capra
