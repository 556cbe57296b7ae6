#include "meter.hpp"

#include <algorithm>

#include <sys/resource.h>

#include "clock.hpp"

namespace capra {

double reaped_cpu() {
    rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

double CpuMeter::update(const std::vector<Process> &tree, double reaped_by_us) {
    double sum = reaped_by_us + vanished_;
    double rounding = 0;
    for (const Process &process : tree) {
        sum += process.own + process.reaped;
        rounding += kReapedError;
    }
    const double missing = total_ - (sum + rounding);
    if (missing > 0 && suspected_ > 0) {
        // Seen in two snapshots, so it is not one child caught between its parent's figures and its own.
        vanished_ += std::min(missing, suspected_);
        suspected_ = 0;
    } else {
        suspected_ = std::max(0.0, missing);
    }
    total_ = std::max(total_, sum);
    return total_;
}

double CpuMeter::finish(double reaped_by_us) {
    total_ = std::max(total_, reaped_by_us + vanished_);
    return total_;
}

double MemoryMeter::update(const std::vector<Process> &tree, double now) {
    double resident = 0;
    for (const Process &process : tree) resident += process.resident;
    double estimate = resident * shared_factor_;
    if (estimate > bound_ && tree.size() > 1) {
        if (now < ask_again_) return peak_;
        double exact = 0;
        for (const Process &process : tree) {
            const double proportional = proportional_memory(process.pid);
            exact += proportional < 0 ? process.resident : proportional;
        }
        estimate = std::min(exact, resident);
        shared_factor_ = resident > 0 ? estimate / resident : 1;
        // The page walk disturbs the target: it may take a tenth of the time, no more.
        const double after = monotonic();
        ask_again_ = after + 10 * (after - now);
    }
    at_least(estimate);
    return peak_;
}

void MemoryMeter::at_least(double bytes) { peak_ = std::max(peak_, bytes); }

}  // namespace capra
