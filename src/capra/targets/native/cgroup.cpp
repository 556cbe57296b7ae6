#include "cgroup.hpp"

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace capra {
namespace {

constexpr int kRemovalTries = 50;  // a group counts as populated for a moment after its last process was reaped

std::string whole(double number) {
    char text[32];
    std::snprintf(text, sizeof text, "%.0f", number);
    return text;
}

// Named after the guard, so that guard and worker agree on it.
std::string group_path(const Request &request, pid_t guard) {
    return request.cgroup + "/capra-run-" + std::to_string(guard);
}

bool write_file(const std::string &path, const std::string &text) {
    const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) return false;
    const bool done = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    const int error = errno;
    close(fd);
    errno = error;
    return done;
}

void remove_group(const std::string &path) {
    for (int i = 0; i < kRemovalTries && rmdir(path.c_str()) != 0 && errno == EBUSY; ++i) usleep(1000);
}

}  // namespace

void abandon_cgroup(const Request &request, pid_t guard) {
    if (request.cgroup.empty()) return;
    write_file(group_path(request, guard) + "/cgroup.kill", "1");
    remove_group(group_path(request, guard));
}

Cgroup::Cgroup(const Request &request) {
    if (request.cgroup.empty()) return;
    path_ = group_path(request, getppid());
    if (mkdir(path_.c_str(), 0700) != 0) {
        path_.clear();
        return;
    }
    if (std::isfinite(request.memory) && write("memory.max", whole(request.memory))) {
        write("memory.swap.max", "0");
        write("memory.oom.group", "1");
    }
    if (std::isfinite(request.processes)) write("pids.max", whole(request.processes));
}

Cgroup::~Cgroup() {
    if (active()) remove_group(path_);
}

int Cgroup::join() const { return write("cgroup.procs", "0") ? 0 : errno; }

double Cgroup::cpu() const { return 1e-6 * number_in("cpu.stat", "usage_usec "); }

double Cgroup::memory_peak() const { return number_in("memory.peak", ""); }

bool Cgroup::out_of_memory() const { return number_in("memory.events", "\noom_kill ") > 0; }

bool Cgroup::kill() const { return write("cgroup.kill", "1"); }

bool Cgroup::write(const char *file, const std::string &text) const {
    return active() && write_file(path_ + "/" + file, text);
}

double Cgroup::number_in(const char *file, const char *key) const {
    if (!active()) return 0;
    const int fd = open((path_ + "/" + file).c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    char text[4096];
    const ssize_t size = read(fd, text, sizeof text - 1);
    close(fd);
    const std::string found(text, size > 0 ? static_cast<size_t>(size) : 0);
    const size_t at = found.find(key);
    return at == std::string::npos ? 0 : std::strtod(found.c_str() + at + std::string(key).size(), nullptr);
}

}  // namespace capra
