// One run of the target, from fork to the last of its descendants.
#pragma once

#include <set>
#include <vector>

#include "capture.hpp"
#include "cgroup.hpp"
#include "clock.hpp"
#include "commands.hpp"
#include "facts.hpp"
#include "launch.hpp"
#include "meter.hpp"
#include "request.hpp"

namespace capra {

// The life of a run:
//
//   running      until the main process ends, a bound is passed, or an order to stop arrives
//   terminating  SIGTERM was sent; the grace period runs
//   settling     the main process has ended by itself; what it left behind gets a moment to follow
//   killing      SIGKILL to everybody, again and again, until nobody is left or the kill timeout has passed
//   done
//
// The caller must be the only thread of a process that has no other children and is a subreaper; `signals` is a
// signalfd for SIGCHLD and for whatever shall end the supervisor. A run that is held at its time bound says so in
// `reports`, each time, as soon as nothing of it moves any more.
class Run {
  public:
    Run(const Request &request, int commands, int signals, int reports);

    Facts execute();
    const Capture &output() const { return output_; }
    const Capture &errors() const { return errors_; }

  private:
    enum class Phase { running, terminating, settling, killing, done };

    // Waiting, and what may wake us.
    void wait_for_events();
    void on_signals();
    void on_commands();
    void obey(const Command &command);

    // Looking.
    void check();
    void observe();
    void reap_orphans();
    bool main_ended() const;
    size_t alive() const;
    bool all_stopped() const;
    double used() const;
    double pause() const;
    double pause_while_running() const;

    // Deciding.
    void act();
    bool endangers_machine() const;
    void enforce_bounds();
    void bound_passed(const char *limit, double overshoot, double grace);
    void time_passed(const char *limit, double overshoot);
    void tell_that_it_waits();
    void main_has_ended();
    void settle();
    void kill_round();

    // Doing.
    void stop(double grace);
    void start_killing();
    void kill_tree();
    void signal_tree(int number) const;
    void hold_tree() const;
    void resume(const std::vector<int> &cores);
    bool reaped_everybody();
    void finish();
    void judge_at_end();

    const Request &request_;
    Cgroup cgroup_;
    CommandChannel commands_;
    int signals_;
    int reports_;
    Launched launched_;
    Capture output_;
    Capture errors_;
    CpuMeter cpu_meter_;
    MemoryMeter memory_meter_;
    Stopwatch watch_;
    Phase phase_ = Phase::running;
    Facts facts_;
    double cpu_bound_;
    double wall_bound_;
    double cores_;
    double now_ = 0;
    double next_check_ = 0;
    double deadline_ = 0;  // of the phase, where it has one
    int kill_rounds_ = 0;
    int status_ = 0;
    bool main_reaped_ = false;
    std::string waits_at_;  // the time bound at which it is held
    bool has_told_ = false;
    bool count_stragglers_ = false;
    std::vector<Process> tree_;
    std::set<pid_t> stragglers_;
};

}  // namespace capra
