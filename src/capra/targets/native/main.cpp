// capra-supervisor: runs one target, measures it from outside, and leaves nothing of it behind.
//
// Standard input: the request (request.hpp), then orders (commands.hpp); its end means that the owner is gone.
// Standard output: the report (facts.hpp), and before it a line for each time that it waited at its bound. Exit code 0: reported; 2: the request was refused; else: it failed.

#include <csignal>
#include <cstdio>
#include <exception>

#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "guard.hpp"
#include "request.hpp"
#include "run.hpp"

namespace capra {
namespace {

sigset_t block_signals() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGUSR1}) sigaddset(&signals, number);
    sigprocmask(SIG_SETMASK, &signals, nullptr);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);  // if it was inherited as ignored, children would vanish without their figures
    return signals;
}

int work(const Request &request, const sigset_t &signals, pid_t guard_pid) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != guard_pid) return 3;
    const int signal_fd = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
    Run run(request, STDIN_FILENO, signal_fd, STDOUT_FILENO);
    const Facts facts = run.execute();
    return write_report(STDOUT_FILENO, facts, run.output(), run.errors()) ? 0 : 3;
}

int work_or_explain(const Request &request, const sigset_t &signals, pid_t guard_pid) {
    try {
        return work(request, signals, guard_pid);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "capra-supervisor: %s\n", error.what());
        return 3;
    }
}

int supervise(const Request &request) {
    const sigset_t signals = block_signals();
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) {
        std::perror("capra-supervisor: this kernel lets orphans escape (PR_SET_CHILD_SUBREAPER)");
        return 3;
    }
    prctl(PR_SET_PDEATHSIG, SIGUSR1);
    const pid_t self = getpid();
    const pid_t worker = fork();
    if (worker < 0) {
        std::perror("capra-supervisor: fork");
        return 3;
    }
    return worker == 0 ? work_or_explain(request, signals, self) : guard(worker, request);
}

}  // namespace
}  // namespace capra

int main() {
    capra::Request request;
    try {
        request = capra::read_request(STDIN_FILENO);
    } catch (const capra::RequestError &error) {
        std::fprintf(stderr, "capra-supervisor: %s\n", error.what());
        return 2;
    }
    return capra::supervise(request);
}
