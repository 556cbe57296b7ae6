#include "guard.hpp"

#include <cerrno>
#include <csignal>
#include <string>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cgroup.hpp"
#include "clock.hpp"
#include "tree.hpp"

namespace capra {
namespace {

bool orphaned(const Request &request) { return getppid() != static_cast<pid_t>(request.owner); }

// A dying process closes its pipes before its children get a new parent: the worker may know before we do.
bool soon_orphaned(const Request &request) {
    const double deadline = monotonic() + 0.5;
    while (!orphaned(request) && monotonic() < deadline) usleep(1000);
    return orphaned(request);
}

// Our ends of the pipes would keep the owner waiting for the end of the report.
void let_go_of_pipes() {
    const int nothing = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; ++fd) dup2(nothing, fd);
    if (nothing > 2) close(nothing);
}

int wait_for(pid_t worker, const Request &request) {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGUSR1}) sigaddset(&signals, number);
    for (;;) {
        int status = 0;
        if (waitpid(worker, &status, WNOHANG) == worker) return status;
        const int number = sigwaitinfo(&signals, nullptr);
        // SIGUSR1 says that the thread which started us has ended; its process may well live on.
        const bool told_to_go = number == SIGTERM || number == SIGINT || number == SIGHUP;
        if (told_to_go || (number == SIGUSR1 && orphaned(request))) kill(worker, SIGTERM);
    }
}

void end_orphans(double timeout) {
    const double deadline = monotonic() + timeout;
    while (monotonic() < deadline) {
        for (const Process &process : descendants(false)) kill(process.pid, SIGKILL);
        pid_t pid;
        while ((pid = waitpid(-1, nullptr, WNOHANG)) > 0) continue;
        if (pid < 0) return;
        usleep(1000);
    }
}

void run_quietly(std::initializer_list<const char *> command) {
    std::string path = "PATH=/usr/bin:/bin";
    char *environment[] = {&path[0], nullptr};
    std::vector<char *> argv;
    for (const char *word : command) argv.push_back(const_cast<char *>(word));
    argv.push_back(nullptr);
    pid_t pid;
    if (posix_spawnp(&pid, argv[0], nullptr, nullptr, argv.data(), environment) == 0) waitpid(pid, nullptr, 0);
}

// A target may leave directories without write permission, and nests of them deeper than any path is long.
void remove_directory(const std::string &directory) {
    run_quietly({"chmod", "-R", "u+rwX", "--", directory.c_str()});
    run_quietly({"rm", "-rf", "--", directory.c_str()});
}

}  // namespace

int guard(pid_t worker, const Request &request) {
    let_go_of_pipes();
    const int status = wait_for(worker, request);
    const bool clean = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!clean) {
        end_orphans(request.kill_timeout);
        abandon_cgroup(request, getpid());
    }
    if (request.remove != 0 && (clean ? orphaned(request) : soon_orphaned(request))) remove_directory(request.directory);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace capra
