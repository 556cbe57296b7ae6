#include "commands.hpp"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

namespace capra {
namespace {

constexpr size_t kLongestLine = 200;

std::vector<std::string> words(const std::string &line) {
    std::vector<std::string> found(1);
    for (const char c : line) {
        if (c == ' ')
            found.emplace_back();
        else
            found.back() += c;
    }
    return found;
}

bool read_cores(const std::string &text, std::vector<int> &cores) {
    try {
        cores = parse_cores(text);
        return true;
    } catch (const RequestError &) {
        return false;
    }
}

Command parse(const std::string &line) {
    const std::vector<std::string> word = words(line);
    Command command;
    if (word.size() == 1) {
        if (word[0] == "hold") command.kind = Command::hold;
        if (word[0] == "kill") command.kind = Command::kill;
        return command;
    }
    const bool is_resume = word[0] == "resume";
    if (word.size() > (is_resume ? 4 : 3) || !parse_number(word[1], command.bound)) return command;
    if (word.size() >= 3 && !parse_number(word[2], command.wall)) return command;
    if (word.size() == 4 && !read_cores(word[3], command.cores)) return command;
    if (word[0] == "cutoff") command.kind = Command::cutoff;
    if (is_resume) command.kind = Command::resume;
    return command;
}

}  // namespace

CommandChannel::CommandChannel(int fd) : fd_(fd) { fcntl(fd, F_SETFL, O_NONBLOCK); }

std::vector<Command> CommandChannel::read() {
    char buffer[512];
    const ssize_t got = ::read(fd_, buffer, sizeof buffer);
    closed_ = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
    if (got > 0) pending_.append(buffer, static_cast<size_t>(got));
    std::vector<Command> commands;
    for (size_t end; (end = pending_.find('\n')) != std::string::npos; pending_.erase(0, end + 1))
        commands.push_back(parse(pending_.substr(0, end)));
    if (pending_.size() > kLongestLine) pending_.clear();
    return commands;
}

}  // namespace capra
