// SPDX-License-Identifier: Apache-2.0
// bench_kineto_reader [--repeat N] FILE.json…: CPU seconds and MB/s of the Kineto reader and of the floor
// (bench_kineto_floor.h) on the same unpacked files, read in chunks of 1 MB; the best of N runs each, and the peak
// memory of the process. bench/make_big_trace.py makes large files.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/bench_kineto_floor.h"
#include "trace/importers/kineto/kineto_reader.h"

namespace headway::bench {
namespace {

class NullSink final : public trace::EventSink {
 public:
  void OnEvent(const trace::Event& event) override {
    ++rows_;
    checksum_ += static_cast<uint64_t>(event.duration) + event.name + event.lane;
  }
  uint32_t OnComm(const trace::CommDetail& detail) override { return Count(detail.bytes); }
  uint32_t OnCopy(const trace::CopyDetail& detail) override { return Count(detail.bytes); }
  uint32_t OnKernel(const trace::KernelDetail& detail) override { return Count(detail.geometry); }
  [[nodiscard]] int64_t rows() const { return rows_; }

 private:
  uint32_t Count(int64_t value) {
    checksum_ += static_cast<uint64_t>(value);
    return details_++;
  }
  int64_t rows_ = 0;
  uint64_t checksum_ = 0;
  uint32_t details_ = 0;
};

class ChunkedFile {
 public:
  explicit ChunkedFile(const char* path) : fd_(open(path, O_RDONLY | O_CLOEXEC)), buffer_(1 << 20) {}
  ~ChunkedFile() {
    if (fd_ >= 0) close(fd_);
  }
  ChunkedFile(const ChunkedFile&) = delete;
  ChunkedFile& operator=(const ChunkedFile&) = delete;
  [[nodiscard]] bool good() const { return fd_ >= 0; }
  std::string_view Next() {
    const ssize_t count = read(fd_, buffer_.data(), buffer_.size());
    return {buffer_.data(), count > 0 ? static_cast<size_t>(count) : 0};
  }
  [[nodiscard]] double megabytes() const {
    struct stat status{};
    return fstat(fd_, &status) == 0 ? static_cast<double>(status.st_size) / 1e6 : 0;
  }

 private:
  int fd_;
  std::vector<char> buffer_;
};

double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

double BestOf(int repeat, const std::function<void()>& run) {
  double best = 1e9;
  for (int i = 0; i < repeat; ++i) {
    const double begin = CpuSeconds();
    run();
    best = std::min(best, CpuSeconds() - begin);
  }
  return best;
}

double PeakMegabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1000;
}

struct ReaderRun {
  const char* name;
  trace::kineto::ScanFunction scan;
};

int Run(const char* path, int repeat) {
  if (!ChunkedFile(path).good()) {
    std::fprintf(stderr, "cannot open %s\n", path);
    return 3;
  }
  const double megabytes = ChunkedFile(path).megabytes();
  std::printf("%s: %.1f MB\n", path, megabytes);
  const auto rules = trace::NameRules::BuiltIn();
  double floor_seconds = 0;
  for (const ReaderRun& run : {ReaderRun{"reader", trace::kineto::BestScan()},
                               ReaderRun{"reader, portable scan", trace::kineto::ScanPortable}}) {
    int64_t rows = 0;
    std::string error;
    const double seconds = BestOf(repeat, [&] {
      NullSink sink;
      trace::KinetoOptions options;
      options.source = path;
      options.rules = rules;
      options.scan = run.scan;
      const auto reader = trace::MakeKinetoReader(&sink, std::move(options));
      ChunkedFile file(path);
      Result<void> result;
      for (std::string_view chunk = file.Next(); !chunk.empty() && result; chunk = file.Next()) {
        result = reader->Feed(chunk);
      }
      if (result) result = reader->Finish();
      if (!result) error = result.error().ToString();
      rows = sink.rows();
    });
    if (!error.empty()) std::printf("  %s\n", error.c_str());
    const double peak = PeakMegabytes();  // before the floor has run
    if (floor_seconds == 0) {
      FloorResult floor;
      floor_seconds = BestOf(repeat, [&] {
        ChunkedFile file(path);
        floor = RunKinetoFloor([&] { return file.Next(); });
      });
      std::printf("  %-24s %8.3f s CPU %7.0f MB/s  %lld events, %lld broken\n", "floor", floor_seconds,
                  megabytes / floor_seconds, static_cast<long long>(floor.events),
                  static_cast<long long>(floor.broken));
    }
    std::printf("  %-24s %8.3f s CPU %7.0f MB/s  %lld rows, %.2f x floor, peak %.1f MB\n", run.name, seconds,
                megabytes / seconds, static_cast<long long>(rows), seconds / floor_seconds, peak);
  }
  return 0;
}

}  // namespace
}  // namespace headway::bench

int main(int argc, char** argv) {
  int repeat = 3;
  int status = argc < 2 ? 2 : 0;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--repeat" && i + 1 < argc) {
      repeat = std::max(1, std::atoi(argv[++i]));
    } else {
      status = std::max(status, headway::bench::Run(argv[i], repeat));
    }
  }
  if (status == 2) std::fprintf(stderr, "usage: bench_kineto_reader [--repeat N] FILE.json...\n");
  return status;
}
