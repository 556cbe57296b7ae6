#include "request.hpp"

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include <unistd.h>

namespace capra {
namespace {

constexpr size_t kHeader = 16;
constexpr size_t kLargest = 32u << 20;  // the kernel takes a few MB of arguments and environment at most

const std::map<std::string, double Request::*> kNumbers = {
    {"owner", &Request::owner},
    {"remove", &Request::remove},
    {"cpu", &Request::cpu},
    {"wall", &Request::wall},
    {"memory", &Request::memory},
    {"processes", &Request::processes},
    {"file_size", &Request::file_size},
    {"address_space", &Request::address_space},
    {"user_processes", &Request::user_processes},
    {"grace", &Request::grace},
    {"kill_timeout", &Request::kill_timeout},
    {"hold", &Request::hold},
    {"head", &Request::head},
    {"tail", &Request::tail},
    {"toothless", &Request::toothless},
    {"scan", &Request::scan},
};

std::string read_exactly(int fd, size_t size) {
    std::string bytes(size, '\0');
    size_t done = 0;
    while (done < size) {
        const ssize_t got = read(fd, &bytes[done], size - done);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) throw RequestError("the request ends too early");
        done += static_cast<size_t>(got);
    }
    return bytes;
}

size_t payload_size(const std::string &header) {
    if (header.compare(0, 7, "CAPRA1 ") != 0 || header.back() != '\n')
        throw RequestError("the request does not start with 'CAPRA1 <size>'");
    double size = 0;
    if (!parse_number(header.substr(7, kHeader - 8), size) || size > kLargest)
        throw RequestError("the size of the request is not a number up to 32 MB");
    return static_cast<size_t>(size);
}

void set_single(Request &request, const std::string &key, const std::string &value) {
    const auto number = kNumbers.find(key);
    if (number != kNumbers.end()) {
        if (!parse_number(value, request.*(number->second)))
            throw RequestError(key + " is not a finite number >= 0: " + value);
    } else if (key == "directory") {
        request.directory = value;
    } else if (key == "working") {
        request.working = value;
    } else if (key == "cgroup") {
        request.cgroup = value;
    } else if (key == "cores") {
        request.cores = parse_cores(value);
    } else {
        throw RequestError("unknown key: " + key);
    }
}

void parse_fields(Request &request, const std::string &payload) {
    std::set<std::string> seen;
    for (size_t start = 0; start < payload.size();) {
        const size_t end = payload.find('\0', start);
        const size_t equals = payload.find('=', start);
        if (end == std::string::npos || equals == std::string::npos || equals > end)
            throw RequestError("a field is not of the form key=value NUL");
        const std::string key = payload.substr(start, equals - start);
        std::string value = payload.substr(equals + 1, end - equals - 1);
        start = end + 1;
        if (key == "arg") {
            request.argv.push_back(std::move(value));
        } else if (key == "env") {
            request.env.push_back(std::move(value));
        } else if (!seen.insert(key).second) {
            throw RequestError("key given twice: " + key);
        } else {
            set_single(request, key, value);
        }
    }
}

void check(const Request &request) {
    if (request.argv.empty() || request.argv[0].empty()) throw RequestError("no program to run");
    if (request.directory.empty() || request.directory[0] != '/')
        throw RequestError("directory is not an absolute path");
    if (!std::isfinite(request.wall)) throw RequestError("no wall bound: a run without one may never end");
    if (request.head + request.tail > 1e9) throw RequestError("more than 1 GB of output to be kept");
}

}  // namespace

std::vector<int> parse_cores(const std::string &text) {
    std::vector<int> cores;
    for (size_t start = 0; start <= text.size();) {
        size_t comma = text.find(',', start);
        if (comma == std::string::npos) comma = text.size();
        double core = 0;
        if (!parse_number(text.substr(start, comma - start), core) || core > 1e6)
            throw RequestError("cores is not a list of numbers: " + text);
        cores.push_back(static_cast<int>(core));
        start = comma + 1;
    }
    return cores;
}

bool parse_number(const std::string &text, double &number) {
    if (text.empty() || std::strchr("0123456789.", text[0]) == nullptr) return false;
    char *end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (*end != '\0' || !std::isfinite(value)) return false;
    number = value;
    return true;
}

Request read_request(int fd) {
    const size_t size = payload_size(read_exactly(fd, kHeader));
    Request request;
    parse_fields(request, read_exactly(fd, size));
    check(request);
    return request;
}

}  // namespace capra
