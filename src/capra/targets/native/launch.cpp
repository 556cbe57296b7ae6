#include "launch.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <vector>

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <unistd.h>

namespace capra {
namespace {

enum Step { kOutput, kDirectory, kLimits, kExec, kFatal = kExec, kCores, kCgroup };
const char *const kStepNames[] = {"redirect its output", "enter its directory", "set its limits", "start"};

constexpr double kRoomForOthers = 2000;

struct Trouble {
    int step;
    int error;
};

void tell(int fd, Step step, int error) {
    const Trouble trouble{step, error};
    // A record is smaller than a pipe's atomic size: it arrives whole or, if we are gone, not at all.
    if (write(fd, &trouble, sizeof trouble) < 0) _exit(127);
}

[[noreturn]] void give_up(int fd, Step step) {
    tell(fd, step, errno);
    _exit(127);
}

void reset_signals() {
    for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
}

bool limit(int resource, double soft, double hard) {
    if (!std::isfinite(soft)) return true;
    const auto value = [](double x) { return std::isfinite(x) ? static_cast<rlim_t>(x) : RLIM_INFINITY; };
    rlimit now;
    if (getrlimit(static_cast<__rlimit_resource_t>(resource), &now) != 0) return false;
    // Never above what the user's own shell was given: raising it would fail.
    now.rlim_max = std::min(now.rlim_max, value(hard));
    now.rlim_cur = std::min(now.rlim_max, value(soft));
    return setrlimit(static_cast<__rlimit_resource_t>(resource), &now) == 0;
}

// The kernel counts all tasks of the user, ours among others; so does this: whatever runs on the machine now, the
// bound, and room for what others may start meanwhile. It stops a fork bomb between two of our looks (except root's).
double process_backstop(const Request &request) {
    struct sysinfo machine;
    if (std::isfinite(request.user_processes)) return request.user_processes;
    return sysinfo(&machine) == 0 ? machine.procs + request.processes + kRoomForOthers : kNoBound;
}

bool set_limits(const Request &request) {
    return limit(RLIMIT_CORE, 0, 0) && limit(RLIMIT_FSIZE, request.file_size, request.file_size) &&
           limit(RLIMIT_AS, request.address_space, request.address_space) &&
           limit(RLIMIT_NPROC, process_backstop(request), kNoBound) &&
           limit(RLIMIT_CPU, cpu_backstop(request.cpu), kNoBound);
}

// If memory runs out the kernel shall choose the target, not its host.
void offer_to_oom_killer() {
    const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0) return;
    if (write(fd, "1000", 4) < 0) errno = 0;  // a kernel that forbids it: nothing to be done
    close(fd);
}

bool redirect(int output, int errors) {
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return nothing >= 0 && dup2(nothing, 0) >= 0 && dup2(output, 1) >= 0 && dup2(errors, 2) >= 0;
}

std::vector<char *> pointers(const std::vector<std::string> &texts) {
    std::vector<char *> list;
    for (const std::string &text : texts) list.push_back(const_cast<char *>(text.c_str()));
    list.push_back(nullptr);
    return list;
}

std::string search_path(const Request &request) {
    for (const std::string &variable : request.env)
        if (variable.compare(0, 5, "PATH=") == 0) return variable.substr(5);
    return "/usr/bin:/bin";
}

// Everything exec needs, made before fork: in the child, under its limits, there may be no memory to be had.
struct Program {
    explicit Program(const Request &request) : argv(pointers(request.argv)), env(pointers(request.env)) {
        const std::string &name = request.argv[0];
        if (name.find('/') != std::string::npos) {
            places.push_back(name);
            return;
        }
        const std::string path = search_path(request) + ":";
        for (size_t start = 0, end; (end = path.find(':', start)) != std::string::npos; start = end + 1)
            if (path[start] == '/')  // relative places would mean the private directory
                places.push_back(path.substr(start, end - start) + "/" + name);
    }

    // execvp would hand a file of unknown format to a shell; this does not. Returns only on failure.
    void execute() const {
        int error = ENOENT;
        for (const std::string &place : places) {
            execve(place.c_str(), argv.data(), env.data());
            if (errno != ENOENT && errno != ENOTDIR) error = errno;
        }
        errno = error;
    }

    std::vector<char *> argv, env;
    std::vector<std::string> places;
};

struct Pipes {
    Pipes() {
        for (int *ends : {output, errors, troubles})
            if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error(std::string("pipe: ") + std::strerror(errno));
    }
    int output[2], errors[2], troubles[2];  // each: the end to read from, the end to write to
};

[[noreturn]] void become_target(const Request &request, const Program &program, const Cgroup &cgroup,
                                const Pipes &pipes, pid_t parent) {
    const int troubles = pipes.troubles[1];
    reset_signals();
    setsid();
    // Cleared by the kernel for set-uid programs; the guard process is there for those and for grandchildren.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    if (cgroup.active() && cgroup.join() != 0) tell(troubles, kCgroup, errno);
    if (!pin(0, request.cores)) tell(troubles, kCores, errno);
    offer_to_oom_killer();
    if (!redirect(pipes.output[1], pipes.errors[1])) give_up(troubles, kOutput);
    const std::string &place = request.working.empty() ? request.directory : request.working;
    if (chdir(place.c_str()) != 0) give_up(troubles, kDirectory);
    if (!set_limits(request)) give_up(troubles, kLimits);
    program.execute();
    give_up(troubles, kExec);
}

int our_end(const int *ends) {
    close(ends[1]);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    return ends[0];
}

}  // namespace

bool pin(pid_t thread, const std::vector<int> &cores) {
    if (cores.empty()) return true;
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int core : cores) {
        if (core >= CPU_SETSIZE) {
            errno = EINVAL;
            return false;
        }
        CPU_SET(static_cast<size_t>(core), &set);
    }
    return sched_setaffinity(thread, sizeof set, &set) == 0;
}

double cpu_backstop(double bound) { return std::isfinite(bound) ? std::ceil(2 * bound) + 10 : kNoBound; }

Launched launch(const Request &request, const Cgroup &cgroup) {
    const Program program(request);
    const Pipes pipes;
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid < 0) throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
    if (pid == 0) become_target(request, program, cgroup, pipes, parent);
    return Launched{pid, our_end(pipes.output), our_end(pipes.errors), our_end(pipes.troubles)};
}

Troubles read_troubles(int fd, const Request &request) {
    Troubles troubles;
    Trouble trouble;
    while (read(fd, &trouble, sizeof trouble) == static_cast<ssize_t>(sizeof trouble)) {
        if (trouble.step == kCores) troubles.cores = true;
        if (trouble.step == kCgroup) troubles.cgroup = true;
        if (trouble.step <= kFatal)
            troubles.start_error = std::string("cannot ") + kStepNames[trouble.step] + ": " +
                                   std::strerror(trouble.error) +
                                   (trouble.step == kExec ? ": " + request.argv[0] : "");
    }
    close(fd);
    return troubles;
}

}  // namespace capra
