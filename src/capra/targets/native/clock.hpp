// Durations, and never the date.
#pragma once

#include <ctime>

namespace capra {

// Seconds since some fixed moment.
inline double monotonic() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Wall time of a run, without the time it was held.
class Stopwatch {
  public:
    void start(double now) { begin_ = now; }
    void hold(double now) {
        if (!holding_ && !stopped_) since_ = now;
        holding_ = holding_ || !stopped_;
    }
    void resume(double now) {
        if (holding_) held_ += now - since_;
        holding_ = false;
    }
    void stop(double now) {
        if (stopped_) return;
        resume(now);
        end_ = now;
        stopped_ = true;
    }
    bool holding() const { return holding_; }
    double held(double now) const { return held_ + (holding_ ? now - since_ : 0); }
    double elapsed(double now) const { return (stopped_ ? end_ : now) - begin_ - held(now); }

  private:
    double begin_ = 0, end_ = 0, since_ = 0, held_ = 0;
    bool holding_ = false, stopped_ = false;
};

}  // namespace capra
