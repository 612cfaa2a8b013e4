// SPDX-License-Identifier: Apache-2.0
// bench_hwp [--ranks N] [--functions F] [--steps S] [--collectives C] [--threads T]: sizes of generated rank patterns
// in .hwp files, CPU time to write and to read one, and the time and memory to read N files of one rank each from a
// temporary folder (warm: they were just written) on T threads, then the same ranks from one merged file.
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/file_io.h"
#include "base/parallel.h"
#include "base/random_access_file.h"
#include "pattern/hwp_format.h"
#include "pattern/hwp_merge.h"
#include "pattern/hwp_rank.h"
#include "pattern/hwp_reader.h"
#include "pattern/hwp_sample_pattern.h"
#include "pattern/hwp_writer.h"

namespace headway::bench {
namespace {

using pattern::RankPattern;
using pattern::hwp::SampleShape;

double Seconds(const timeval& t) { return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec); }

struct Clocks {
  Clocks() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    system = Seconds(usage.ru_stime);
    cpu = Seconds(usage.ru_utime) + system;
  }
  double wall = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  double cpu = 0;
  double system = 0;  // of cpu: first touch of memory, reading files
};

double PeakMegabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

[[noreturn]] void Fail(const Error& error) {
  std::fprintf(stderr, "bench_hwp: %s\n", error.ToString().c_str());
  std::exit(1);
}

void PrintSizes(const SampleShape& shape) {
  const RankPattern rank = pattern::hwp::MakeSamplePattern(shape, 1);
  RankPattern without = rank;
  without.comms.instances.clear();
  const size_t table = pattern::hwp::WriteTableSection(*rank.function_table).size();
  const size_t whole = pattern::WriteHwp({&rank, 1}).size();
  const size_t functions = pattern::WriteHwp({&without, 1}).size();
  std::printf("%d functions, %d steps, %zu collectives: %zu bytes, of them names %zu, %.2f a collective, rest %zu\n",
              shape.functions, shape.steps, rank.comms.instances.size(), whole, table,
              static_cast<double>(whole - functions) / static_cast<double>(rank.comms.instances.size()),
              functions - table);
}

void PrintTimes(const SampleShape& shape) {
  constexpr int kRounds = 500;
  const RankPattern rank = pattern::hwp::MakeSamplePattern(shape, 1);
  const Clocks start;
  std::string bytes;
  for (int i = 0; i < kRounds / 20; ++i) bytes = pattern::WriteHwp({&rank, 1});
  const Clocks written;
  pattern::FunctionTableCache cache;
  pattern::HwpReader reader(&cache);
  for (int i = 0; i < kRounds; ++i) {
    if (const auto contents = reader.Read(bytes, "bench"); !contents) Fail(contents.error());
  }
  const Clocks read;
  std::printf("  one rank: written in %.2f ms (table included), read in %.0f us of CPU time\n",
              (written.cpu - start.cpu) / (kRounds / 20.0) * 1e3, (read.cpu - written.cpu) / kRounds * 1e6);
}

std::string PathOf(const std::string& folder, size_t rank) { return folder + "/rank" + std::to_string(rank) + ".hwp"; }

// A few dozen distinct patterns, written under as many numbers as asked for. The table is packed once.
void WriteFiles(const std::string& folder, const SampleShape& shape, size_t ranks, int threads) {
  constexpr size_t kDistinct = 32;
  const auto patterns =
      ParallelMap(kDistinct, threads, [&](size_t i) { return pattern::hwp::MakeSamplePattern(shape, i); });
  const std::string table_bytes = pattern::hwp::WriteTableSection(*patterns[0].function_table);
  const auto table = pattern::hwp::MakeSection(pattern::hwp::kTableTag, -1, table_bytes);
  ParallelFor(ranks, threads, [&](size_t i) {
    RankPattern rank = patterns[i % kDistinct];
    rank.meta.rank = rank.comms.rank = static_cast<RankId>(i);
    const std::string bytes = pattern::hwp::WriteRankSection(rank, table.checksum);
    const auto file =
        pattern::hwp::AssembleFile({table, pattern::hwp::MakeSection(pattern::hwp::kRankTag, rank.meta.rank, bytes)});
    if (!file) Fail(file.error());
    std::ofstream(PathOf(folder, i), std::ios::binary) << *file;
  });
}

void Print(const char* what, const Clocks& from, size_t ranks, const std::vector<RankPattern>& all) {
  const Clocks now;
  size_t instances = 0;
  for (const RankPattern& rank : all) instances += rank.comms.instances.size();
  std::printf(
      "  %s: %.2f s, %.2f CPU s (%.2f in the system), %.0f us of CPU time a rank, %.0f MB at the peak (%zu "
      "collectives)\n",
      what, now.wall - from.wall, now.cpu - from.cpu, now.system - from.system,
      (now.cpu - from.cpu) / static_cast<double>(ranks) * 1e6, PeakMegabytes(), instances);
}

// Reads in pieces of 64 ranks, one reader each.
template <typename ReadOne>
std::vector<RankPattern> ReadAll(size_t ranks, int threads, pattern::FunctionTableCache* cache, ReadOne read_one) {
  constexpr size_t kPiece = 64;
  std::vector<RankPattern> all(ranks);
  ParallelFor((ranks + kPiece - 1) / kPiece, threads, [&](size_t piece) {
    pattern::HwpReader reader(cache);
    for (size_t i = piece * kPiece; i < std::min(ranks, (piece + 1) * kPiece); ++i) all[i] = read_one(&reader, i);
  });
  return all;
}

void PrintFolder(const std::string& folder, size_t ranks, int threads, pattern::Parts parts) {
  pattern::FunctionTableCache cache;
  const Clocks start;
  const auto all = ReadAll(ranks, threads, &cache, [&](pattern::HwpReader* reader, size_t i) {
    auto contents = reader->ReadFile(PathOf(folder, i), "bench", parts);
    if (!contents) Fail(contents.error());
    return std::move(contents->ranks.front());
  });
  Print(parts == pattern::Parts::kAll ? "a file for each" : "a file for each, without own times by step", start, ranks,
        all);
}

void PrintMerged(const std::string& folder, size_t ranks, int threads) {
  std::vector<std::string> files(ranks);
  std::vector<pattern::HwpBytes> inputs;
  for (size_t i = 0; i < ranks; ++i) {
    auto bytes = ReadSmallFile(PathOf(folder, i));
    if (!bytes) Fail(bytes.error());
    files[i] = std::move(*bytes);
    inputs.push_back({files[i], "bench"});
  }
  const Clocks start;
  const auto merged = pattern::MergeHwp(inputs);
  if (!merged) Fail(merged.error());
  const Clocks done;
  std::printf("  merged: %.1f MB, %.0f bytes a rank, in %.2f s\n", static_cast<double>(merged->size()) / 1e6,
              static_cast<double>(merged->size()) / static_cast<double>(ranks), done.wall - start.wall);
  const auto file = pattern::HwpFile::Open(*merged, "bench");
  if (!file) Fail(file.error());
  pattern::FunctionTableCache cache;
  const Clocks opened;
  const auto all = ReadAll(ranks, threads, &cache, [&](pattern::HwpReader* reader, size_t i) {
    auto rank = reader->Rank(*file, i);
    if (!rank) Fail(rank.error());
    return std::move(*rank);
  });
  Print("one merged file", opened, ranks, all);
}

int Main(int argc, char** argv) {
  SampleShape shape{.functions = 500, .steps = 20, .collectives = 50};
  int ranks = 10'000;
  int threads = 2;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view option = argv[i];
    int* const value = option == "--ranks"         ? &ranks
                       : option == "--functions"   ? &shape.functions
                       : option == "--steps"       ? &shape.steps
                       : option == "--collectives" ? &shape.collectives
                       : option == "--threads"     ? &threads
                                                   : nullptr;
    if (value == nullptr) return std::fprintf(stderr, "bench_hwp: unknown option %s\n", argv[i]), 2;
    *value = std::atoi(argv[i + 1]);
  }
  PrintSizes({});
  PrintSizes(shape);
  PrintTimes(shape);
  if (ranks <= 0) return 0;
  char folder[] = "/tmp/bench_hwp.XXXXXX";
  if (mkdtemp(folder) == nullptr) return std::perror("bench_hwp"), 1;
  std::printf("%d ranks on %d threads\n", ranks, threads);
  WriteFiles(folder, shape, static_cast<size_t>(ranks), threads);
  PrintFolder(folder, static_cast<size_t>(ranks), threads, pattern::Parts::kNoFunctionSteps);
  PrintFolder(folder, static_cast<size_t>(ranks), threads, pattern::Parts::kAll);
  PrintMerged(folder, static_cast<size_t>(ranks), threads);
  std::filesystem::remove_all(folder);
  return 0;
}

}  // namespace
}  // namespace headway::bench

int main(int argc, char** argv) { return headway::bench::Main(argc, argv); }
