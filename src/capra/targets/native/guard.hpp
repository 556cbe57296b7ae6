// The supervisor's supervisor.
#pragma once

#include <sys/types.h>

#include "request.hpp"

namespace capra {

// Two processes watch over a target: the worker, which does everything, and its parent, the guard, which only
// waits. Either may be killed at any moment without leaving the target behind: if the worker dies, all its
// orphans become the guard's children, who ends them; if the guard dies, the kernel signals the worker, who ends
// them. Only if both are killed at the same moment may a process survive that has left its parent.
//
// Waits for the worker, cleans up after it, and returns the exit code for the whole program.
int guard(pid_t worker, const Request &request);

}  // namespace capra
