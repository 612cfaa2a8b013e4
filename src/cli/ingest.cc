// SPDX-License-Identifier: Apache-2.0
#include "cli/ingest.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "base/gzip_source.h"
#include "base/input_set.h"
#include "base/parallel.h"
#include "base/peek_source.h"
#include "base/tar_header.h"
#include "base/text.h"
#include "base/zip_archive.h"
#include "base/zstd_source.h"
#include "cli/terminal.h"
#include "pattern/hwp_reader.h"
#include "trace/rank_identity.h"
#include "trace/reader_registry.h"

namespace headway::cli {

using pattern::RankPattern;

namespace {

constexpr size_t kSniffBytes = 4096;
constexpr std::string_view kArchiveInside = "this is an archive inside an archive; unpack the outer one";
constexpr std::string_view kEmpty = "the file is empty";
constexpr std::string_view kPackedTwice = "this is packed twice; unpack it once";

// What one input item gave.
struct ItemResult {
  std::vector<RankPattern> ranks;
  std::vector<Error> problems;
  bool is_trace = false;
};

Result<std::string> ReadAll(ByteSource* source) {
  std::string bytes;
  while (true) {
    const Result<std::string_view> chunk = source->Next();
    if (!chunk) return std::unexpected(chunk.error());
    if (chunk->empty()) return bytes;
    bytes.append(*chunk);
  }
}

// Reads a trace to its end, or to where it is damaged: what came before still counts.
Result<RankPattern> Fold(ByteSource* source, const trace::TraceFormat& format,
                         const std::shared_ptr<const trace::NameRules>& rules, const pattern::FoldOptions& options) {
  pattern::PatternBuilder builder(options);
  const std::unique_ptr<trace::TraceReader> reader = format.make(&builder, {source->name(), rules});
  trace::ImportLog extra;
  while (true) {
    const Result<std::string_view> chunk = source->Next();
    if (!chunk) {
      extra.Add(trace::ProblemKind::kDropped, "file-unreadable", -1, chunk.error().message);
      break;
    }
    if (chunk->empty()) break;
    if (Result<void> fed = reader->Feed(*chunk); !fed) return std::unexpected(fed.error());
  }
  const std::optional<Error> damage = source->damage();
  if (Result<void> finished = reader->Finish(); !finished) return std::unexpected(damage.value_or(finished.error()));
  if (builder.events() == 0) {
    return std::unexpected(damage.value_or(Error{ErrorCode::kUnsupported, "the file holds no events", source->name()}));
  }
  if (damage) {
    extra.Add(trace::ProblemKind::kDropped, "file-damaged", -1, damage->message);
  }
  trace::ImportLog log = reader->log();
  log.Merge(extra);
  trace::RankMeta meta = reader->TakeMeta();
  meta.source = source->name();
  return builder.Finish(std::move(meta), reader->names(), std::move(log));
}

// Why an item whose unpacked bytes begin with `first` gives nothing.
Error NoTrace(const InputItem& item, const Peeked& peeked) {
  if (const std::optional<Error> damage = peeked.source->damage()) return *damage;
  const std::string_view first = peeked.first;
  std::string message = "this is no trace that headway can read";
  if (first.empty()) {
    message = kEmpty;
  } else if (LooksLikeZip(first) || LooksLikeTar(first)) {
    message = kArchiveInside;
  } else if (LooksLikeGzip(first) || LooksLikeZstd(first)) {
    message = kPackedTwice;
  }
  return {ErrorCode::kUnsupported, std::move(message), item.display_name};
}

// Readers of pattern files keep their buffers: there are as many as are in use at once.
class PatternReaders {
 public:
  [[nodiscard]] Result<pattern::HwpContents> Read(std::string_view bytes, std::string_view name, pattern::Parts parts) {
    std::unique_ptr<pattern::HwpReader> reader = Take();
    Result<pattern::HwpContents> contents = reader->Read(bytes, name, parts);
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(reader));
    return contents;
  }

 private:
  std::unique_ptr<pattern::HwpReader> Take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return std::make_unique<pattern::HwpReader>(&tables_);
    std::unique_ptr<pattern::HwpReader> reader = std::move(idle_.back());
    idle_.pop_back();
    return reader;
  }

  pattern::FunctionTableCache tables_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<pattern::HwpReader>> idle_;
};

ItemResult ReadItem(const InputItem& item, const std::shared_ptr<const trace::NameRules>& rules,
                    const pattern::FoldOptions& fold, pattern::Parts parts, PatternReaders* readers) {
  ItemResult out;
  Result<std::unique_ptr<ByteSource>> opened = item.Open();
  if (!opened) {
    out.problems.push_back(opened.error());
    return out;
  }
  Peeked peeked = PeekFirst(std::move(*opened), kSniffBytes);
  if (pattern::IsHwp(peeked.first)) {
    const Result<std::string> bytes = ReadAll(peeked.source.get());
    if (!bytes) {
      out.problems.push_back(bytes.error());
      return out;
    }
    Result<pattern::HwpContents> contents = readers->Read(*bytes, item.display_name, parts);
    if (!contents) {
      out.problems.push_back(contents.error());
      return out;
    }
    out.ranks = std::move(contents->ranks);
    out.problems = std::move(contents->problems);
    return out;
  }
  const trace::TraceFormat* format = trace::FindTraceFormat(peeked.first, item.display_name);
  if (format == nullptr) {
    out.problems.push_back(NoTrace(item, peeked));
    return out;
  }
  Result<RankPattern> rank = Fold(peeked.source.get(), *format, rules, fold);
  if (!rank) {
    out.problems.push_back(rank.error());
  } else {
    out.is_trace = true;
    out.ranks.push_back(std::move(*rank));
  }
  return out;
}

Result<std::string> ReadTextFile(const std::string& path) {
  const std::string paths[] = {path};
  const InputSet set = ListInputs(paths);
  if (set.items.size() != 1) {
    return set.problems.empty() ? MakeError(ErrorCode::kNotFound, "a file is wanted here", path)
                                : std::unexpected(set.problems[0]);
  }
  Result<std::unique_ptr<ByteSource>> source = set.items[0].Open();
  if (!source) return std::unexpected(source.error());
  return ReadAll(source->get());
}

Result<std::shared_ptr<const trace::NameRules>> LoadRules(const std::string& path) {
  if (path.empty()) return trace::NameRules::BuiltIn();
  const Result<std::string> text = ReadTextFile(path);
  if (!text) return std::unexpected(text.error());
  return trace::NameRules::WithExtra(*text, path);
}

// Where a rank's pattern lies: the input item, and the rank it has there (the user may have renumbered it).
struct Place {
  size_t item = 0;
  RankId rank_in_file = -1;
};

// Empty where the file cannot be read a second time: the analyses then know the rank's totals only.
std::vector<pattern::FunctionStep> LoadFunctionSteps(const InputItem& item, RankId rank) {
  const Result<std::unique_ptr<ByteSource>> source = item.Open();
  if (!source) return {};
  const Result<std::string> bytes = ReadAll(source->get());
  if (!bytes) return {};
  const Result<pattern::HwpFile> file = pattern::HwpFile::Open(*bytes, item.display_name);
  if (!file) return {};
  pattern::FunctionTableCache tables;
  pattern::HwpReader reader(&tables);
  for (size_t i = 0; i < file->rank_count(); ++i) {
    Result<RankPattern> pattern = reader.Rank(*file, i);
    if (pattern && pattern->meta.rank == rank) return std::move(pattern->function_steps);
  }
  return {};
}

// One error for a call that read nothing: the first problem, and how many more there are.
Error NothingRead(const Ingested& in) {
  if (in.problems.empty()) {
    return {ErrorCode::kNotFound, "nothing to read there: give trace files, pattern files (.hwp), or a folder of them",
            ""};
  }
  Error error = in.problems.front();
  if (in.problems.size() > 1) {
    error.message +=
        "; the other " + Counted(static_cast<int64_t>(in.problems.size()) - 1, "input") + " could not be used either";
  }
  return error;
}

}  // namespace

Result<Ingested> Ingest(const std::vector<std::string>& paths, const IngestOptions& options) {
  const Result<std::shared_ptr<const trace::NameRules>> rules = LoadRules(options.name_rules);
  if (!rules) return std::unexpected(rules.error());
  trace::RankMap map;
  if (!options.rank_map.empty()) {
    const Result<std::string> text = ReadTextFile(options.rank_map);
    if (!text) return std::unexpected(text.error());
    Result<trace::RankMap> parsed = trace::RankMap::Parse(*text, options.rank_map);
    if (!parsed) return std::unexpected(parsed.error());
    map = std::move(*parsed);
  }
  if (options.threads < 0 || options.threads > 1024) {
    return MakeError(ErrorCode::kInvalidArgument, "--threads takes a number from 0 (all) to 1024");
  }
  const int threads = ThreadCount(options.threads);
  InputSet set = ListInputs(paths, threads);
  pattern::FoldOptions fold = options.fold;
  fold.sort_buffer_bytes = std::max(size_t{6} << 20, (size_t{32} << 20) / static_cast<size_t>(threads));
  PatternReaders readers;
  const bool many = set.items.size() > kManyPatterns && !options.all_parts;
  const pattern::Parts parts = many ? pattern::Parts::kNoFunctionSteps : pattern::Parts::kAll;
  std::vector<ItemResult> results = ParallelMap(
      set.items.size(), threads, [&](size_t i) { return ReadItem(set.items[i], *rules, fold, parts, &readers); });

  Ingested out;
  out.files = static_cast<int64_t>(set.items.size());
  out.problems = std::move(set.problems);
  std::vector<Place> places;  // parallel to out.ranks
  for (size_t i = 0; i < results.size(); ++i) {
    for (RankPattern& rank : results[i].ranks) {
      places.push_back({i, rank.meta.rank});
      out.sources.push_back({rank.meta.rank, set.items[i].display_name, results[i].is_trace});
      out.ranks.push_back(std::move(rank));
    }
    out.problems.insert(out.problems.end(), results[i].problems.begin(), results[i].problems.end());
  }
  if (out.ranks.empty()) return std::unexpected(NothingRead(out));

  std::vector<trace::RankMeta*> metas;
  for (RankPattern& rank : out.ranks) metas.push_back(&rank.meta);
  trace::ImportLog log;
  // One process a rank, each with its own file: all of them would take theirs for rank 0.
  if (metas.size() == 1 && metas[0]->rank < 0 && options.environment_rank >= 0) {
    metas[0]->rank = options.environment_rank;
    metas[0]->rank_source = "environment";
    log.Add(trace::ProblemKind::kGuessed, "rank-from-environment", -1, metas[0]->source);
  }
  const std::vector<size_t> left_out = trace::AssignRanks(metas, map, &log);
  for (const size_t i : left_out) {
    out.problems.push_back({ErrorCode::kCorrupt,
                            "another file has rank " + std::to_string(out.ranks[i].meta.rank) +
                                " already; this one is left out (--rank-map tells them apart)",
                            out.sources[i].name});
  }
  for (size_t i = left_out.size(); i-- > 0;) {
    out.ranks.erase(out.ranks.begin() + static_cast<ptrdiff_t>(left_out[i]));
    out.sources.erase(out.sources.begin() + static_cast<ptrdiff_t>(left_out[i]));
    places.erase(places.begin() + static_cast<ptrdiff_t>(left_out[i]));
  }
  std::vector<size_t> order(out.ranks.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return out.ranks[a].meta.rank < out.ranks[b].meta.rank; });
  std::vector<RankPattern> ranks;
  std::vector<RankSource> sources;
  for (const size_t i : order) {
    out.ranks[i].comms.rank = out.ranks[i].meta.rank;
    out.sources[i].rank = out.ranks[i].meta.rank;
    ranks.push_back(std::move(out.ranks[i]));
    sources.push_back(std::move(out.sources[i]));
  }
  out.ranks = std::move(ranks);
  out.sources = std::move(sources);
  if (!out.ranks.empty()) out.ranks.front().log.Merge(log);
  if (many) {
    std::map<RankId, Place> by_rank;
    for (size_t k = 0; k < order.size(); ++k) by_rank[out.ranks[k].meta.rank] = places[order[k]];
    out.load_function_steps = [items = std::make_shared<std::vector<InputItem>>(std::move(set.items)),
                               by_rank = std::move(by_rank)](RankId rank) {
      const Place& place = by_rank.at(rank);
      return LoadFunctionSteps((*items)[place.item], place.rank_in_file);
    };
  }
  return out;
}

namespace {

// Of what is no trace: whether its name says that it should be one.
bool ShouldBeTrace(const Error& problem) {
  const std::string_view where = problem.where;
  return where.ends_with(".hwp") || (problem.message == kEmpty && where.find(".json") != std::string_view::npos);
}

// An archive that breaks off gave what lies before.
bool GaveSomething(const Error& problem, const Ingested& in) {
  const std::string member = problem.where + ":";
  return std::ranges::any_of(in.sources, [&](const RankSource& source) { return source.name.starts_with(member); });
}

}  // namespace

void RemarkProblems(std::string_view command, const Ingested& in, bool quiet) {
  constexpr size_t kShown = 3;
  size_t other = 0, shown = 0, more = 0;
  for (const Error& problem : in.problems) {
    const bool hides_traces = problem.message == kArchiveInside || problem.message == kPackedTwice;
    if (problem.code == ErrorCode::kUnsupported && !hides_traces && !ShouldBeTrace(problem)) {
      ++other;
    } else if (shown < kShown) {
      ++shown;
      Remark(command, (GaveSomething(problem, in) ? "read in part: " : "not used: ") + problem.ToString(), quiet);
    } else {
      ++more;
    }
  }
  if (more > 0)
    Remark(command, "not used: " + Counted(static_cast<int64_t>(more), "more file") + " with problems", quiet);
  if (other > 0) Remark(command, Counted(static_cast<int64_t>(other), "file") + " passed over: no traces", quiet);
}

}  // namespace headway::cli
