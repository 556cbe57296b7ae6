#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace capra {

// Calls work(worker, index) for every index below count, on up to `threads` threads; worker < threads numbers them, so
// that each can own its scratch memory. Rethrows the first exception after all threads have ended.
template <class Work>
void parallel(std::size_t count, std::size_t threads, Work work) {
  threads = std::min(threads, count);
  if (threads <= 1) {
    for (std::size_t i = 0; i < count; ++i) work(std::size_t{0}, i);
    return;
  }
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex guard;
  const auto run = [&](std::size_t worker) {
    try {
      for (std::size_t i = next++; i < count; i = next++) work(worker, i);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(guard);
      if (!failure) failure = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  try {
    for (std::size_t worker = 1; worker < threads; ++worker) others.emplace_back(run, worker);
  } catch (...) {
    // The system gives no more threads: those that run will do all the work.
  }
  run(0);
  for (auto& other : others) other.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace capra
