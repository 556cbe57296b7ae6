// One version 2 control group per run, where the user was given a group to make children in.
//
// Accounting of CPU time and `cgroup.kill` come with every such group; memory and process limits
// only if the parent has those controllers enabled for its children. Everything here is in addition to what the
// supervisor does without groups: whatever a group does not offer is simply done the other way.
#pragma once

#include <string>

#include "request.hpp"

namespace capra {

class Cgroup {
  public:
    explicit Cgroup(const Request &request);  // inactive if none was asked for or it could not be made
    Cgroup(const Cgroup &) = delete;
    Cgroup &operator=(const Cgroup &) = delete;
    ~Cgroup();

    bool active() const { return !path_.empty(); }
    int join() const;  // called in the child before exec; 0 or errno
    double cpu() const;
    double memory_peak() const;  // 0 without the memory controller
    bool out_of_memory() const;  // the kernel killed something in the group
    bool kill() const;

  private:
    bool write(const char *file, const std::string &text) const;
    double number_in(const char *file, const char *key) const;

    std::string path_;
};

// Ends and removes the group of a supervisor whose worker died.
void abandon_cgroup(const Request &request, pid_t guard);

}  // namespace capra
