// What is told about a run: facts only, what they mean is decided elsewhere.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "capture.hpp"

namespace capra {

struct Facts {
    int exit_code = -1;       // -1: did not exit by itself
    int signal = 0;           // 0: not ended by a signal
    std::string start_error;  // empty: started
    std::string limit;        // the bound that was passed, "command", or empty
    bool stopped = false;     // we had to stop it
    bool waiting = false;     // held at its time bound: not over yet
    bool interrupted = false; // the supervisor itself was told to go
    double cutoff = 0;        // of the leading bound (CPU if there is one, else wall), at the end
    double cpu = 0;
    double wall = 0;
    double held = 0;
    double memory = 0;
    double overshoot = 0;  // beyond the bound, when that was noticed
    size_t processes = 0;  // most at one time
    size_t stragglers = 0; // alive after the main process had ended
    std::vector<pid_t> unkillable;
    bool pinned = false;
    std::string backend = "process";
    size_t ignored = 0;    // commands not understood
};

// One line of JSON, then the four pieces of output whose sizes the line gives. False if nobody reads it.
bool write_report(int fd, const Facts &facts, const Capture &output, const Capture &errors);

// The line alone, without output, of a run that is held: in one piece, however it is read.
bool write_waiting(int fd, const Facts &facts);

}  // namespace capra
