// The processes below us, as /proc shows them.
#pragma once

#include <set>
#include <vector>

#include <sys/types.h>

namespace capra {

struct Process {
    pid_t pid = 0;
    pid_t parent = 0;
    char state = '?';     // as in proc(5): R, S, D, T, Z, ...
    long threads = 1;
    double own = 0;       // CPU seconds of its threads, dead ones included
    double reaped = 0;    // CPU seconds of children it has waited for; rounded down by up to `kReapedError`
    double resident = 0;  // bytes

    // A zombie that still has threads is a process whose first thread has ended: it is as alive as any other.
    bool alive() const { return (state != 'Z' && state != 'X') || threads > 1; }
    bool stopped() const { return state == 'T' || state == 't'; }
};

// User and system time are each cut to a clock tick.
extern const double kReapedError;

// All descendants of this process, parents before their children.
//
// A snapshot is not atomic: a process that is born, orphaned or reaped meanwhile may be missing, but none appears
// twice. `waitpid` answering ECHILD is the only proof that nobody is left.
std::vector<Process> descendants(bool scan_all);

std::vector<pid_t> threads_of(pid_t pid);

// Sends SIGKILL to all descendants; gives those it met, zombies included.
//
// Each is killed before its children are looked up: a process that has a SIGKILL pending cannot fork any more, so
// the list is final. Much faster than a snapshot, which matters if they breed.
std::set<pid_t> kill_descendants(bool scan_all);

// Proportional set size: resident memory with shared pages divided among their users. Walks page tables, so it
// is slow for big processes. Negative if the kernel does not tell.
double proportional_memory(pid_t pid);

}  // namespace capra
