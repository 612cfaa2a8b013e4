// SPDX-License-Identifier: Apache-2.0
#include "diagnose/cause.h"

#include <algorithm>
#include <string_view>

#include "base/letter_case.h"
#include "base/text.h"
#include "diagnose/when.h"

namespace headway::diagnose {

using pattern::WorkClass;

namespace {

bool HasAny(const std::string& text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view w) { return text.find(w) != std::string::npos; });
}

WorkClass Dominant(const Explanation& why) {
  int best = static_cast<int>(WorkClass::kCompute);
  for (int c = 0; c < pattern::kWorkClasses; ++c) {
    if (static_cast<WorkClass>(c) == WorkClass::kCommunication) continue;
    if (why.by_class[static_cast<size_t>(c)] > why.by_class[static_cast<size_t>(best)]) best = c;
  }
  return static_cast<WorkClass>(best);
}

std::string Times(const Explanation& why, const CauseContext& context) {
  const std::string others = context.against_own_steps ? "in its other steps" : "on its peers";
  const std::string during = context.when.kind == report::WhenKind::kOnce ? "this step" : "these steps";
  if (why.only_here) return "takes " + FormatDuration(why.node_own) + " here and next to nothing " + others;
  const double ratio = why.node_peers > 0 ? static_cast<double>(why.node_own) / static_cast<double>(why.node_peers) : 0;
  return "takes " + FormatRatio(ratio) + " the time it takes " + others + " (" + FormatDuration(why.node_own) +
         " against " + FormatDuration(why.node_peers) + " over " + during + ")";
}

// "… takes": of one function where one holds the excess, else of all of the class.
std::string TimesOfClass(WorkClass c, const Explanation& why, const CauseContext& context) {
  if (why.node >= 0 && why.node_class == c) return Times(why, context);
  const Nanos peers = why.peers_by_class[static_cast<size_t>(c)];
  Explanation all = why;
  all.node_own = peers + why.by_class[static_cast<size_t>(c)];
  all.node_peers = peers;
  all.only_here = peers * 10 < all.node_own;
  return Times(all, context);
}

bool Proportional(const Explanation& why) {
  return why.functions_compared >= 4 && why.proportional_share >= 0.75 && why.proportional_functions >= 0.75 &&
         why.ratio > 1.05;
}

// On a device job host functions are a small part of the step: what input takes, and what the device waits for the
// host otherwise, each several times what they are on the peers.
bool HostIsSlowThroughout(const Explanation& why) {
  constexpr auto kInput = static_cast<size_t>(WorkClass::kInput);
  const Nanos input = why.by_class[kInput], other = BehindHost(why.by_class);
  return input > 2 * why.peers_by_class[kInput] && other > 2 * BehindHost(why.peers_by_class) &&
         input * 5 > why.total && other * 5 > why.total && (input + other) * 10 > why.total * 7;
}

Cause SlowThroughout(const Explanation& why) {
  Nanos mine = 0, peers = 0;
  for (const WorkClass c : {WorkClass::kInput, WorkClass::kHost, WorkClass::kRuntime, WorkClass::kIdle}) {
    peers += why.peers_by_class[static_cast<size_t>(c)];
    mine += why.by_class[static_cast<size_t>(c)];
  }
  mine += peers;
  return {"slow-host", "",
          "Everything its host does takes longer, input and launches alike: the device waits " + FormatDuration(mine) +
              " for it over these steps, on its peers " + FormatDuration(peers),
          "look for CPU limits (cgroup quota), low clocks or other processes on this host"};
}

Cause Paused(const CauseContext& context) {
  // What stops a process does not wait for its steps.
  const bool in_each_step = !context.stacks_recorded && IsSteady(context.when);
  return {"paused-process", "",
          "Nothing of the process ran for " + FormatDuration(context.longest_stretch) +
              (context.when.kind == report::WhenKind::kOnce ? " in one piece"
               : in_each_step                               ? " in all, in one piece in each step"
                                                            : " in all, each time in one piece") +
              (context.stacks_recorded ? ""
               : in_each_step          ? ": without Python stacks a garbage collection, or any code, looks the same"
                                       : "; without Python stacks a garbage collection looks the same"),
          in_each_step
              ? "record Python stacks (with_stack=True) to name the code; does it collect garbage or log in each "
                "step?"
              : "look for what stops the process: a debugger or SIGSTOP, swapping, a container's CPU quota, "
                "garbage collection (record stacks to tell)"};
}

// A hole shorter than the longest kernel, or than a batch or a checkpoint takes, does not show as the longest stretch.
Cause StoodStill(const Explanation& why, const CauseContext& context) {
  Cause cause = Paused(context);
  const std::string idle = FormatDuration(why.by_class[static_cast<size_t>(WorkClass::kIdle)]);
  cause.sentence = (context.has_device ? "The device stood idle for " + idle + " while its host recorded nothing"
                                       : "Its driving thread recorded nothing for " + idle + " longer") +
                   (context.stacks_recorded ? "" : "; without Python stacks a garbage collection looks the same");
  return cause;
}

// Causes that the function's own name gives away.
Cause ByName(const Explanation& why, const CauseContext& context) {
  const std::string_view stall = StallOfName(why.function + " " + why.leaf);
  if (stall.empty()) return {};
  const std::string what = stall == "gc-pause" ? "Python's garbage collector runs (" + why.brief + "): it" : why.brief;
  return {std::string(stall), why.function, what + " " + Times(why, context), AdviceOnStall(stall)};
}

}  // namespace

std::string_view StallOfName(const std::string& function) {
  const std::string name = Lower(function);
  if (HasAny(name, {"gc.collect", "function collect>", "gc.py"})) return "gc-pause";
  if (HasAny(name, {"checkpoint", "serialization.py", "torch.save", "save_state", "_save"})) return "checkpoint-stall";
  if (HasAny(name, {"moduleload", "nvrtc", "dynamo", "frame_compile", "compile_inner", "compile_attempt", "compile_fx",
                    "aot_dispatcher", "_inductor/", "compiledfxgraph", "fxgraphcache", "codecache", "triton/compiler",
                    "convert_frame"})) {
    return "compile-or-load";
  }
  return "";
}

std::string AdviceOnStall(std::string_view stall) {
  if (stall == "gc-pause") {
    return "freeze long-lived objects (gc.freeze), disable automatic collection and collect on all ranks in the same "
           "step";
  }
  if (stall == "checkpoint-stall") return "write checkpoints asynchronously or from a copy in host memory";
  return "warm up before the measured steps, fix shapes that trigger recompilation, keep the compile cache";
}

Cause NameCause(const Explanation& why, const CauseContext& context) {
  if (Cause named = ByName(why, context); !named.name.empty()) return named;
  const WorkClass dominant = Dominant(why);
  const std::string leaf = Lower(why.leaf);
  const bool one_piece = context.longest_stretch * 10 >= context.excess * 6;
  const bool beside = dominant == WorkClass::kRuntime || dominant == WorkClass::kHost || dominant == WorkClass::kIdle;
  if (context.has_device && beside && context.syncs >= context.peer_syncs + 3) {
    return {"hidden-sync", why.function,
            "Its host waits for the device " + FormatFixed(context.syncs, 0) + " times a step, on its peers " +
                FormatFixed(context.peer_syncs, 0) + " times; the device stands idle after each",
            "avoid .item(), .cpu(), nonzero and prints of tensors inside the step"};
  }
  const bool is_pause = one_piece && dominant == WorkClass::kIdle && context.when.kind == report::WhenKind::kOnce;
  // A host that comes late from its input is behind with all it does next.
  const bool late_from_input = context.host_input >= context.excess;
  if (context.has_device && !is_pause && !late_from_input && HostIsSlowThroughout(why)) return SlowThroughout(why);
  if (context.has_device && (beside || dominant == WorkClass::kInput) && context.host.is_throughout) {
    return {"slow-host", "",
            "All that its host does takes " + FormatRatio(context.host.ratio) +
                " the time it takes on its peers, most of it behind the device; what shows is " +
                pattern::ToString(dominant),
            "look for CPU limits (cgroup quota), low clocks or other processes on this host"};
  }
  if (context.has_device && beside && context.host_keeps_up && !one_piece) {
    return {
        "launch-bound", "",
        "Its device waits for its host, whose calls take no longer than on its peers: it has more to launch than it "
        "can keep ahead of",
        "fewer and larger kernels: CUDA graphs, torch.compile, fused optimizers; keep the host free of other work"};
  }
  switch (dominant) {
    case WorkClass::kInput:
      return {"slow-input", why.function,
              "Fetching the next batch (" + (why.function.empty() ? std::string("data loader") : why.brief) + ") " +
                  TimesOfClass(WorkClass::kInput, why, context),
              "look at this rank's storage and loader workers; prefetch more batches (num_workers, prefetch_factor)"};
    case WorkClass::kMemory:
      if (HasAny(leaf, {"pageable"})) {
        return {"unpinned-copy", why.function,
                "Copies from pageable memory: " + why.brief + " " + TimesOfClass(WorkClass::kMemory, why, context),
                "use pin_memory=True and non_blocking=True"};
      }
      return {"slow-copy", why.function,
              "Copies between host and device are slow: " + (why.brief.empty() ? "moving data" : why.brief) + " " +
                  TimesOfClass(WorkClass::kMemory, why, context),
              "check PCIe link width and generation of this device, and NUMA placement of the process"};
    case WorkClass::kRuntime:
      if (HasAny(leaf, {"synchronize", "memcpy"})) {
        return {"hidden-sync", why.function,
                "The host waits for the device in " + why.brief + ", which " + Times(why, context),
                "avoid .item(), .cpu(), nonzero and prints of tensors inside the step"};
      }
      break;
    default: break;
  }
  if (context.has_device && dominant == WorkClass::kCompute) {
    const bool more_calls = why.node_calls * 10 > why.node_peer_calls * 12 && why.node_calls - why.node_peer_calls > 2;
    if (why.only_here || (why.node >= 0 && more_calls)) {
      return {
          "data-imbalance", why.function, "It computes more than its peers: " + why.brief + " " + Times(why, context),
          "balance what each rank gets (tokens, sequence lengths, experts); without token counts in the trace a slower "
          "device cannot be excluded"};
    }
    if (Proportional(why) || why.functions_compared < 4) {
      return {"slow-device", why.node >= 0 && !Proportional(why) ? why.function : "",
              "Its compute kernels take " + FormatRatio(why.ratio) + " the time of the same kernels on its peers",
              "check power, cooling and clocks of this device, or move the rank"};
    }
    if (why.node < 0) {
      return {"slow-device", "",
              "Its compute kernels take " + FormatRatio(why.ratio) +
                  " the time of the same kernels on its peers, some of "
                  "them much more than others",
              "check this device; if the kernels' inputs are larger here, balance the data"};
    }
    return {"slow-device", why.function,
            "Its kernel " + why.brief + " " + Times(why, context) + "; other kernels do not",
            "check this device; if the kernel's input is larger here, balance the data"};
  }
  const bool one_function = why.node >= 0 && !why.leaf.empty();
  // Other work takes what it needs, seldom the same share of everything in each step.
  const bool throttled = context.even && Proportional(why);
  if (!context.has_device && !IsSteady(context.when) && !one_piece && !context.confirmed && !throttled) {
    return {"shared-host", "", "Now and then it takes longer, each time in other functions: other work on the machine",
            "keep other work off this host, or pin the ranks to cores of their own"};
  }
  // Code between recorded functions runs in each step; what stops a process now and then is more likely a collection.
  const bool may_be_pause = context.is_masked && !context.stacks_recorded && !IsSteady(context.when);
  if ((context.when.kind == report::WhenKind::kOnce || may_be_pause) && dominant == WorkClass::kIdle &&
      (why.function.empty() || why.function.front() == '(') &&
      why.by_class[static_cast<size_t>(WorkClass::kIdle)] * 10 >= why.total * 7) {
    return StoodStill(why, context);
  }
  if (one_piece && (context.when.kind == report::WhenKind::kOnce || dominant == WorkClass::kIdle))
    return Paused(context);
  if (!one_function || (Proportional(why) && why.node_excess * 10 < context.excess * 8)) {
    if (Proportional(why)) {
      return {"slow-host", "",
              "All of its host functions take longer in proportion (" + FormatRatio(why.ratio) + " over " +
                  std::to_string(why.functions_compared) + " functions)",
              "look for CPU limits (cgroup quota), low clocks or other processes on this host"};
    }
  }
  if (dominant == WorkClass::kIdle && (why.function.empty() || why.function.front() == '(')) {
    return {"slow-host-code", "",
            "Its driving thread spends more time between recorded functions; nothing recorded says in what",
            "record Python stacks (with_stack=True) to name the code"};
  }
  if (why.function.empty()) {
    return {"slow-host", "", "Its own time is longer, spread over many functions, none of which stands out",
            "look for CPU contention on this host; record Python stacks to name the code"};
  }
  return {"slow-host-code", why.function, why.brief + " " + Times(why, context),
          "look at what this function does on this rank"};
}

}  // namespace headway::diagnose
