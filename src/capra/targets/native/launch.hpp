// Starts the target in its own session, with its limits, and tells what went wrong if it does not start.
#pragma once

#include <string>

#include <sys/types.h>

#include "cgroup.hpp"
#include "request.hpp"

namespace capra {

struct Launched {
    pid_t pid = -1;
    int output = -1;    // non-blocking ends of the target's standard output and error
    int errors = -1;
    int troubles = -1;  // what the child could not do before exec; see read_troubles
};

struct Troubles {
    std::string start_error;  // empty: the target was started
    bool cores = false;       // could not be pinned
    bool cgroup = false;      // could not enter its group
};

// Throws std::runtime_error if not even a process could be made.
Launched launch(const Request &request, const Cgroup &cgroup);

// To be asked after the child has ended.
Troubles read_troubles(int fd, const Request &request);

// Keeps a thread (0: this one) to these cores; true if there are none to keep it to.
bool pin(pid_t thread, const std::vector<int> &cores);

// The soft RLIMIT_CPU for a CPU bound: far above it, because the kernel samples and fires early under load.
double cpu_backstop(double bound);

}  // namespace capra
