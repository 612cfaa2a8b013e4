// SPDX-License-Identifier: Apache-2.0
// From what is longer on a rank to the name of a cause, and to words.
#pragma once

#include <string>
#include <string_view>

#include "diagnose/explain.h"
#include "diagnose/host_functions.h"
#include "report/finding.h"

namespace headway::diagnose {

struct CauseContext {
  bool has_device = false;
  report::When when;
  Nanos excess = 0;  // summed over the struck steps
  // Summed over the struck steps: the longest stretch, or pause of the host, beyond the peers'.
  Nanos longest_stretch = 0;
  bool is_masked = false;  // peers pause, too: a pause as long as the excess would not be the longest stretch
  Nanos host_input = 0;    // of its host's longest pauses in the same steps those in which it fetched input
  bool stacks_recorded = false;
  double syncs = 0, peer_syncs = 0;  // calls that wait for the device, per struck step
  HostProportion host;               // of a device job
  bool host_keeps_up = false;        // the calls of its host that hold the excess take no longer than on its peers
  bool against_own_steps = false;    // held against the rank's other steps, not against peers
  bool confirmed = false;            // one function holds the excess in each struck step
  bool even = false;                 // it takes longer by the same share in nearly all struck steps
};

struct Cause {
  std::string name;      // "slow-input"
  std::string function;  // for Scope::function; may be empty
  std::string sentence;  // what was seen, without who
  std::string suggestion;
};

// The cause that a function's own name gives away (a garbage collection, a checkpoint, a compilation), else "".
[[nodiscard]] std::string_view StallOfName(const std::string& function);
// What to do about it.
[[nodiscard]] std::string AdviceOnStall(std::string_view stall);

[[nodiscard]] Cause NameCause(const Explanation& why, const CauseContext& context);

}  // namespace headway::diagnose
