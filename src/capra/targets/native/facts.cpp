#include "facts.hpp"

#include <cerrno>
#include <cstdio>

#include <unistd.h>

namespace capra {
namespace {

std::string quoted(const std::string &text) {
    std::string json = "\"";
    for (const char c : text) {
        const unsigned char byte = static_cast<unsigned char>(c);
        if (byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\') {
            json += c;
        } else {
            // Bytes beyond ASCII come out as Latin-1: legible, and always valid JSON.
            char escape[8];
            std::snprintf(escape, sizeof escape, "\\u%04x", byte);
            json += escape;
        }
    }
    return json + "\"";
}

std::string number(double value) {
    char text[40];
    std::snprintf(text, sizeof text, "%.9f", value);
    return text;
}

// As it was given: who compares it with what was asked for must find it equal.
std::string exact(double value) {
    char text[40];
    std::snprintf(text, sizeof text, "%.16e", value);
    return text;
}

std::string list(const std::vector<pid_t> &pids) {
    std::string json = "[";
    for (const pid_t pid : pids) json += (json.size() > 1 ? "," : "") + std::to_string(pid);
    return json + "]";
}

std::string flag(bool value) { return value ? "true" : "false"; }

std::string optional(bool present, const std::string &json) { return present ? json : "null"; }

std::string measures(const Facts &facts) {
    return "\"cutoff\":" + exact(facts.cutoff) + ",\"cpu\":" + number(facts.cpu) + ",\"wall\":" + number(facts.wall) +
           ",\"held\":" + number(facts.held) + ",\"memory\":" + std::to_string(static_cast<long long>(facts.memory)) +
           ",\"overshoot\":" + number(facts.overshoot) + ",\"processes\":" + std::to_string(facts.processes) +
           ",\"stragglers\":" + std::to_string(facts.stragglers) + ",\"unkillable\":" + list(facts.unkillable) +
           ",\"ignored\":" + std::to_string(facts.ignored);
}

std::string ending(const Facts &facts) {
    return "\"exit_code\":" + optional(facts.exit_code >= 0, std::to_string(facts.exit_code)) +
           ",\"signal\":" + optional(facts.signal > 0, std::to_string(facts.signal)) +
           ",\"start_error\":" + optional(!facts.start_error.empty(), quoted(facts.start_error)) +
           ",\"limit\":" + optional(!facts.limit.empty(), quoted(facts.limit)) + ",\"stopped\":" + flag(facts.stopped) +
           ",\"waiting\":" + flag(facts.waiting) + ",\"interrupted\":" + flag(facts.interrupted);
}

std::string line(const Facts &facts, const std::string &output, const std::string &errors) {
    return "{" + ending(facts) + "," + measures(facts) + ",\"pinned\":" + flag(facts.pinned) + ",\"backend\":" +
           quoted(facts.backend) + ",\"stdout\":" + output + ",\"stderr\":" + errors + "}\n";
}

std::string sizes(const Capture &capture) {
    return "[" + std::to_string(capture.head().size()) + "," + std::to_string(capture.tail().size()) + "," +
           std::to_string(static_cast<long long>(capture.dropped())) + "]";
}

bool write_all(int fd, const std::string &bytes) {
    for (size_t done = 0; done < bytes.size();) {
        const ssize_t put = write(fd, bytes.data() + done, bytes.size() - done);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return false;
        done += static_cast<size_t>(put);
    }
    return true;
}

}  // namespace

bool write_report(int fd, const Facts &facts, const Capture &output, const Capture &errors) {
    return write_all(fd, line(facts, sizes(output), sizes(errors)) + output.head() + output.tail() + errors.head() +
                             errors.tail());
}

bool write_waiting(int fd, const Facts &facts) { return write_all(fd, line(facts, "[0,0,0]", "[0,0,0]")); }

}  // namespace capra
