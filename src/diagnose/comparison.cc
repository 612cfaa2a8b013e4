// SPDX-License-Identifier: Apache-2.0
#include "diagnose/comparison.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/text.h"
#include "diagnose/compared_ranks.h"
#include "diagnose/comparison_reserve.h"
#include "diagnose/excess.h"
#include "diagnose/function_view.h"
#include "diagnose/scope.h"
#include "diagnose/summary.h"

namespace headway::diagnose {

using pattern::WorkClass;

namespace {

// The last step is no whole one where ranks meet (it ends at the last meeting): left out when there are others.
size_t WholeSteps(const Job& job) { return job.num_steps() > 1 ? job.num_steps() - 1 : job.num_steps(); }

// One of the two runs, as far as it is compared with the other.
struct Run {
  const Diagnosis& diagnosis;
  const Job& job = diagnosis.job;
  std::set<RankId> compared;    // of a smaller or larger job all ranks, else those with a trace in both runs
  std::vector<size_t> ranks{};  // their indices here
  double cells = 1;             // steps of these ranks that are there: one whose file is cut off lacks some

  [[nodiscard]] bool Has(RankId rank) const { return compared.count(rank) > 0; }
};

Run MakeRun(const Diagnosis& d, const std::set<RankId>& compared) {
  Run run{.diagnosis = d, .compared = compared};
  for (size_t r = 0; r < run.job.num_ranks(); ++r) {
    if (run.Has(run.job.ranks[r].meta.rank)) run.ranks.push_back(r);
  }
  size_t cells = 0;
  for (const size_t r : run.ranks) {
    for (size_t s = 0; s < WholeSteps(run.job); ++s) cells += run.job.StepOf(r, s) != nullptr ? 1 : 0;
  }
  run.cells = static_cast<double>(std::max<size_t>(1, cells));
  return run;
}

std::array<Nanos, pattern::kWorkClasses> ByClass(const Run& run) {
  const Job& job = run.job;
  std::array<Nanos, pattern::kWorkClasses> sums{};
  for (const size_t r : run.ranks) {
    for (size_t s = 0; s < WholeSteps(job); ++s) {
      const pattern::Step* step = job.StepOf(r, s);
      if (step == nullptr) continue;
      for (size_t c = 0; c < sums.size(); ++c) sums[c] += step->by_class[c];
    }
  }
  for (Nanos& sum : sums) sum = static_cast<Nanos>(static_cast<double>(sum) / run.cells);
  return sums;
}

Nanos MeanWait(const Run& run) {
  const Diagnosis& d = run.diagnosis;
  Nanos sum = 0;
  for (const size_t r : run.ranks) {
    for (size_t s = 0; s < WholeSteps(d.job); ++s) sum += d.waits.wait[r * d.job.num_steps() + s];
  }
  return static_cast<Nanos>(static_cast<double>(sum) / run.cells);
}

Nanos StepDeviation(const Job& job) {
  std::vector<Nanos> steps(job.step_time.begin(), job.step_time.begin() + static_cast<ptrdiff_t>(WholeSteps(job)));
  const Nanos middle = Median(steps);
  for (Nanos& t : steps) t -= middle;
  return DeviationOf(std::move(steps));
}

struct Sum {
  WorkClass work_class = WorkClass::kHost;
  double own = 0, calls = 0;
};

std::map<std::string, Sum> ByFunction(const Run& run) {
  const Job& job = run.job;
  FunctionView view(job);
  std::vector<size_t> steps;
  for (size_t s = 0; s < WholeSteps(job); ++s) steps.push_back(s);
  std::map<std::string, Sum> sums;
  for (const size_t r : run.ranks) {
    const std::vector<FunctionView::Cell> cells = view.Sum(r, steps);
    for (size_t n = 0; n < cells.size(); ++n) {
      if (cells[n].own == 0) continue;
      const auto node = static_cast<FunctionView::Node>(n);
      Sum& sum = sums[view.Path(node, 32)];
      sum.work_class = view.work_class(node);
      sum.own += static_cast<double>(cells[n].own) / run.cells;
      sum.calls += static_cast<double>(cells[n].calls) / run.cells;
    }
  }
  return sums;
}

std::vector<FunctionDelta> FunctionDeltas(const Run& before, const Run& after) {
  std::map<std::string, FunctionDelta> deltas;
  for (const auto& [path, sum] : ByFunction(before)) {
    deltas[path] = {path, sum.work_class, static_cast<Nanos>(sum.own), 0, sum.calls, 0};
  }
  for (const auto& [path, sum] : ByFunction(after)) {
    FunctionDelta& delta = deltas[path];
    delta.path = path;
    delta.work_class = sum.work_class;
    delta.after = static_cast<Nanos>(sum.own);
    delta.calls_after = sum.calls;
  }
  std::vector<FunctionDelta> out;
  for (auto& [path, delta] : deltas) out.push_back(std::move(delta));
  std::stable_sort(out.begin(), out.end(), [](const FunctionDelta& a, const FunctionDelta& b) {
    return std::abs(a.after - a.before) > std::abs(b.after - b.before);
  });
  return out;
}

struct Traffic {
  std::vector<Nanos> transfers;
  double bytes = 0;
  int64_t sized = 0;
};

std::map<std::string, Traffic> ByCollective(const Run& run) {
  const Job& job = run.job;
  std::map<std::string, Traffic> out;
  for (size_t c = 0; c < job.comms.collectives.size(); ++c) {
    const trace::Collective& collective = job.comms.collectives[c];
    const trace::JobGroup& group = job.comms.groups[static_cast<size_t>(collective.group)];
    if (std::none_of(group.ranks.begin(), group.ranks.end(), [&](RankId rank) { return run.Has(rank); })) continue;
    const std::string name = (group.is_p2p         ? "p2p"
                              : group.desc.empty() ? "group"
                                                   : group.desc) +
                             " [" + std::to_string(group.ranks.size()) + "] " + trace::ToString(collective.op);
    Traffic& traffic = out[name];
    traffic.transfers.push_back(job.graph.collectives[c].transfer);
    if (collective.bytes >= 0) {
      traffic.bytes += static_cast<double>(collective.bytes);
      ++traffic.sized;
    }
  }
  return out;
}

std::vector<CollectiveDelta> CollectiveDeltas(const Run& before, const Run& after) {
  std::map<std::string, CollectiveDelta> deltas;
  const auto fill = [&](const Run& run, bool now) {
    const auto steps = static_cast<double>(std::max<size_t>(1, run.job.num_steps()));
    for (auto& [name, traffic] : ByCollective(run)) {
      CollectiveDelta& delta = deltas[name];
      delta.name = name;
      (now ? delta.count_after : delta.count_before) = static_cast<double>(traffic.transfers.size()) / steps;
      (now ? delta.transfer_after : delta.transfer_before) = Median(traffic.transfers);
      if (traffic.sized > 0) {
        (now ? delta.bytes_after : delta.bytes_before) =
            static_cast<Bytes>(traffic.bytes / static_cast<double>(traffic.sized));
      }
    }
  };
  fill(before, false);
  fill(after, true);
  std::vector<CollectiveDelta> out;
  for (auto& [name, delta] : deltas) out.push_back(std::move(delta));
  return out;
}

std::map<std::string, std::string> Versions(const Job& job) {
  std::map<std::string, std::string> out;
  for (const auto& rank : job.ranks) {
    for (const auto& [key, value] : rank.meta.versions) out.try_emplace(key, value);
  }
  return out;
}

std::set<std::string> GroupNames(const Run& run) {
  std::set<std::string> out;
  for (const trace::JobGroup& group : run.job.comms.groups) {
    const auto compared = [&](RankId rank) { return run.Has(rank); };
    if (!group.is_p2p && std::any_of(group.ranks.begin(), group.ranks.end(), compared))
      out.insert(group.desc + " [" + std::to_string(group.ranks.size()) + "]");
  }
  return out;
}

std::vector<std::string> Changes(const Run& before, const Run& after, const Comparison& c) {
  std::vector<std::string> out;
  const auto old_versions = Versions(before.job);
  const auto new_versions = Versions(after.job);
  for (const auto& [key, value] : new_versions) {
    const auto it = old_versions.find(key);
    if (it != old_versions.end() && it->second != value) out.push_back(key + " " + it->second + " -> " + value);
  }
  const auto old_groups = GroupNames(before);
  const auto new_groups = GroupNames(after);
  for (const std::string& name : new_groups) {
    if (old_groups.count(name) == 0) out.push_back("new process group " + name);
  }
  for (const std::string& name : old_groups) {
    if (new_groups.count(name) == 0) out.push_back("process group " + name + " is gone");
  }
  for (const CollectiveDelta& delta : c.collectives) {
    if (std::abs(delta.count_after - delta.count_before) >= 0.5 + c.alone_before + c.alone_after) {
      out.push_back(delta.name + ": " + FormatFixed(delta.count_before, 1) + " -> " +
                    FormatFixed(delta.count_after, 1) + " a step");
    }
    if (delta.bytes_before > 0 && delta.bytes_after > 0 && delta.bytes_before != delta.bytes_after) {
      out.push_back(delta.name + ": " + FormatBytes(delta.bytes_before) + " -> " + FormatBytes(delta.bytes_after) +
                    " each");
    }
  }
  return out;
}

double ShareSlower(const Run& before, const Run& after, Nanos noise) {
  const auto own = [](const Run& run) {
    const Job& job = run.job;
    std::map<RankId, Nanos> out;
    for (const size_t r : run.ranks) {
      std::vector<Nanos> steps;
      for (size_t s = 0; s < WholeSteps(job); ++s) {
        if (const pattern::Step* step = job.StepOf(r, s)) steps.push_back(OwnTime(*step));
      }
      out[job.ranks[r].meta.rank] = Median(std::move(steps));
    }
    return out;
  };
  const auto then = own(before);
  int64_t both = 0, slower = 0;
  for (const auto& [rank, time] : own(after)) {
    const auto it = then.find(rank);
    if (it == then.end()) continue;
    ++both;
    if (time - it->second > std::max(2 * noise, before.job.median_step / 50)) ++slower;
  }
  return both > 0 ? static_cast<double>(slower) / static_cast<double>(both) : 0;
}

}  // namespace

Comparison Compare(const Diagnosis& before, const Diagnosis& after) {
  Comparison out;
  const ComparedRanks ranks = RanksToCompare(before.job, after.job);
  out.unlike = ranks.unlike;
  const Run old_run = MakeRun(before, ranks.before), new_run = MakeRun(after, ranks.after);
  out.step_before = before.job.median_step;
  out.step_after = after.job.median_step;
  out.noise = std::max<Nanos>(out.step_before / 1000,
                              static_cast<Nanos>(std::hypot(static_cast<double>(StepDeviation(before.job)),
                                                            static_cast<double>(StepDeviation(after.job)))));
  out.class_before = ByClass(old_run);
  out.class_after = ByClass(new_run);
  out.wait_before = MeanWait(old_run);
  out.wait_after = MeanWait(new_run);
  out.functions = FunctionDeltas(old_run, new_run);
  out.collectives = CollectiveDeltas(old_run, new_run);
  out.alone_before = AlonePerStep(before.job);
  out.alone_after = AlonePerStep(after.job);
  out.changed = Changes(old_run, new_run, out);
  if (!out.unlike.empty()) out.changed.insert(out.changed.begin(), out.unlike);
  out.reserved = Reservations(before, after);
  // Of ranks that are not the same thing none is slower than it was.
  if (ranks.alike) out.share_of_ranks_slower = ShareSlower(old_run, new_run, out.noise);
  return out;
}

bool IsRegression(const Comparison& c, double threshold) {
  const Nanos grown = c.step_after - c.step_before;
  return static_cast<double>(grown) > threshold * static_cast<double>(c.step_before) && grown > 3 * c.noise;
}

std::vector<report::Finding> UniformFindings(const Comparison& c, const Job& job) {
  if (!IsRegression(c, 0.02) || c.share_of_ranks_slower < 0.75 || c.functions.empty()) return {};
  const FunctionDelta* most = nullptr;
  for (const FunctionDelta& delta : c.functions) {
    if (delta.work_class != WorkClass::kCommunication && delta.after > delta.before &&
        (most == nullptr || delta.after - delta.before > most->after - most->before)) {
      most = &delta;
    }
  }
  report::Finding finding;
  finding.cause = "uniform-slow";
  finding.id = "uniform-slow";
  FillScope(job, AllRanks(job), &finding.scope);
  finding.headline = Who(job, finding.scope);
  finding.recoverable_per_step = c.step_after - c.step_before;
  finding.worst_step = finding.recoverable_per_step;
  finding.severity =
      finding.recoverable_per_step * 5 >= c.step_after ? report::Severity::kCritical : report::Severity::kWarning;
  finding.confidence = report::Confidence::kLikely;
  finding.confidence_reason =
      "against the baseline run, " +
      FormatFixed(static_cast<double>(finding.recoverable_per_step) / static_cast<double>(std::max<Nanos>(1, c.noise)),
                  1) +
      "x the noise between steps";
  finding.when.steps = job.steps;
  finding.sentence = "The whole job is slower than the baseline: " + FormatDuration(c.step_before) + " -> " +
                     FormatDuration(c.step_after) + " a step, on " + FormatPercent(c.share_of_ranks_slower) +
                     " of the ranks alike.";
  finding.suggestion = "see what changed between the runs (section what-changed)";
  if (most != nullptr) {
    finding.scope.function = most->path;
    finding.evidence.push_back({"own time per step in " + most->path, Milliseconds(most->after),
                                Milliseconds(most->before), "", "mean over ranks and steps; expected: the baseline"});
  }
  for (const std::string& change : c.changed)
    finding.evidence.push_back({"changed", change, "", "", "both runs' files"});
  return {finding};
}

std::vector<report::Section> ComparisonSections(const Comparison& c) {
  using report::Unit;
  std::vector<report::Section> sections(4);
  report::Text changed;
  changed.paragraphs =
      c.changed.empty()
          ? std::vector<
                std::string>{"Nothing that the files tell: versions, world size, groups and sizes are the same."}
          : c.changed;
  changed.paragraphs.insert(changed.paragraphs.begin(), c.reserved.begin(), c.reserved.end());
  sections[0] = {"what-changed", "What changed", "Versions, shapes, world size and groups of the two runs.", changed,
                 true};

  report::Table classes;
  classes.columns = {{"class", Unit::kText, ""},
                     {"before", Unit::kDuration, ""},
                     {"after", Unit::kDuration, ""},
                     {"change", Unit::kDuration, ""}};
  const auto add = [&classes](const std::string& name, Nanos before, Nanos after) {
    if (before != 0 || after != 0) classes.rows.push_back({{name, before, after, after - before}});
  };
  for (int i = 0; i < pattern::kWorkClasses; ++i) {
    const auto k = static_cast<size_t>(i);
    if (static_cast<WorkClass>(i) == WorkClass::kCommunication) {
      add("waiting", c.wait_before, c.wait_after);
      add("transfer", c.class_before[k] - c.wait_before, c.class_after[k] - c.wait_after);
    } else {
      add(pattern::ToString(static_cast<WorkClass>(i)), c.class_before[k], c.class_after[k]);
    }
  }
  sections[1] = {"by-class", "Step time by class", "Per step, mean over ranks.", classes, true};

  report::Table functions;
  functions.columns = {{"function", Unit::kText, ""},       {"before", Unit::kDuration, ""},
                       {"after", Unit::kDuration, ""},      {"change", Unit::kDuration, ""},
                       {"calls before", Unit::kNumber, ""}, {"calls after", Unit::kNumber, ""}};
  functions.sort_column = 3;
  for (const FunctionDelta& delta : c.functions) {
    if (functions.rows.size() >= 100 || std::abs(delta.after - delta.before) * 1000 < c.step_before) break;
    functions.rows.push_back(
        {{delta.path, delta.before, delta.after, delta.after - delta.before, delta.calls_before, delta.calls_after}});
  }
  sections[2] = {"by-function", "What takes longer, what less",
                 "Own time per step, mean over ranks; largest change first.", functions, true};

  report::Table collectives;
  collectives.columns = {{"collective", Unit::kText, ""},
                         {"transfer before", Unit::kDuration, ""},
                         {"transfer after", Unit::kDuration, ""},
                         {"per step before", Unit::kNumber, ""},
                         {"per step after", Unit::kNumber, ""}};
  for (const CollectiveDelta& delta : c.collectives) {
    // A run without such operations has no transfer of theirs, which is not one of no length; and none were counted
    // where those there are could not be paired.
    const auto transfer = [](double count, Nanos time) { return count > 0 ? report::Value{time} : report::Value{}; };
    const auto calls = [](double count, double alone) {
      return count > 0 || alone == 0 ? report::Value{count} : report::Value{};
    };
    collectives.rows.push_back({{delta.name, transfer(delta.count_before, delta.transfer_before),
                                 transfer(delta.count_after, delta.transfer_after),
                                 calls(delta.count_before, c.alone_before), calls(delta.count_after, c.alone_after)}});
  }
  sections[3] = {"by-collective", "Collectives", "Median transfer of one operation.", collectives,
                 !collectives.rows.empty()};
  return sections;
}

}  // namespace headway::diagnose
