// SPDX-License-Identifier: Apache-2.0
// headway_synth: writes artificial training jobs with known faults. docs/artificial-jobs.md describes it.
#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "synth/random_job.h"
#include "synth/trace_writer.h"
#include "synth/truth.h"

namespace headway::synth {
namespace {

constexpr std::string_view kUsage =
    "usage: headway_synth --out DIR [options]\n"
    "  --spec k=v,...         the job; may be given again, later keys win\n"
    "  --fault KIND:...       same as fault= in --spec\n"
    "  --seed S               same as seed= in --spec\n"
    "  --random N             N random jobs DIR/job0000... with seeds S, S + 1, ...\n"
    "  --target-effect E      every fault lengthens a struck step by E times the step noise\n"
    "  --pair                 DIR/baseline without the faults and DIR/current with them, on the same machines\n"
    "  --size BYTES[k|m|g]    as many steps as give about so many bytes of uncompressed trace\n"
    "  --bench-1gb            --size 1g of one host's eight ranks without faults\n"
    "  --gzip                 rank<R>.json.gz\n"
    "  --truth-only           no traces\n"
    "  --threads N            writers (default 2)\n"
    "keys of --spec with their defaults:\n";

struct Options {
  std::string out;
  JobSpec spec;
  bool seed_given = false, gzip = false, truth_only = false, pair = false;
  int random = 0, threads = 2;
  double target_effect = -1;
  double size = 0;
};

Result<void> WriteText(const std::string& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return MakeError(ErrorCode::kIo, "cannot be written", path);
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (std::fclose(file) != 0 || !written) return MakeError(ErrorCode::kIo, "could not be written completely", path);
  return {};
}

Result<int64_t> WriteTraces(const JobRun& run, const std::string& dir, const Options& options) {
  std::atomic<int> next{0};
  std::atomic<int64_t> bytes{0};
  std::vector<Result<void>> results(static_cast<size_t>(options.threads));
  std::vector<std::jthread> writers;
  for (int t = 0; t < options.threads; ++t) {
    writers.emplace_back([&, t] {
      for (int rank = next++; rank < run.job->mesh.world(); rank = next++) {
        Result<int64_t> written = WriteRankTrace(run, rank, dir, options.gzip);
        if (!written) results[static_cast<size_t>(t)] = std::unexpected(written.error());
        bytes += written.value_or(0);
      }
    });
  }
  writers.clear();
  for (const Result<void>& result : results) {
    if (!result) return std::unexpected(result.error());
  }
  return bytes.load();
}

Result<void> WriteJob(const JobSpec& spec, const std::string& dir, const Options& options) {
  std::error_code error;
  std::filesystem::create_directories(dir, error);
  if (error) return MakeError(ErrorCode::kIo, "cannot be made: " + error.message(), dir);
  const JobRun run = Simulate(spec);
  const Truth truth = Measure(spec, run);
  if (Result<void> ok = WriteText(dir + "/truth.json", TruthJson(spec, run, truth)); !ok) return ok;
  if (options.truth_only) return {};
  Result<int64_t> bytes = WriteTraces(run, dir, options);
  if (!bytes) return std::unexpected(bytes.error());
  return {};
}

void ApplyEffect(JobSpec& spec, double effect) {
  for (FaultSpec& fault : spec.faults) {
    if (effect > 0 && fault.size < 0 && fault.target_ms < 0 && fault.target_effect < 0) fault.target_effect = effect;
  }
}

// Some faults cannot cost as much as asked in some jobs (a hidden synchronisation in a job that synchronises anyway):
// such draws are passed over.
JobSpec DrawCalibrated(uint64_t seed, double effect) {
  JobSpec spec;
  for (int attempt = 0; attempt < 30; ++attempt) {
    spec = Calibrated(RandomJob(seed, effect, attempt));
    const Truth truth = Measure(spec, Simulate(spec));
    bool reached = true;
    for (const FaultTruth& t : truth.faults) {
      const double wanted = t.fault.target_effect;
      // Several at once hide behind one another; each must still be worth finding.
      const double least = truth.faults.size() == 1 ? 0.8 * wanted : 0.3 * wanted;
      reached &= t.effect_over_noise >= least && t.effect_over_noise <= 1.5 * wanted;
    }
    if (reached) break;
  }
  return spec;
}

Result<void> RunRandom(const Options& options) {
  for (int i = 0; i < options.random; ++i) {
    char name[32];
    std::snprintf(name, sizeof name, "/job%04d", i);
    const JobSpec spec = DrawCalibrated(options.spec.seed + static_cast<uint64_t>(i), options.target_effect);
    if (Result<void> ok = WriteJob(spec, options.out + name, options); !ok) return ok;
  }
  return {};
}

// Number of steps for the wanted size, from the size of two and of four steps.
Result<JobSpec> Sized(JobSpec spec, const Options& options) {
  const std::string dir = options.out + "/.size";
  std::filesystem::create_directories(dir);
  double bytes[2];
  for (int i = 0; i < 2; ++i) {
    spec.steps = 2 * (i + 1);
    Result<int64_t> written = WriteTraces(Simulate(spec), dir, options);
    if (!written) return std::unexpected(written.error());
    bytes[i] = static_cast<double>(*written);
  }
  std::filesystem::remove_all(dir);
  const double per_step = (bytes[1] - bytes[0]) / 2;
  spec.steps = std::max(1, static_cast<int>((options.size - bytes[0]) / per_step + 2.5));
  return spec;
}

Result<void> RunOne(const Options& options) {
  JobSpec spec = options.spec;
  ApplyEffect(spec, options.target_effect);
  Result<JobSpec> valid = Validated(spec);
  if (!valid) return std::unexpected(valid.error());
  if (options.size > 0) {
    valid = Sized(*valid, options);
    if (!valid) return std::unexpected(valid.error());
  }
  spec = Calibrated(*valid);
  if (!options.pair) return WriteJob(spec, options.out, options);
  JobSpec baseline = spec;
  baseline.faults.clear();
  baseline.run = spec.run + 1;
  if (Result<void> ok = WriteJob(baseline, options.out + "/baseline", options); !ok) return ok;
  return WriteJob(spec, options.out + "/current", options);
}

bool ParseSize(std::string_view text, double& out) {
  double unit = 1;
  if (!text.empty()) {
    const char last = text.back();
    unit = last == 'k' ? 1e3 : last == 'm' ? 1e6 : last == 'g' ? 1e9 : 1;
    if (unit > 1) text.remove_suffix(1);
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  out *= unit;
  return error == std::errc() && end == text.data() + text.size() && out > 0;
}

Result<void> Merge(Options& options, std::string_view spec) {
  Result<JobSpec> merged = ParseSpec(spec, options.spec);
  if (!merged) return std::unexpected(merged.error());
  options.spec = *merged;
  return {};
}

Result<Options> ParseArguments(int argc, char** argv) {
  Options options;
  Result<void> ok;
  for (int i = 1; i < argc && ok; ++i) {
    const std::string_view option = argv[i];
    const auto flag = [&](std::string_view name, bool& set) {
      set |= option == name;
      return option == name;
    };
    bool bench = false;
    if (flag("--gzip", options.gzip) || flag("--truth-only", options.truth_only) || flag("--pair", options.pair))
      continue;
    if (flag("--bench-1gb", bench)) {
      ok = Merge(options, "dp=8,layers=24,layer_ms=2,stacks=1");
      options.size = 1e9;
      continue;
    }
    if (i + 1 == argc)
      return MakeError(ErrorCode::kInvalidArgument, std::string(option) + ": unknown, or its value is missing");
    const std::string value = argv[++i];
    double number = 0;
    if (option == "--out") {
      options.out = value;
    } else if (option == "--spec") {
      ok = Merge(options, value);
    } else if (option == "--fault") {
      ok = Merge(options, "fault=" + value);
    } else if (option == "--seed") {
      ok = Merge(options, "seed=" + value);
    } else if ((option == "--random" || option == "--threads" || option == "--target-effect" || option == "--size") &&
               ParseSize(value, number)) {
      if (option == "--random") options.random = static_cast<int>(number);
      if (option == "--threads") options.threads = std::clamp(static_cast<int>(number), 1, 64);
      if (option == "--target-effect") options.target_effect = number;
      if (option == "--size") options.size = number;
    } else {
      return MakeError(ErrorCode::kInvalidArgument, std::string(option) + " " + value + " makes no sense");
    }
  }
  if (!ok) return std::unexpected(ok.error());
  if (options.out.empty()) return MakeError(ErrorCode::kInvalidArgument, "--out is missing");
  return options;
}

}  // namespace

int Main(int argc, char** argv) {
  if (argc < 2 || std::string_view(argv[1]) == "--help") {
    std::printf("%s%s", std::string(kUsage).c_str(), SpecHelp().c_str());
    return argc < 2 ? 2 : 0;
  }
  Result<Options> options = ParseArguments(argc, argv);
  Result<void> done = options ? (options->random > 0 ? RunRandom(*options) : RunOne(*options))
                              : Result<void>(std::unexpected(options.error()));
  if (done) return 0;
  std::fprintf(stderr, "headway_synth: %s\n", done.error().ToString().c_str());
  return done.error().code == ErrorCode::kInvalidArgument ? 2 : 1;
}

}  // namespace headway::synth

int main(int argc, char** argv) { return headway::synth::Main(argc, argv); }
