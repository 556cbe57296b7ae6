#include "capture.hpp"

#include <algorithm>
#include <cerrno>

#include <unistd.h>

namespace capra {
namespace {

constexpr size_t kChunk = 65536;  // a pipe's usual capacity
constexpr int kMostReads = 64;    // a writer that cannot be killed must not keep us here

}  // namespace

Capture::~Capture() {
    if (fd_ >= 0) close(fd_);
}

bool Capture::read_some() {
    static char buffer[kChunk];
    if (fd_ < 0) return false;
    const ssize_t got = read(fd_, buffer, kChunk);
    if (got > 0) {
        keep(buffer, static_cast<size_t>(got));
        return true;
    }
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    close(fd_);
    fd_ = -1;
    return false;
}

void Capture::read_rest() {
    for (int i = 0; i < kMostReads && read_some();) ++i;
}

void Capture::keep(const char *bytes, size_t size) {
    total_ += static_cast<double>(size);
    const size_t first = std::min(size, head_size_ - head_.size());
    head_.append(bytes, first);
    bytes += first;
    size -= first;
    if (size > tail_size_) {
        bytes += size - tail_size_;
        size = tail_size_;
    }
    const size_t grow = std::min(size, tail_size_ - ring_.size());
    ring_.append(bytes, grow);
    for (size_t i = grow; i < size;) {
        const size_t piece = std::min(size - i, tail_size_ - oldest_);
        std::copy(bytes + i, bytes + i + piece, ring_.begin() + static_cast<std::ptrdiff_t>(oldest_));
        oldest_ = (oldest_ + piece) % tail_size_;
        i += piece;
    }
}

std::string Capture::tail() const { return ring_.substr(oldest_) + ring_.substr(0, oldest_); }

double Capture::dropped() const { return total_ - static_cast<double>(head_.size() + ring_.size()); }

}  // namespace capra
