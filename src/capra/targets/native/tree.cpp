#include "tree.hpp"

#include <cctype>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <set>
#include <string>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

namespace capra {
namespace {

const double kTick = 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
constexpr long kManyThreads = 2;  // not known to be one
const double kPage = static_cast<double>(sysconf(_SC_PAGESIZE));

std::string read_file(const std::string &path) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return "";
    std::string text;
    char buffer[4096];
    for (ssize_t got; (got = read(fd, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<size_t>(got));
    close(fd);
    return text;
}

std::vector<pid_t> numeric_entries(const std::string &path) {
    std::vector<pid_t> numbers;
    DIR *directory = opendir(path.c_str());
    if (directory == nullptr) return numbers;
    while (const dirent *entry = readdir(directory))
        if (std::isdigit(static_cast<unsigned char>(entry->d_name[0])))
            numbers.push_back(static_cast<pid_t>(std::atol(entry->d_name)));
    closedir(directory);
    return numbers;
}

// Exact to the nanosecond, where /proc/<pid>/stat has clock ticks of 10 ms.
double cpu_clock(pid_t pid, double otherwise) {
    clockid_t clock;
    timespec now;
    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &now) != 0) return otherwise;
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// False if the process is gone.
bool read_process(pid_t pid, Process &process) {
    const std::string text = read_file("/proc/" + std::to_string(pid) + "/stat");
    const size_t name_end = text.rfind(')');  // the name may itself contain blanks and parentheses
    if (name_end == std::string::npos) return false;
    unsigned long utime, stime;
    long cutime, cstime, resident;
    int parent;
    const int found = std::sscanf(
        text.c_str() + name_end + 1,
        " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %ld %ld %*d %*d %ld %*d %*u %*u %ld",
        &process.state, &parent, &utime, &stime, &cutime, &cstime, &process.threads, &resident);
    if (found != 8) return false;
    process.pid = pid;
    process.parent = parent;
    process.own = cpu_clock(pid, kTick * static_cast<double>(utime + stime));
    process.reaped = kTick * static_cast<double>(cutime + cstime);
    process.resident = kPage * static_cast<double>(resident);
    return true;
}

void append_children(pid_t pid, pid_t thread, std::vector<pid_t> &children) {
    const std::string text =
        read_file("/proc/" + std::to_string(pid) + "/task/" + std::to_string(thread) + "/children");
    const char *at = text.c_str();
    for (char *end; *at != '\0'; at = end) {
        const long child = std::strtol(at, &end, 10);
        if (end == at) break;
        children.push_back(static_cast<pid_t>(child));
    }
}

std::vector<pid_t> children_of(pid_t pid, long threads) {
    std::vector<pid_t> children;
    if (threads == 1) {
        append_children(pid, pid, children);
        return children;
    }
    for (const pid_t thread : numeric_entries("/proc/" + std::to_string(pid) + "/task"))
        append_children(pid, thread, children);
    return children;
}

using Families = std::multimap<pid_t, pid_t>;

// For kernels built without CONFIG_PROC_CHILDREN.
Families scan_families() {
    Families families;
    Process process;
    for (const pid_t pid : numeric_entries("/proc"))
        if (read_process(pid, process)) families.emplace(process.parent, pid);
    return families;
}

std::vector<pid_t> children_in(const Families &families, pid_t pid) {
    std::vector<pid_t> children;
    const auto range = families.equal_range(pid);
    for (auto at = range.first; at != range.second; ++at) children.push_back(at->second);
    return children;
}

bool kernel_lists_children() {
    const std::string self = std::to_string(getpid());
    return access(("/proc/" + self + "/task/" + self + "/children").c_str(), R_OK) == 0;
}

// Who is whose child: one question at a time where the kernel answers it, else all at once.
class Lineage {
  public:
    explicit Lineage(bool scan_all) {
        static const bool listed = kernel_lists_children();
        scan_ = scan_all || !listed;
        if (scan_) families_ = scan_families();
    }
    std::vector<pid_t> children(pid_t pid, long threads) const {
        return scan_ ? children_in(families_, pid) : children_of(pid, threads);
    }

  private:
    bool scan_;
    Families families_;
};

}  // namespace

const double kReapedError = 2 * kTick;

std::vector<Process> descendants(bool scan_all) {
    const Lineage lineage(scan_all);
    const pid_t self = getpid();
    std::vector<Process> found;
    std::set<pid_t> seen;
    const auto visit = [&](pid_t parent, long threads) {
        for (const pid_t pid : lineage.children(parent, threads)) {
            Process process;
            // A parent that is neither the one asked nor us: the number was given to a stranger meanwhile.
            if (seen.insert(pid).second && read_process(pid, process) &&
                (process.parent == parent || process.parent == self))
                found.push_back(process);
        }
    };
    visit(self, 1);
    // A parent's figures are read before its children's: a child reaped in between is counted in the next
    // snapshot instead of twice in this one.
    for (size_t i = 0; i < found.size(); ++i) visit(found[i].pid, found[i].threads);
    return found;
}

std::vector<pid_t> threads_of(pid_t pid) { return numeric_entries("/proc/" + std::to_string(pid) + "/task"); }

std::set<pid_t> kill_descendants(bool scan_all) {
    const Lineage lineage(scan_all);
    std::set<pid_t> met;
    std::vector<pid_t> queue = lineage.children(getpid(), 1);
    while (!queue.empty()) {
        const pid_t pid = queue.back();
        queue.pop_back();
        if (!met.insert(pid).second) continue;
        kill(pid, SIGKILL);
        for (const pid_t child : lineage.children(pid, kManyThreads)) queue.push_back(child);
    }
    return met;
}

double proportional_memory(pid_t pid) {
    const std::string text = read_file("/proc/" + std::to_string(pid) + "/smaps_rollup");
    const size_t at = text.find("\nPss:");
    return at == std::string::npos ? -1 : 1024 * std::strtod(text.c_str() + at + 5, nullptr);
}

}  // namespace capra
