// SPDX-License-Identifier: Apache-2.0
#include "synth/spec.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <variant>

namespace headway::synth {
namespace {

constexpr std::array<const char*, kFaultKinds> kFaultNames = {
    "slow_compute",          "slow_host",     "slow_function", "slow_dataloader",  "gc_pause",
    "process_pause",         "slow_link",     "slow_fabric",   "stage_imbalance",  "data_imbalance",
    "data_imbalance_random", "hidden_sync",   "launch_bound",  "unpinned_copy",    "slow_copy",
    "checkpoint_stall",      "compile_stall", "late_entry",    "uniform_slowdown", "lost_overlap",
    "small_collectives"};

using Member = std::variant<int JobSpec::*, double JobSpec::*, bool JobSpec::*, uint64_t JobSpec::*, DpKind JobSpec::*,
                            Backend JobSpec::*, ArgsEra JobSpec::*>;
struct Field {
  const char* key;
  Member member;
  const char* help;
};

const std::array kFields = std::to_array<Field>({
    {"seed", &JobSpec::seed, "everything random follows from it"},
    {"run", &JobSpec::run, "a further run on the same machines: new noise, same speeds and clocks"},
    {"dp", &JobSpec::dp, "data-parallel replicas"},
    {"tp", &JobSpec::tp, "tensor-parallel ranks"},
    {"pp", &JobSpec::pp, "pipeline stages (1F1B)"},
    {"ep", &JobSpec::ep, "expert-parallel ranks; divides dp; > 1 makes every second layer a MoE layer"},
    {"ranks_per_host", &JobSpec::ranks_per_host, "ranks on one host"},
    {"steps", &JobSpec::steps, "recorded steps"},
    {"warmup", &JobSpec::warmup, "steps before the recording"},
    {"micro_batches", &JobSpec::micro_batches, "per step; 0: 2 pp, or 1 without a pipeline"},
    {"layers", &JobSpec::layers, "layers of the model, divisible by pp"},
    {"layer_ms", &JobSpec::layer_ms, "forward time of one layer and micro-batch on one rank"},
    {"layer_mb", &JobSpec::layer_mb, "gradient bytes of one layer on one rank, MB"},
    {"activation_mb", &JobSpec::activation_mb, "what TP, EP, PP send per micro-batch, MB"},
    {"batch_mb", &JobSpec::batch_mb, "host to device per step, MB"},
    {"kernels_small", &JobSpec::kernels_small, "further tiny kernels per layer"},
    {"dp_kind", &JobSpec::dp_kind, "ddp | fsdp | allreduce"},
    {"bucket_mb", &JobSpec::bucket_mb, "DDP bucket size, MB"},
    {"backend", &JobSpec::backend, "nccl | gloo"},
    {"sync", &JobSpec::sync, "the loop reads the loss in every step; 0: that of the step before"},
    {"loss_all_reduce", &JobSpec::loss_all_reduce, "the loss is averaged over all ranks in every step"},
    {"loader_ms", &JobSpec::loader_ms, "the loader's time per step"},
    {"net_gbs", &JobSpec::net_gbs, "bus bandwidth between hosts; 0: as measured"},
    {"node_gbs", &JobSpec::node_gbs, "bus bandwidth inside a host; 0: as measured"},
    {"noise", &JobSpec::noise, "scales the spread of single operations"},
    {"step_noise", &JobSpec::step_noise, "sigma of a rank's step"},
    {"common_noise", &JobSpec::common_noise, "sigma of a step on all ranks"},
    {"rank_noise", &JobSpec::rank_noise, "sigma between devices"},
    {"host_noise", &JobSpec::host_noise, "sigma between host processors"},
    {"hiccup_rate", &JobSpec::hiccup_rate, "host pauses of 0.1 to 1 ms per rank and step"},
    {"clock_ms", &JobSpec::clock_ms, "hosts' clocks are off by up to so much"},
    {"drift_ppm", &JobSpec::drift_ppm, "and drift by up to so much"},
    {"stacks", &JobSpec::stacks, "python_function events"},
    {"shapes", &JobSpec::shapes, "record_shapes"},
    {"flows", &JobSpec::flows, "ac2g and fwdbwd flow events"},
    {"autograd_thread", &JobSpec::autograd_thread, "the backward pass has its own thread (always off with gloo)"},
    {"job_groups", &JobSpec::job_groups, "top-level key that names every group and its dimension"},
    {"gpu_annotations", &JobSpec::gpu_annotations, "gpu_user_annotation events"},
    {"pinned", &JobSpec::pinned, "batches are in pinned memory"},
    {"args", &JobSpec::args, "collective arguments: none | noseq | seq"},
    {"whole_us", &JobSpec::whole_us, "integer microseconds since the epoch"},
});

constexpr std::array<std::pair<const char*, DpKind>, 3> kDpKinds = {
    {{"ddp", DpKind::kDdp}, {"fsdp", DpKind::kFsdp}, {"allreduce", DpKind::kAllReduce}}};
constexpr std::array<std::pair<const char*, Backend>, 2> kBackends = {
    {{"nccl", Backend::kNccl}, {"gloo", Backend::kGloo}}};
constexpr std::array<std::pair<const char*, ArgsEra>, 3> kEras = {
    {{"none", ArgsEra::kNoArgs}, {"noseq", ArgsEra::kNoSeq}, {"seq", ArgsEra::kSeq}}};
const auto& WordsOf(DpKind) { return kDpKinds; }
const auto& WordsOf(Backend) { return kBackends; }
const auto& WordsOf(ArgsEra) { return kEras; }

std::unexpected<Error> Bad(std::string_view what, std::string_view value) {
  return MakeError(ErrorCode::kInvalidArgument, std::string(what) + ": '" + std::string(value) + "' makes no sense");
}

bool Parse(std::string_view text, double& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}
bool Parse(std::string_view text, int& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}
bool Parse(std::string_view text, uint64_t& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}
bool Parse(std::string_view text, bool& out) {
  out = text == "1";
  return text == "0" || text == "1";
}
template <typename E>
  requires std::is_enum_v<E>
bool Parse(std::string_view text, E& out) {
  for (const auto& [word, value] : WordsOf(E{})) {
    if (text == word) {
      out = value;
      return true;
    }
  }
  return false;
}

std::string Show(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", v);
  return text;
}
std::string Show(int v) { return std::to_string(v); }
std::string Show(uint64_t v) { return std::to_string(v); }
std::string Show(bool v) { return v ? "1" : "0"; }
template <typename E>
  requires std::is_enum_v<E>
std::string Show(E v) {
  for (const auto& [word, value] : WordsOf(E{})) {
    if (v == value) return word;
  }
  return "?";
}

// Calls visit(part) for every part of `text` between separators; stops at the first error.
template <typename Visit>
Result<void> ForEachPart(std::string_view text, char separator, const Visit& visit) {
  while (!text.empty()) {
    const size_t cut = std::min(text.find(separator), text.size());
    if (cut > 0) {
      if (Result<void> ok = visit(text.substr(0, cut)); !ok) return ok;
    }
    text.remove_prefix(std::min(cut + 1, text.size()));
  }
  return {};
}

Result<void> SetFaultOption(FaultSpec& fault, std::string_view key, std::string_view value) {
  const std::pair<const char*, int FaultSpec::*> ints[] = {
      {"rank", &FaultSpec::rank},        {"host", &FaultSpec::host},   {"stage", &FaultSpec::stage},
      {"onset", &FaultSpec::onset},      {"every", &FaultSpec::every}, {"only", &FaultSpec::only},
      {"sawtooth", &FaultSpec::sawtooth}};
  const std::pair<const char*, double FaultSpec::*> reals[] = {
      {"size", &FaultSpec::size}, {"ms", &FaultSpec::target_ms}, {"effect", &FaultSpec::target_effect}};
  for (const auto& [name, member] : ints) {
    if (key == name) return Parse(value, fault.*member) ? Result<void>{} : Bad(key, value);
  }
  for (const auto& [name, member] : reals) {
    if (key == name) return Parse(value, fault.*member) ? Result<void>{} : Bad(key, value);
  }
  if (key == "function") {
    fault.function = std::string(value);
    return {};
  }
  return Bad("fault option", key);
}

}  // namespace

const char* FaultName(FaultKind kind) { return kFaultNames[static_cast<size_t>(kind)]; }

double Strength(const FaultSpec& fault, int step) {
  if (fault.only >= 0) return step == fault.only ? 1 : 0;
  const int since = step - std::max(0, fault.onset);
  if (since < 0 || since % std::max(1, fault.every) != 0) return 0;
  if (fault.sawtooth > 0) return static_cast<double>(since % fault.sawtooth + 1) / fault.sawtooth;
  return 1;
}

Result<FaultSpec> ParseFault(std::string_view text) {
  FaultSpec fault;
  bool named = false;
  Result<void> ok = ForEachPart(text, ':', [&](std::string_view part) -> Result<void> {
    if (!named) {
      named = true;
      for (int k = 0; k < kFaultKinds; ++k) {
        if (part == kFaultNames[static_cast<size_t>(k)]) {
          fault.kind = static_cast<FaultKind>(k);
          return {};
        }
      }
      return Bad("fault", part);
    }
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos) return Bad("fault option", part);
    return SetFaultOption(fault, part.substr(0, equals), part.substr(equals + 1));
  });
  if (!ok) return std::unexpected(ok.error());
  return fault;
}

Result<JobSpec> ParseSpec(std::string_view text, JobSpec spec) {
  Result<void> ok = ForEachPart(text, ',', [&](std::string_view part) -> Result<void> {
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos) return Bad("key=value", part);
    const std::string_view key = part.substr(0, equals), value = part.substr(equals + 1);
    if (key == "fault") {
      Result<FaultSpec> fault = ParseFault(value);
      if (!fault) return std::unexpected(fault.error());
      spec.faults.push_back(*fault);
      return {};
    }
    for (const Field& field : kFields) {
      if (key != field.key) continue;
      const bool parsed = std::visit([&](auto member) { return Parse(value, spec.*member); }, field.member);
      return parsed ? Result<void>{} : Bad(key, value);
    }
    return Bad("key", key);
  });
  if (!ok) return std::unexpected(ok.error());
  return spec;
}

std::string SpecText(const JobSpec& spec) {
  const JobSpec plain;
  std::string text;
  for (const Field& field : kFields) {
    std::visit(
        [&](auto member) {
          if (spec.*member == plain.*member) return;
          text += (text.empty() ? "" : ",") + std::string(field.key) + "=" + Show(spec.*member);
        },
        field.member);
  }
  for (const FaultSpec& f : spec.faults) {
    text += std::string(text.empty() ? "" : ",") + "fault=" + FaultName(f.kind);
    const std::pair<const char*, int> ints[] = {
        {"rank", f.rank}, {"host", f.host}, {"stage", f.stage}, {"onset", f.onset}, {"only", f.only}};
    for (const auto& [name, value] : ints) {
      if (value >= 0) text += ":" + std::string(name) + "=" + Show(value);
    }
    if (f.every > 1) text += ":every=" + Show(f.every);
    if (f.sawtooth > 0) text += ":sawtooth=" + Show(f.sawtooth);
    if (f.size >= 0) text += ":size=" + Show(f.size);
    if (!f.function.empty()) text += ":function=" + f.function;
  }
  return text;
}

std::string SpecHelp() {
  const JobSpec plain;
  std::string help;
  for (const Field& field : kFields) {
    const std::string value = std::visit([&](auto member) { return Show(plain.*member); }, field.member);
    const std::string setting = std::string(field.key) + "=" + value;
    help += "  " + setting + std::string(28 - std::min<size_t>(27, setting.size()), ' ') + field.help + "\n";
  }
  help += "  fault=KIND[:rank=R|:host=H|:stage=S][:size=X|:ms=X|:effect=X][:onset=N][:every=K][:only=N][:sawtooth=N]\n";
  help += "        [:function=NAME]; may be given again; kinds:";
  for (const char* name : kFaultNames) help += std::string(" ") + name;
  return help + "\n";
}

}  // namespace headway::synth
