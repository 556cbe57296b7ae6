// The beginning and the end of an output that may be endless.
#pragma once

#include <string>

namespace capra {

// Keeps the first `head` and the last `tail` bytes read from a non-blocking descriptor; counts what fell between.
class Capture {
  public:
    Capture(int fd, size_t head, size_t tail) : fd_(fd), head_size_(head), tail_size_(tail) {}
    Capture(const Capture &) = delete;
    Capture &operator=(const Capture &) = delete;
    ~Capture();

    int fd() const { return fd_; }  // -1 once the last writer has closed it
    bool read_some();               // one read; false if nothing is there for now
    void read_rest();               // what is in the pipe now; does not wait for writers

    const std::string &head() const { return head_; }
    std::string tail() const;
    double dropped() const;

  private:
    void keep(const char *bytes, size_t size);

    int fd_;
    size_t head_size_;
    size_t tail_size_;
    std::string head_;
    std::string ring_;
    size_t oldest_ = 0;  // where the ring begins once it is full
    double total_ = 0;
};

}  // namespace capra
