#include "run.hpp"

#include <algorithm>
#include <cmath>
#include <csignal>

#include <poll.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

namespace capra {
namespace {

constexpr double kShortest = 0.001;  // between two looks at the tree
constexpr double kLongest = 0.050;
constexpr double kFirstPause = 0.002;
constexpr double kHeld = 1.0;        // of a tree of which nothing moves
constexpr double kSettle = 0.020;
constexpr int kKillPasses = 100;     // in one round
constexpr double kFillRate = 4e9;    // bytes per second a target may allocate; decides how often memory is looked at
constexpr double kMemoryShortest = 0.010;

double available_cores(const Request &request) {
    if (!request.cores.empty()) return static_cast<double>(request.cores.size());
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN));
    return CPU_COUNT(&set);
}

void raise_backstop(pid_t pid, double seconds) {
    rlimit limit;
    if (!std::isfinite(seconds) || prlimit(pid, RLIMIT_CPU, nullptr, &limit) != 0) return;
    limit.rlim_cur = std::min(limit.rlim_max, static_cast<rlim_t>(seconds));
    prlimit(pid, RLIMIT_CPU, &limit, nullptr);
}

double clip(double value, double low, double high) { return std::min(std::max(value, low), high); }

}  // namespace

Run::Run(const Request &request, int commands, int signals, int reports)
    : request_(request),
      cgroup_(request),
      commands_(commands),
      signals_(signals),
      reports_(reports),
      launched_(launch(request, cgroup_)),
      output_(launched_.output, static_cast<size_t>(request.head), static_cast<size_t>(request.tail)),
      errors_(launched_.errors, static_cast<size_t>(request.head), static_cast<size_t>(request.tail)),
      memory_meter_(request.memory),
      cpu_bound_(request.cpu),
      wall_bound_(request.wall),
      cores_(available_cores(request)) {}

Facts Run::execute() {
    now_ = monotonic();
    watch_.start(now_);
    next_check_ = now_ + pause();
    while (phase_ != Phase::done) {
        wait_for_events();
        now_ = monotonic();
        if (now_ >= next_check_) check();
    }
    finish();
    return facts_;
}

// ---- waiting

void Run::wait_for_events() {
    pollfd files[] = {
        {signals_, POLLIN, 0}, {commands_.fd(), POLLIN, 0}, {output_.fd(), POLLIN, 0}, {errors_.fd(), POLLIN, 0}};
    const double left = std::max(0.0, next_check_ - monotonic());
    timespec timeout;
    timeout.tv_sec = static_cast<time_t>(left);
    timeout.tv_nsec = static_cast<long>(1e9 * (left - std::floor(left)));
    if (ppoll(files, 4, &timeout, nullptr) <= 0) return;
    now_ = monotonic();
    if (files[0].revents != 0) on_signals();
    if (files[1].revents != 0) on_commands();
    if (files[2].revents != 0) output_.read_some();
    if (files[3].revents != 0) errors_.read_some();
}

void Run::on_signals() {
    signalfd_siginfo info;
    while (read(signals_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
        if (info.ssi_signo != SIGCHLD) {
            facts_.interrupted = true;
            stop(0);
        } else if (!main_reaped_ && main_ended()) {
            next_check_ = now_;
        }
    }
}

void Run::on_commands() {
    for (const Command &command : commands_.read()) obey(command);
    if (commands_.closed()) {
        facts_.interrupted = true;
        stop(0);
    }
}

void Run::obey(const Command &command) {
    double &leading = std::isfinite(request_.cpu) ? cpu_bound_ : wall_bound_;
    if (command.kind == Command::unknown) ++facts_.ignored;
    if (phase_ != Phase::running) {
        if (command.kind == Command::kill) stop(0);
        return;
    }
    const bool stop_now = command.kind == Command::cutoff && command.bound <= 0;
    if (stop_now || command.kind == Command::kill) {
        facts_.limit = "command";
        stop(stop_now ? request_.grace : 0);
    } else if (command.kind == Command::cutoff) {
        // What it has used cannot be taken back: a smaller bound than that ends it here, as a run of that length.
        const double wall = std::max(command.wall, watch_.elapsed(now_));
        leading = std::min(leading, std::max(command.bound, used()));
        wall_bound_ = std::min(wall_bound_, wall);
    } else if (command.kind == Command::hold) {
        watch_.hold(now_);
    } else if (command.kind == Command::resume) {
        leading = command.bound;
        if (std::isfinite(command.wall)) wall_bound_ = command.wall;
        resume(command.cores);
    }
    next_check_ = now_;
}

// ---- looking

void Run::check() {
    observe();
    if (phase_ == Phase::running || phase_ == Phase::terminating) {
        if (main_ended()) main_has_ended();
    }
    act();
    next_check_ = now_ + pause();
}

void Run::observe() {
    const double reaped = reaped_cpu();
    tree_ = descendants(request_.scan != 0);
    now_ = monotonic();
    facts_.cpu = std::max(cpu_meter_.update(tree_, reaped), cgroup_.cpu());
    facts_.memory = memory_meter_.update(tree_, now_);
    facts_.processes = std::max(facts_.processes, alive());
    reap_orphans();
}

// The main process stays unreaped until the end: as long as it is a zombie its number, which is also that of its
// process group, cannot be given to somebody else.
void Run::reap_orphans() {
    const pid_t self = getpid();
    for (const Process &process : tree_)
        if (process.parent == self && !process.alive() && process.pid != launched_.pid)
            waitpid(process.pid, nullptr, WNOHANG);
}

bool Run::main_ended() const {
    siginfo_t info{};
    return waitid(P_PID, static_cast<id_t>(launched_.pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
}

size_t Run::alive() const {
    return static_cast<size_t>(std::count_if(tree_.begin(), tree_.end(), [](const Process &p) { return p.alive(); }));
}

bool Run::all_stopped() const {
    return std::all_of(tree_.begin(), tree_.end(), [](const Process &p) { return p.stopped() || !p.alive(); });
}

double Run::used() const { return std::isfinite(request_.cpu) ? facts_.cpu : watch_.elapsed(now_); }

double Run::pause() const {
    switch (phase_) {
        case Phase::running:
            return pause_while_running();
        case Phase::terminating:
            return clip(deadline_ - now_, kShortest, 0.010);
        case Phase::settling:
            return 0.002;
        default:
            return std::min(kLongest, kShortest * (1 + kill_rounds_));
    }
}

// Until the earliest moment at which a bound could be passed.
double Run::pause_while_running() const {
    if (watch_.holding()) return all_stopped() ? kHeld : kShortest;
    double threads = 1;
    for (const Process &process : tree_) threads += process.alive() ? static_cast<double>(process.threads) : 0;
    // Twice as many as now: new ones may be born while we sleep. All cores at once would be safer still, but on a
    // machine with many of them we would look at a single thread far too often.
    const double speed = std::min(cores_, std::max(2.0, 2 * (threads - 1)));
    const double until_time = std::min((cpu_bound_ - facts_.cpu) / speed, wall_bound_ - watch_.elapsed(now_));
    const double until_memory = std::max(kMemoryShortest, (request_.memory - facts_.memory) / kFillRate);
    const double storm = std::isfinite(request_.processes) && tree_.size() > 8 ? 0.005 : kLongest;
    // Often in the beginning, when most of what goes wrong goes wrong.
    const double longest = std::min(storm, std::max(kFirstPause, watch_.elapsed(now_)));
    return clip(std::min(until_time, until_memory), kShortest, longest);
}

// ---- deciding

void Run::act() {
    switch (phase_) {
        case Phase::running:
            enforce_bounds();
            if (phase_ == Phase::running && watch_.holding()) hold_tree();
            if (phase_ == Phase::running && !waits_at_.empty()) tell_that_it_waits();
            break;
        case Phase::terminating:
            if (now_ >= deadline_ || endangers_machine()) start_killing();
            break;
        case Phase::settling:
            settle();
            break;
        case Phase::killing:
            kill_round();
            break;
        case Phase::done:
            break;
    }
}

bool Run::endangers_machine() const {
    return facts_.memory > request_.memory || static_cast<double>(alive()) > request_.processes;
}

void Run::enforce_bounds() {
    const double wall = watch_.elapsed(now_);
    // No grace for those that endanger the machine.
    if (facts_.memory > request_.memory)
        bound_passed("memory", facts_.memory - request_.memory, 0);
    else if (static_cast<double>(alive()) > request_.processes)
        bound_passed("processes", static_cast<double>(alive()) - request_.processes, 0);
    else if (facts_.cpu >= cpu_bound_)
        time_passed("cpu", facts_.cpu - cpu_bound_);
    else if (wall >= wall_bound_)
        time_passed("wall", wall - wall_bound_);
}

void Run::bound_passed(const char *limit, double overshoot, double grace) {
    facts_.limit = limit;
    facts_.overshoot = overshoot;
    stop(grace);
}

// Who may be wanted for longer waits at the bound; all others are over.
void Run::time_passed(const char *limit, double overshoot) {
    if (request_.hold == 0) {
        bound_passed(limit, overshoot, request_.grace);
    } else if (waits_at_.empty()) {
        waits_at_ = limit;
        watch_.hold(now_);
    }
}

void Run::tell_that_it_waits() {
    if (has_told_ || !all_stopped()) return;
    Facts facts = facts_;
    facts.waiting = true;
    facts.limit = waits_at_;
    facts.cutoff = std::isfinite(request_.cpu) ? cpu_bound_ : wall_bound_;
    facts.wall = watch_.elapsed(now_);
    facts.held = watch_.held(now_);
    facts.overshoot = waits_at_ == "cpu" ? facts.cpu - cpu_bound_ : facts.wall - wall_bound_;
    has_told_ = true;
    write_waiting(reports_, facts);
}

void Run::main_has_ended() {
    watch_.stop(now_);
    phase_ = Phase::settling;
    deadline_ = now_ + kSettle;
}

void Run::settle() {
    if (alive() == 0 && reaped_everybody()) {
        phase_ = Phase::done;
    } else if (now_ >= deadline_) {
        count_stragglers_ = true;
        start_killing();
    }
}

void Run::kill_round() {
    ++kill_rounds_;
    if (alive() == 0 && reaped_everybody()) {
        phase_ = Phase::done;
    } else if (now_ >= deadline_ && kill_rounds_ > 1) {
        for (const Process &process : tree_)
            if (process.alive()) facts_.unkillable.push_back(process.pid);
        phase_ = Phase::done;
    } else {
        for (const Process &process : tree_)
            if (count_stragglers_ && process.alive()) stragglers_.insert(process.pid);
        kill_tree();
    }
}

// ---- doing

void Run::stop(double grace) {
    if (phase_ == Phase::settling || phase_ == Phase::killing || phase_ == Phase::done) return;
    if (phase_ == Phase::running) {
        facts_.stopped = true;
        if (facts_.limit == "command") (std::isfinite(request_.cpu) ? cpu_bound_ : wall_bound_) = used();
        watch_.resume(now_);
    }
    if (grace <= 0) {
        start_killing();
        return;
    }
    phase_ = Phase::terminating;
    deadline_ = now_ + grace;
    tree_ = descendants(request_.scan != 0);
    signal_tree(SIGTERM);
    signal_tree(SIGCONT);  // a stopped process cannot take its chance
}

void Run::start_killing() {
    phase_ = Phase::killing;
    deadline_ = now_ + request_.kill_timeout;
    kill_round();
    next_check_ = now_ + pause();
}

// Again while new faces turn up: a process may fork and exit faster than we come round.
void Run::kill_tree() {
    if (request_.toothless != 0) return;
    cgroup_.kill();
    // The group in one stroke; then whoever has left it.
    if (!main_reaped_) ::kill(-launched_.pid, SIGKILL);
    std::set<pid_t> met;
    for (int pass = 0; pass < kKillPasses; ++pass) {
        const size_t before = met.size();
        const std::set<pid_t> now = kill_descendants(request_.scan != 0);
        met.insert(now.begin(), now.end());
        if (met.size() == before) break;
    }
}

void Run::signal_tree(int number) const {
    if (request_.toothless != 0) return;
    for (const Process &process : tree_)
        if (process.alive()) ::kill(process.pid, number);
}

// Repeated at every check: a process may have been born while its parent was being stopped.
void Run::hold_tree() const {
    for (const Process &process : tree_)
        if (process.alive() && !process.stopped()) ::kill(process.pid, SIGSTOP);
}

void Run::resume(const std::vector<int> &cores) {
    waits_at_.clear();
    has_told_ = false;
    watch_.resume(now_);
    tree_ = descendants(request_.scan != 0);
    for (const Process &process : tree_) {
        raise_backstop(process.pid, cpu_backstop(cpu_bound_));
        if (cores.empty()) continue;
        for (const pid_t thread : threads_of(process.pid)) pin(thread, cores);
    }
    signal_tree(SIGCONT);
}

// True if no descendant is left, dead or alive. To be asked only when /proc shows nobody alive.
bool Run::reaped_everybody() {
    if (!main_reaped_) {
        main_reaped_ = waitpid(launched_.pid, &status_, WNOHANG) == launched_.pid;
        if (!main_reaped_) return false;
        watch_.stop(now_);
    }
    pid_t pid;
    while ((pid = waitpid(-1, nullptr, WNOHANG)) > 0) continue;
    return pid < 0;
}

void Run::finish() {
    watch_.stop(now_);
    output_.read_rest();
    errors_.read_rest();
    if (main_reaped_ && WIFEXITED(status_)) facts_.exit_code = WEXITSTATUS(status_);
    if (main_reaped_ && WIFSIGNALED(status_)) facts_.signal = WTERMSIG(status_);
    rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    memory_meter_.at_least(1024.0 * static_cast<double>(usage.ru_maxrss));
    memory_meter_.at_least(cgroup_.memory_peak());
    facts_.cpu = std::max(cpu_meter_.finish(reaped_cpu()), cgroup_.cpu());
    facts_.memory = memory_meter_.peak();
    facts_.wall = watch_.elapsed(now_);
    facts_.held = watch_.held(now_);
    facts_.stragglers = stragglers_.size();
    const Troubles troubles = read_troubles(launched_.troubles, request_);
    facts_.start_error = troubles.start_error;
    if (!facts_.start_error.empty()) facts_.exit_code = -1;
    facts_.pinned = !request_.cores.empty() && !troubles.cores;
    if (cgroup_.active() && !troubles.cgroup) facts_.backend = "cgroup2";
    judge_at_end();
    facts_.cutoff = std::isfinite(request_.cpu) ? cpu_bound_ : wall_bound_;
}

// A target that passed a bound between two looks and then ended by itself has passed it all the same.
void Run::judge_at_end() {
    if (!facts_.limit.empty() || facts_.interrupted || !facts_.start_error.empty()) return;
    const auto judge = [this](const char *limit, double beyond) {
        if (beyond <= 0 || !facts_.limit.empty()) return;
        facts_.limit = limit;
        facts_.overshoot = beyond;
    };
    judge("memory", cgroup_.out_of_memory() ? 1 : facts_.memory - request_.memory);
    judge("cpu", facts_.cpu - cpu_bound_);
    judge("wall", facts_.wall - wall_bound_);
}

}  // namespace capra
