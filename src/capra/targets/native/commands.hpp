// Orders that come while a run is under way: one per line, behind the request.
//
//   cutoff SECONDS [WALL]   tighten the leading bound (and the wall bound); 0: stop now
//   hold                    stop the clock and the tree
//   resume SECONDS [WALL [CORES]]   go on, with these bounds, on these cores
//   kill                    end everything at once
#pragma once

#include <string>
#include <vector>

#include "request.hpp"

namespace capra {

struct Command {
    enum Kind { cutoff, hold, resume, kill, unknown } kind = unknown;
    double bound = 0;
    double wall = kNoBound;
    std::vector<int> cores;  // empty: where it was
};

class CommandChannel {
  public:
    explicit CommandChannel(int fd);
    int fd() const { return closed_ ? -1 : fd_; }
    bool closed() const { return closed_; }  // whoever started us is gone
    std::vector<Command> read();

  private:
    int fd_;
    bool closed_ = false;
    std::string pending_;
};

}  // namespace capra
