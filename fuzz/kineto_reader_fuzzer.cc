// SPDX-License-Identifier: Apache-2.0
// Any bytes, in chunks of two sizes and with both scans: no crash, and the same rows each time.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "trace/importers/kineto/kineto_reader.h"

namespace {

using headway::trace::Event;

constexpr size_t kLongest = 2048;

// Traps, so that the fuzzer keeps the input.
void Require(bool holds) {
  if (!holds) __builtin_trap();
}

class HashingSink final : public headway::trace::EventSink {
 public:
  void OnEvent(const Event& event) override {
    Require(event.duration >= 0);
    Require(event.sequence == rows_++);
    Mix(static_cast<uint64_t>(event.start));
    Mix(static_cast<uint64_t>(event.duration));
    Mix(event.name);
    Mix(event.correlation);
    Mix(event.lane);
    Mix(event.detail);
    Mix(static_cast<uint64_t>(event.kind) << 8 | event.flags);
    last_name_ = event.name;
  }
  uint32_t OnComm(const headway::trace::CommDetail& detail) override {
    Mix(static_cast<uint64_t>(detail.bytes));
    Mix(static_cast<uint64_t>(detail.peer));
    return details_++;
  }
  uint32_t OnCopy(const headway::trace::CopyDetail& detail) override {
    Mix(static_cast<uint64_t>(detail.bytes));
    return details_++;
  }
  uint32_t OnKernel(const headway::trace::KernelDetail& detail) override {
    Mix(detail.geometry);
    return details_++;
  }
  void Mix(uint64_t value) {
    hash_ = (hash_ ^ value) * 0x9E3779B97F4A7C15ULL;
    hash_ ^= hash_ >> 29;
  }
  [[nodiscard]] uint64_t hash() const { return hash_; }
  [[nodiscard]] headway::trace::NameId last_name() const { return last_name_; }

 private:
  uint64_t hash_ = 0;
  uint32_t rows_ = 0;
  uint32_t details_ = 0;
  headway::trace::NameId last_name_ = 0;
};

uint64_t Read(std::string_view text, size_t chunk, size_t slice, headway::trace::kineto::ScanFunction scan) {
  static const auto rules = headway::trace::NameRules::BuiltIn();
  headway::trace::KinetoOptions options;
  options.rules = rules;
  options.scan = scan;
  options.walker.slice = slice;
  options.walker.longest_element = kLongest;
  options.names.longest = 64;
  HashingSink sink;
  const auto reader = headway::trace::MakeKinetoReader(&sink, std::move(options));
  headway::Result<void> result;
  for (size_t at = 0; at < text.size() && result; at += chunk) result = reader->Feed(text.substr(at, chunk));
  if (result) result = reader->Finish();
  if (!result) return 1;
  Require(sink.last_name() < reader->names().size());
  for (const auto& [name, problem] : reader->log().problems()) {
    for (const char c : name + problem.example) sink.Mix(static_cast<unsigned char>(c));
    sink.Mix(static_cast<uint64_t>(problem.count));
    sink.Mix(static_cast<uint64_t>(problem.first_offset));
  }
  return sink.hash();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // Small slices, so that elements cross their borders; up to the length of the longest element.
  const size_t slice = kLongest >> (size > 1 ? data[size - 2] % 5 : 2);
  const size_t chunk = size > 0 ? 1 + data[size - 1] % 100 : 1;
  const uint64_t whole = Read(text, size_t{1} << 20, slice, headway::trace::kineto::BestScan());
  Require(Read(text, chunk, slice, headway::trace::kineto::ScanPortable) == whole);
  return 0;
}
