// Memory for matrices: filled with zeros, aligned for the widest registers, freed by its destructor.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

template <class Number>
class Buffer {
  public:
    Buffer() = default;
    explicit Buffer(std::ptrdiff_t count) : size_(count) {
#if defined(ENGINE_EXACT_BUFFERS)  // so that a sanitizer catches the first byte out of bounds
        const std::size_t bytes = count * sizeof(Number);
#else
        const std::size_t bytes = (count * sizeof(Number) + 127) / 64 * 64;
#endif
        at_.reset(static_cast<Number*>(::operator new(bytes, std::align_val_t(64))));
        std::memset(static_cast<void*>(at_.get()), 0, bytes);
    }
    Number* data() { return at_.get(); }
    const Number* data() const { return at_.get(); }
    std::ptrdiff_t size() const { return size_; }
    void clear() { std::memset(static_cast<void*>(at_.get()), 0, size_ * sizeof(Number)); }

  private:
    struct Free {
        void operator()(Number* at) const { ::operator delete(at, std::align_val_t(64)); }
    };
    std::unique_ptr<Number, Free> at_;
    std::ptrdiff_t size_ = 0;
};
