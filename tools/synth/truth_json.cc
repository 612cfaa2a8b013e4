// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>

#include "synth/output_file.h"
#include "synth/trace_writer.h"
#include "synth/truth.h"

namespace headway::synth {
namespace {

std::string Number(double v) {
  char text[40];
  std::snprintf(text, sizeof text, "%.4f", v);
  return text;
}

std::string Quoted(const std::string& text) {
  std::string out;
  AppendJsonString(out, text);
  return out;
}

std::string List(const std::vector<int>& values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(values[i]);
  return text + "]";
}

// What is slow, in words.
std::string Resource(const FaultSpec& f) {
  std::string who = f.rank >= 0    ? "rank " + std::to_string(f.rank)
                    : f.host >= 0  ? "host " + std::to_string(f.host)
                    : f.stage >= 0 ? "stage " + std::to_string(f.stage)
                                   : "all ranks";
  switch (f.kind) {
    case FaultKind::kSlowCompute: return "accelerator of " + who;
    case FaultKind::kSlowHost: return "processors of " + who;
    case FaultKind::kSlowLink: return "egress of " + who;
    case FaultKind::kSlowFabric: return "the network and the links of all groups";
    case FaultKind::kSlowCopy: return "PCIe of " + who;
    case FaultKind::kUnpinnedCopy: return "pageable memory on " + who;
    case FaultKind::kExpertImbalance: return "the experts on " + who;
    case FaultKind::kRandomImbalance: return "the replica with the long sequences, another in each step";
    default: return who;
  }
}

std::string CulpritFunction(const FaultSpec& f) {
  switch (f.kind) {
    case FaultKind::kSlowFunction:
      for (const ScriptFunction& function : kScriptFunctions) {
        if (f.function == function.name) return function.event;
      }
      return f.function;
    case FaultKind::kSlowLoader: return "train.py(150): read_shard";
    case FaultKind::kGcPause: return "<built-in function collect>";
    case FaultKind::kHiddenSync: return "aten::item";
    case FaultKind::kCheckpointStall: return "train.py(188): save_checkpoint";
    case FaultKind::kCompileStall: return "torch/_inductor/codecache.py(1180): load";
    default: return "";
  }
}

// The dimension whose groups the fault lives in, where there is one.
std::string GroupOf(const JobSpec& spec, const FaultSpec& f) {
  if (f.kind == FaultKind::kExpertImbalance) return "ep";
  if (f.kind == FaultKind::kStageImbalance) return "pp";
  if (f.kind == FaultKind::kLostOverlap || f.kind == FaultKind::kSmallCollectives) return "dp";
  if (f.kind == FaultKind::kSlowLink && spec.tp == 1 && spec.pp == 1) return "dp";
  return "";
}

std::string StepsText(const JobSpec& spec, const FaultTruth& t) {
  return static_cast<int>(t.steps.size()) == spec.steps ? "\"all\"" : List(t.steps);
}

std::string Victims(const std::map<int, Victim>& victims) {
  std::string text = "{";
  for (const auto& [rank, v] : victims) {
    text += std::string(text.size() == 1 ? "" : ", ") + "\"" + std::to_string(rank) +
            "\": {\"waits_in\": " + Quoted(v.waits_in) + ", \"behind\": " + std::to_string(v.behind) +
            ", \"ms\": " + Number(v.ms) + "}";
  }
  return text + "}";
}

std::string RanksHit(const JobRun& run, const std::vector<size_t>& faults) {
  const JobSpec& spec = run.job->spec;
  std::string text = "{";
  for (int step = spec.warmup; step < spec.warmup + spec.steps; ++step) {
    std::vector<int> hit;
    for (int r = 0; r < run.job->mesh.world(); ++r) {
      for (size_t f : faults) {
        const std::vector<int> struck = run.job->faults.Struck(f, step);
        if (std::find(struck.begin(), struck.end(), r) != struck.end()) {
          hit.push_back(r);
          break;
        }
      }
    }
    text += std::string(text.size() == 1 ? "" : ", ") + "\"ProfilerStep#" + std::to_string(step) + "\": " + List(hit);
  }
  return text + "}";
}

std::string FaultJson(const JobRun& run, const FaultTruth& t, size_t index) {
  const JobSpec& spec = run.job->spec;
  const FaultSpec& f = t.fault;
  std::string text = "    {\"kind\": " + Quoted(FaultName(f.kind)) + ", \"culprit_ranks\": " + List(t.ranks);
  if (!CulpritFunction(f).empty()) text += ", \"culprit_function\": " + Quoted(CulpritFunction(f));
  text += ", \"common_cause\": " + std::string(IsCommonCause(f, run.job->mesh) ? "true" : "false");
  text += ", \"resource\": " + Quoted(Resource(f));
  if (f.rank >= 0) text += ", \"rank\": " + std::to_string(f.rank);
  if (f.host >= 0) text += ", \"host\": " + std::to_string(f.host);
  if (f.stage >= 0) text += ", \"stage\": " + std::to_string(f.stage);
  if (!GroupOf(spec, f).empty()) text += ", \"group\": " + Quoted(GroupOf(spec, f));
  text += ", \"size\": " + Number(f.size) + ", \"every\": " + std::to_string(f.every) +
          ", \"onset\": " + std::to_string(f.onset) + ", \"sawtooth\": " + std::to_string(f.sawtooth);
  text += ", \"steps\": " + StepsText(spec, t) + ", \"magnitude_ms\": " + Number(t.magnitude_ms) +
          ", \"recoverable_ms_per_step\": " + Number(t.recoverable_ms) +
          ", \"recoverable_ms_per_struck_step\": " + Number(t.struck_step_ms) +
          ", \"effect_over_noise\": " + Number(t.effect_over_noise);
  text += ",\n     \"ranks_hit_in_step\": " + RanksHit(run, {index});
  return text + ",\n     \"victims\": " + Victims(t.victims) + "}";
}

// Per host, against the first.
std::string Clocks(const Job& job) {
  std::string offsets, drifts;
  const HostClock first = ClockOf(job, 0);
  for (int r = 0; r < job.mesh.world(); ++r) {
    if (r > 0 && job.mesh.Host(r) == job.mesh.Host(r - 1)) continue;
    const HostClock clock = ClockOf(job, r);
    offsets += (r > 0 ? ", " : "") + Number(static_cast<double>(clock.offset - first.offset) * 1e-6);
    drifts += (r > 0 ? ", " : "") + Number((clock.drift - first.drift) * 1e6);
  }
  return "{\"offset_ms\": [" + offsets + "], \"drift_ppm\": [" + drifts + "]}";
}

std::string Kind(const Truth& truth) {
  if (truth.faults.empty()) return "healthy";
  if (truth.faults.size() == 1) return FaultName(truth.faults.front().fault.kind);
  return truth.faults.size() == 2 ? "two_faults" : "three_faults";
}

}  // namespace

std::string TruthJson(const JobSpec& spec, const JobRun& run, const Truth& truth) {
  std::vector<int> culprits;
  std::vector<size_t> all;
  bool function = false;
  for (size_t i = 0; i < truth.faults.size(); ++i) {
    culprits.insert(culprits.end(), truth.faults[i].ranks.begin(), truth.faults[i].ranks.end());
    all.push_back(i);
  }
  std::sort(culprits.begin(), culprits.end());
  culprits.erase(std::unique(culprits.begin(), culprits.end()), culprits.end());
  std::string text = "{\n  \"kind\": " + Quoted(Kind(truth)) + ",\n  \"culprit_ranks\": " + List(culprits) + ",\n";
  for (const FaultTruth& t : truth.faults) {
    if (function || CulpritFunction(t.fault).empty()) continue;
    text += "  \"culprit_function\": " + Quoted(CulpritFunction(t.fault)) + ",\n";
    function = true;
  }
  if (truth.faults.size() == 1) {
    const FaultTruth& t = truth.faults.front();
    text += "  \"resource\": " + Quoted(Resource(t.fault)) + ",\n  \"steps\": " + StepsText(spec, t) +
            ",\n  \"magnitude_ms\": " + Number(t.magnitude_ms) +
            ",\n  \"effect_over_noise\": " + Number(t.effect_over_noise) + ",\n  \"victims\": " + Victims(t.victims) +
            ",\n";
  }
  text += "  \"step_noise_ms\": " + Number(truth.step_noise_ms) +
          ",\n  \"healthy_step_ms\": " + Number(truth.healthy_step_ms) + ",\n  \"step_ms\": " + Number(truth.step_ms) +
          ",\n  \"recoverable_ms_per_step\": " + Number(truth.recoverable_ms) + ",\n";
  text += "  \"ranks_hit_in_step\": " + RanksHit(run, all) + ",\n";
  text += "  \"profiler_step_of_train_step\": \"ProfilerStep#N is train step N\",\n";
  text += "  \"mesh\": {\"dp\": " + std::to_string(spec.dp) + ", \"tp\": " + std::to_string(spec.tp) +
          ", \"pp\": " + std::to_string(spec.pp) + ", \"ep\": " + std::to_string(spec.ep) +
          ", \"ranks_per_host\": " + std::to_string(spec.ranks_per_host) + "},\n";
  text += "  \"clocks\": " + Clocks(*run.job) + ",\n";
  text += "  \"generator\": {\"seed\": " + std::to_string(spec.seed) + ", \"spec\": " + Quoted(SpecText(spec)) + "},\n";
  text += "  \"faults\": [";
  for (size_t i = 0; i < truth.faults.size(); ++i) {
    text += std::string(i == 0 ? "\n" : ",\n") + FaultJson(run, truth.faults[i], i);
  }
  return text + (truth.faults.empty() ? "]\n}\n" : "\n  ]\n}\n");
}

}  // namespace headway::synth
