// SPDX-License-Identifier: Apache-2.0
// Pipeline stages whose ranks all take longer than those of the other stages.
#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "diagnose/analyses.h"
#include "diagnose/call_times.h"
#include "diagnose/common_work.h"
#include "diagnose/explain.h"
#include "diagnose/launch_steps.h"
#include "diagnose/own_edit.h"
#include "diagnose/scope.h"
#include "diagnose/stages.h"
#include "diagnose/when.h"

namespace headway::diagnose {

namespace {

using pattern::WorkClass;

// A stage that takes up to this much longer than the others is what cutting whole layers leaves: worth a remark. The
// last one has the head and the loss besides.
constexpr int kNaturalPercent = 30;
constexpr int kNaturalPercentOfLast = 50;
// Below that a stage takes no longer than the others: of a step, in most steps. Operators of processors vary more.
Nanos LeastBeyond(const Job& job) { return job.median_step / (job.ranks.front().has_device ? 100 : 50); }

constexpr double kSlow = 1.05;  // calls of a stage that take so much longer are slow ones

std::vector<Nanos> Known(std::vector<Nanos> values) {
  std::erase(values, kNoValue);
  return values;
}

std::vector<Nanos> At(const std::vector<Nanos>& values, const std::vector<size_t>& steps) {
  std::vector<Nanos> out;
  for (const size_t s : steps) out.push_back(values[s]);
  return Known(std::move(out));
}

// Whether a stage's excess lies where nothing is recorded, though of what the stages compute nearly all is: more layers
// would be more operators or kernels.
bool IsBetweenCalls(const Explanation& why) {
  constexpr auto kIdle = static_cast<size_t>(WorkClass::kIdle);
  constexpr auto kCompute = static_cast<size_t>(WorkClass::kCompute);
  if (why.total <= 0 || why.by_class[kIdle] * 10 < why.total * 8 || why.by_class[kCompute] * 10 > why.total)
    return false;
  return why.peers_by_class[kIdle] * 4 < why.peers_by_class[kCompute];
}

// Of a device: whether what the stage takes longer is mostly spent waiting for launches. More layers are more launches,
// too, but what is to be mended is that they come late.
bool IsBehindLaunches(const Job& job, const Stage& stage, const std::vector<Stage>& stages,
                      const std::vector<Nanos>& excess) {
  const auto idle = [&](const Stage& of, size_t s) {
    const size_t r = of.speaker;
    const pattern::Step* step = job.StepOf(r, s);
    return step == nullptr || !job.ranks[r].has_device ? 0 : IdleBehindLaunches(job.ranks[r], *step);
  };
  Nanos all = 0, behind = 0;
  for (size_t s = 0; s < excess.size(); ++s) {
    if (excess[s] <= 0) continue;
    std::vector<Nanos> others;
    for (const Stage& other : stages) {
      if (other.number != stage.number) others.push_back(idle(other, s));
    }
    all += excess[s];
    behind += std::min(excess[s], idle(stage, s) - Median(std::move(others)));
  }
  return behind * 10 >= all * 6 && all > 0;
}

// Whether work of one class is most of what the stage takes longer, and is so in most of the steps.
bool IsMostly(const Job& job, const Stage& stage, const std::vector<Stage>& stages, const std::vector<Nanos>& excess,
              const Explanation& why, WorkClass work_class) {
  const auto c = static_cast<size_t>(work_class);
  if (why.total <= 0 || why.by_class[c] * 10 < why.total * 6) return false;
  size_t struck = 0, mostly = 0;
  for (size_t s = 0; s < excess.size(); ++s) {
    const pattern::Step* mine = job.StepOf(stage.speaker, s);
    if (excess[s] <= 0 || mine == nullptr) continue;
    std::vector<Nanos> others;
    for (const Stage& other : stages) {
      const pattern::Step* step = job.StepOf(other.speaker, s);
      if (other.number != stage.number && step != nullptr) others.push_back(step->by_class[c]);
    }
    ++struck;
    mostly += (mine->by_class[c] - Median(std::move(others))) * 2 >= excess[s] ? 1 : 0;
  }
  return mostly * 2 >= struck;
}

// How many times as long as on the other stages a call of the function takes; 0 where they do not call it.
double LongerThanElsewhere(const Job& job, const Stage& stage, const std::vector<Stage>& stages,
                           const std::string& function) {
  std::vector<CallTimes> others;
  for (const Stage& other : stages) {
    if (other.number != stage.number) others.push_back(TimesOfCalls(job.ranks[other.speaker]));
  }
  return RatioOf(TimesOfCalls(job.ranks[stage.speaker]), TimesAmong(others, 0.5, 1), function);
}

// Which of a stage's work a candidate is about.
enum class About : uint8_t { kAll, kBesideWaits, kInput };

WorkClasses ClassesOf(About about) {
  WorkClasses out = kAllWork;
  if (about == About::kInput) out = {};
  out[static_cast<size_t>(WorkClass::kInput)] = about != About::kBesideWaits;
  return out;
}

Candidate MakeCandidate(const AnalysisInput& in, const Stage& stage, const std::vector<Stage>& stages,
                        std::vector<Nanos> excess, bool natural, About about = About::kAll) {
  const Job& job = in.job;
  std::vector<size_t> steps;
  for (size_t s = 0; s < excess.size(); ++s) {
    if (excess[s] > 0) steps.push_back(s);
  }
  std::vector<Sample> references;
  std::vector<Nanos> others;
  for (const Stage& other : stages) {
    if (other.number == stage.number) continue;
    for (const size_t r : other.ranks) references.push_back({r, steps});
    others.push_back(Median(At(other.own, steps)));
  }
  const WorkClasses classes = ClassesOf(about);
  const Explanation why = Explain(job, in.view, {stage.speaker, steps}, references, -1, classes);
  Candidate candidate;
  report::Finding& finding = candidate.finding;
  // Layers are not cut differently by what a stage waits for its batches, or copies.
  const auto is_mostly = [&](WorkClass c) { return Has(classes, c) && IsMostly(job, stage, stages, excess, why, c); };
  const bool is_input = is_mostly(WorkClass::kInput);
  const bool is_copy = !is_input && is_mostly(WorkClass::kMemory);
  if (is_input) {  // what it computes longer besides is another matter
    const std::vector<Nanos> input = InputBeyondOthers(job, stage, stages);
    for (size_t s = 0; s < excess.size(); ++s) excess[s] = std::min(excess[s], input[s]);
  }
  const bool is_unnamed = !is_input && !is_copy && IsBetweenCalls(why);
  finding.cause = is_input ? "slow-input" : is_copy ? "slow-copy" : is_unnamed ? "slow-host-code" : "stage-imbalance";
  FillScope(job, stage.ranks, &finding.scope);
  const std::string number = std::to_string(stage.number);
  finding.id = finding.cause + (stage.is_number ? "-stage-" + number : "-" + std::to_string(finding.scope.ranks[0]));
  if (stage.is_number) finding.scope.stage = stage.number;
  finding.scope.function = is_unnamed ? "" : why.function;
  finding.when = ClassifyWhen(excess, job.steps);
  finding.headline = (stage.is_number ? "stage " + number + ", " : "the stage of ") + Who(job, finding.scope);
  const bool some = finding.when.kind != report::WhenKind::kPersistent;
  finding.sentence = (some ? "In these steps all" : "All") + std::string(" ranks of ") +
                     (stage.is_number ? "stage " + number : "this stage") + " take " +
                     Milliseconds(Median(At(stage.own, steps))) + " of own time per step" +
                     (about == About::kBesideWaits ? " beside what they wait for batches and launches"
                      : about == About::kInput     ? " waiting for batches"
                                                   : "") +
                     ", the other stages " + (stage.is_number ? "" : "that have traces ") +
                     Milliseconds(Median(others)) +
                     (is_unnamed             ? ", between recorded functions; nothing recorded says in what"
                      : why.function.empty() ? ""
                                             : ", mostly in " + why.brief) +
                     ".";
  finding.suggestion = is_input     ? "more loader workers and prefetching on the ranks of this stage"
                       : is_copy    ? "check PCIe link width and generation of these devices; pin what they copy"
                       : is_unnamed ? "record Python stacks (with_stack=True) to name the code"
                                    : "move layers from this stage to the others";
  finding.confidence = report::Confidence::kLikely;
  finding.confidence_reason = "the ranks of a stage agree; a stage has no peers, only other stages";
  finding.evidence.push_back({"own time per step", Milliseconds(Median(At(stage.own, steps))), "",
                              Milliseconds(Median(std::move(others))),
                              "median over ranks and steps; peers: the other stages"});
  candidate.excess = excess;
  candidate.against = HeldAgainst::kOtherStages;
  candidate.at_most_info = natural;
  if (is_input) candidate.longer = LongerThanElsewhere(job, stage, stages, why.leaf);
  for (const size_t r : stage.ranks) {
    is_input || is_copy ? RemoveFromStepBegins(job, r, excess, &candidate.edit)
                        : RemoveOwnTime(job, r, {}, excess, &candidate.edit);
  }
  return candidate;
}

// How much longer each kernel of the stage's ranks (without devices, each call) takes than on the other stages, where
// all do; else 1. That much of what the stage takes longer is slowness: it has no more to do.
double SlownessOfCalls(const Job& job, const Stage& stage, const std::vector<Stage>& stages) {
  const bool has_device = job.ranks.front().has_device;
  const size_t least_functions = has_device ? 4 : 8;
  const auto times_of = [&](size_t r) {
    return has_device ? TimesOfKernels(job.ranks[r]) : TimesOfCalls(job.ranks[r]);
  };
  std::vector<CallTimes> times;
  for (const Stage& other : stages) {
    if (other.number != stage.number) times.push_back(times_of(other.speaker));
  }
  const CallTimes others = TimesAmong(times, 0.5, 1);
  double least = std::numeric_limits<double>::infinity();
  for (const size_t r : stage.ranks) {
    const CallRatio calls = CompareCalls(times_of(r), others);
    if (calls.functions < least_functions || !calls.alike) return 1;
    least = std::min(least, calls.ratio);
  }
  return std::max(1.0, least);
}

std::vector<Nanos> AtLeast(std::vector<Nanos> values, Nanos least) {
  for (Nanos& x : values) x = x < least ? 0 : x;
  return values;
}

bool StrikesMost(const std::vector<Nanos>& excess) {
  return std::count_if(excess.begin(), excess.end(), [](Nanos x) { return x > 0; }) * 4 >= std::ssize(excess) * 3;
}

// Where the stage takes longer in at most this share of the steps: what that is beyond its usual, far out of the noise.
// By its own time, too: against it the others may merely be quicker.
std::vector<Nanos> InSomeSteps(const Job& job, const Stage& stage, std::vector<Nanos> beyond, double share) {
  constexpr int64_t kLeastSteps = 2;
  const auto place = [share](size_t n) { return static_cast<size_t>((1 - share) * static_cast<double>(n - 1)); };
  std::vector<Nanos> sorted = beyond, own = Known(stage.own);
  std::sort(sorted.begin(), sorted.end());
  std::sort(own.begin(), own.end());
  if (own.empty()) return std::vector<Nanos>(beyond.size(), 0);
  const size_t quiet = place(sorted.size());  // that many steps are not struck
  const Nanos usual = sorted[quiet];
  std::vector<Nanos> away;
  for (size_t i = 0; i < quiet; ++i) away.push_back(usual - sorted[i]);
  const Nanos noise = DeviationOf(std::move(away));
  const Nanos usual_own = own[place(own.size())];
  for (size_t s = 0; s < beyond.size(); ++s) {
    const Nanos longer = stage.own[s] == kNoValue ? 0 : 2 * (stage.own[s] - usual_own);
    beyond[s] = std::min(beyond[s] - usual, longer);
  }
  std::vector<Nanos> out = AtLeast(std::move(beyond), std::max(6 * noise, job.median_step / 50));
  const auto struck = std::count_if(out.begin(), out.end(), [](Nanos x) { return x > 0; });
  const auto most = share * static_cast<double>(out.size());
  if (struck < kLeastSteps || static_cast<double>(struck) > most) out.assign(out.size(), 0);
  return out;
}

bool SetsIn(const Job& job, const std::vector<Nanos>& excess) {
  return ClassifyWhen(excess, job.steps).kind == report::WhenKind::kOnset;
}

// In about half of the steps at most (every second one may be one more), or from one step on in three quarters.
std::vector<Nanos> InSomeSteps(const Job& job, const Stage& stage, const std::vector<Nanos>& beyond) {
  std::vector<Nanos> out = InSomeSteps(job, stage, beyond, 0.6);
  if (std::any_of(out.begin(), out.end(), [](Nanos x) { return x > 0; })) return out;
  out = InSomeSteps(job, stage, beyond, 0.75);
  if (!SetsIn(job, out)) out.assign(out.size(), 0);
  return out;
}

// Whether input or late launches are a good part of what a stage takes longer, input not most of it: stages that load
// do load, and more layers are more launches, which is told of as such. `beside`: what it takes longer without.
bool IsPartlyWaits(const std::vector<Nanos>& excess, const std::vector<Nanos>& beside) {
  constexpr Nanos kLeastPercent = 40, kMostPercent = 80;
  Nanos all = 0, rest = 0;
  for (size_t s = 0; s < excess.size(); ++s) {
    all += excess[s];
    rest += std::min(excess[s], beside[s]);
  }
  return StrikesMost(beside) && rest * 100 > all * kLeastPercent && rest * 100 <= all * kMostPercent;
}

// A stage between the first and the last, which have other work besides, that has more layers than they: shown by what
// all stages run.
std::optional<Candidate> WithMoreLayers(const AnalysisInput& in, const Stage& stage, const std::vector<Stage>& stages) {
  const Job& job = in.job;
  std::vector<size_t> others;
  for (const Stage& other : stages) {
    if (other.number != stage.number) others.push_back(other.speaker);
  }
  const MoreCalls more = CallsBeyond(job, stage.speaker, others);
  if (more.per_step * 50 < job.median_step) return std::nullopt;
  Candidate candidate = MakeCandidate(in, stage, stages, std::vector<Nanos>(job.num_steps(), more.per_step), true);
  report::Finding& finding = candidate.finding;
  if (finding.cause != "stage-imbalance") return std::nullopt;
  finding.sentence = "Of what all stages run " + finding.headline + " has " + Milliseconds(more.per_step) +
                     " more to do in a step, by the number of calls: " + std::to_string(more.calls) + " of " +
                     ShortFrame(std::string(more.function)) + " against " + std::to_string(more.usual) + ".";
  finding.scope.function = std::string(more.function);
  return candidate;
}

// A stage that makes more calls in some steps than in its others, while the other stages do not: by their number that
// shows far below what a step varies by. Told with what its ranks take longer in these steps.
std::optional<Candidate> WithMoreCallsInSomeSteps(const AnalysisInput& in, const Stage& stage,
                                                  const std::vector<Stage>& stages, About about) {
  constexpr size_t kLeastSteps = 2;
  const Job& job = in.job;
  const auto rises = [&](const Stage& of) {
    std::vector<Nanos> by_step = ComputeByCalls(job, in.view, of.speaker);
    std::vector<Nanos> sorted = by_step;
    std::sort(sorted.begin(), sorted.end());
    for (Nanos& x : by_step) x -= sorted[(sorted.size() - 1) / 4];
    return by_step;
  };
  std::vector<Nanos> excess = AtLeast(rises(stage), job.median_step / 200), longer, usual;
  for (const Stage& other : stages) {
    if (other.number == stage.number) continue;
    const std::vector<Nanos> theirs = rises(other);
    for (size_t s = 0; s < excess.size(); ++s) excess[s] = 2 * theirs[s] < excess[s] ? excess[s] : 0;
  }
  const auto struck = static_cast<size_t>(std::count_if(excess.begin(), excess.end(), [](Nanos x) { return x > 0; }));
  const bool some = struck * 10 <= excess.size() * 6 || (struck * 4 <= excess.size() * 3 && SetsIn(job, excess));
  if (struck < kLeastSteps || !some) return std::nullopt;
  for (size_t s = 0; s < excess.size(); ++s) {
    if (stage.own[s] != kNoValue) (excess[s] > 0 ? longer : usual).push_back(stage.own[s]);
  }
  const Nanos measured = Median(std::move(longer)) - Median(std::move(usual));
  for (Nanos& x : excess) x = x > 0 ? std::clamp(measured, x / 3, x) : 0;
  return MakeCandidate(in, stage, stages, std::move(excess), true, about);
}

// A stage whose input is no most of what it takes longer, but takes far longer a call than where other stages load the
// same way: stages that load do load.
std::optional<Candidate> WithSlowInput(const AnalysisInput& in, const std::vector<Stage>& stages, size_t i,
                                       bool is_long) {
  const std::vector<Stage> input = OnlyInput(in.job, stages);
  std::vector<Nanos> excess = AtLeast(BeyondOthers(in.job, input[i], input), in.job.median_step / 50);
  if (!StrikesMost(excess)) return std::nullopt;
  Candidate candidate = MakeCandidate(in, input[i], input, std::move(excess), !is_long, About::kInput);
  const double slowness = SlownessOfCalls(in.job, stages[i], stages);
  return IsOwnMatter(candidate.longer, slowness) ? std::optional(std::move(candidate)) : std::nullopt;
}

}  // namespace

void RunStageAnalysis(const AnalysisInput& in, AnalysisOutput* out) {
  const std::vector<Stage> stages = Stages(in);
  if (stages.size() < 2 || in.job.num_steps() == 0) return;
  const std::vector<Stage> bare = WithoutWaits(in.job, stages);
  for (size_t i = 0; i < stages.size(); ++i) {
    const Stage& stage = stages[i];
    const std::vector<Nanos> beyond = BeyondOthers(in.job, stage, stages);
    std::vector<Nanos> excess = AtLeast(beyond, LeastBeyond(in.job));
    if (!StrikesMost(excess)) {
      excess = InSomeSteps(in.job, stage, beyond);
      if (std::any_of(excess.begin(), excess.end(), [](Nanos x) { return x > 0; })) {
        out->candidates.push_back(MakeCandidate(in, stage, stages, std::move(excess), true));
        continue;
      }
      std::optional<Candidate> calls = WithMoreCallsInSomeSteps(in, stage, stages, About::kAll);
      if (!calls && i > 0 && i + 1 < stages.size()) calls = WithMoreLayers(in, stage, stages);
      if (calls) out->candidates.push_back(std::move(*calls));
      continue;
    }
    std::vector<Nanos> beside = AtLeast(BeyondOthers(in.job, bare[i], bare), LeastBeyond(in.job));
    const bool behind_launches = IsBehindLaunches(in.job, stage, stages, excess);
    const bool partly_waits = behind_launches || IsPartlyWaits(excess, beside);
    if (partly_waits) excess = std::move(beside);
    if (behind_launches && !StrikesMost(excess)) continue;
    const std::vector<Stage>& held = partly_waits ? bare : stages;
    const Nanos usual = Median(std::vector<Nanos>(excess));
    const int percent = i + 1 == stages.size() ? kNaturalPercentOfLast : kNaturalPercent;
    const auto own = static_cast<double>(Median(Known(held[i].own)));
    const double others = own - static_cast<double>(usual);
    const auto is_natural = [&](double takes) { return (takes - others) * 100 < others * percent; };
    Candidate candidate = MakeCandidate(in, held[i], held, std::move(excess), is_natural(own),
                                        partly_waits ? About::kBesideWaits : About::kAll);
    if (candidate.finding.cause == "slow-input") {
      if (auto calls = WithMoreCallsInSomeSteps(in, bare[i], bare, About::kBesideWaits))
        out->candidates.push_back(std::move(*calls));
    }
    const double slowness = SlownessOfCalls(in.job, stage, stages);
    if (slowness > kSlow && is_natural(own / slowness)) {
      candidate.at_most_info = true;
      candidate.finding.sentence += " Each call takes " + FormatRatio(slowness) + " the time, too.";
      candidate.finding.suggestion =
          "look at the devices and hosts of this stage first: more layers would be more calls";
    }
    out->candidates.push_back(std::move(candidate));
    if (!partly_waits) continue;
    const bool is_long = !is_natural(static_cast<double>(Median(Known(stage.own))));
    if (auto input = WithSlowInput(in, stages, i, is_long)) out->candidates.push_back(std::move(*input));
  }
}

}  // namespace headway::diagnose
