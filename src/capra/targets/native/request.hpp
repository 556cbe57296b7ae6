// What the supervisor is asked to do: one message, read from standard input.
//
//   "CAPRA1 %08d\n"   16 bytes; the number is the size of what follows
//   key=value NUL     repeated; `arg` and `env` may come many times, in order, every other key at most once
//
// Values are taken byte for byte: no quoting, no encoding, so an argument arrives as it was given.
#pragma once

#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include <sys/types.h>

namespace capra {

constexpr double kNoBound = std::numeric_limits<double>::infinity();

struct RequestError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct Request {
    std::vector<std::string> argv;
    std::vector<std::string> env;
    std::string directory;   // private to the run; removed if the owner dies
    std::string working;     // where the target runs; empty: in its private directory
    std::string cgroup;      // a version 2 group in which we may make a child; empty: do without
    std::vector<int> cores;  // empty: wherever the scheduler likes
    double owner = 0;        // pid of the process that started us
    double remove = 0;       // 1: remove `directory` if the owner dies
    // Bounds, in seconds, bytes or numbers.
    double cpu = kNoBound;
    double wall = kNoBound;
    double memory = kNoBound;
    double processes = kNoBound;
    // Limits the kernel keeps for each process (setrlimit).
    double file_size = kNoBound;
    double address_space = kNoBound;
    double user_processes = kNoBound;
    // How to stop, and how much output to keep.
    double grace = 1.0;
    double kill_timeout = 5.0;
    double hold = 0;  // 1: at a time bound it is held, not ended: a higher one may come
    double head = 65536;
    double tail = 65536;
    // For tests only.
    double toothless = 0;  // 1: send no signal, as if every process hung in the kernel
    double scan = 0;       // 1: find children by scanning /proc, as on kernels without `children` files
};

// Reads exactly one request, so that the commands behind it stay in the pipe. Throws RequestError.
Request read_request(int fd);

// Numbers of cores, separated by commas. Throws RequestError.
std::vector<int> parse_cores(const std::string &text);

// A finite number >= 0 that fills the whole text; false if it is anything else.
bool parse_number(const std::string &text, double &number);

}  // namespace capra
