// SPDX-License-Identifier: Apache-2.0
#include "trace/importers/kineto/kineto_reader.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "trace/importers/kineto/json_string.h"
#include "trace/importers/kineto/kineto_metadata.h"
#include "trace/importers/kineto/row_builder.h"
#include "trace/rank_identity.h"

namespace headway::trace {
namespace kineto {
namespace {

constexpr int64_t kEventsToJudge = 64;  // a list whose first objects have no phase holds something else

class KinetoReader final : public TraceReader, private DocumentSink {
 public:
  KinetoReader(EventSink* sink, KinetoOptions options)
      : source_(std::move(options.source)),
        names_(options.rules ? std::move(options.rules) : NameRules::BuiltIn(), &log_, options.names),
        categories_(&names_.rules()),
        lanes_(&log_),
        rows_(sink, &names_, &lanes_, &log_),
        metadata_(&log_),
        walker_(this, &log_, options.walker, options.scan) {}

  Result<void> Feed(std::string_view bytes) override {
    if (failed_) return MakeError(ErrorCode::kUnsupported, "The file was given up before.", source_);
    auto fed = walker_.Feed(bytes);
    if (fed && no_events_) fed = NoEvents();
    return Checked(std::move(fed));
  }

  Result<void> Finish() override {
    if (failed_) return MakeError(ErrorCode::kUnsupported, "The file was given up before.", source_);
    auto finished = walker_.Finish();
    if (finished && !walker_.saw_events()) {
      finished = MakeError(ErrorCode::kUnsupported, "This is JSON, but no trace: it has no list of traceEvents.");
    } else if (finished && (no_events_ || (phases_ == 0 && without_phase_ > 0))) {
      finished = NoEvents();
    }
    if (finished) Complete();
    return Checked(std::move(finished));
  }

  const RankMeta& meta() const override { return meta_; }
  RankMeta TakeMeta() override { return std::move(meta_); }
  const ImportLog& log() const override { return log_; }
  const StringPool& names() const override { return names_.pool(); }
  StringPool TakeNames() override { return names_.TakePool(); }

 private:
  Outcome OnEvent(TokenCursor& cursor, int64_t offset, const TokenWindow* odd) override;
  void OnMember(std::string_view key, std::string_view value, int64_t offset) override {
    metadata_.OnMember(key, value, offset);
  }

  static Result<void> NoEvents() {
    return MakeError(ErrorCode::kUnsupported, "This is JSON, but its objects are no trace events (none has \"ph\").");
  }
  void OnMetadataRow(const EventText& text, const TokenCursor& source);
  void CheckBytes(const EventText& text, const TokenWindow& window, int64_t offset);
  void Complete();
  void SettleRank();
  void CountSkipped();

  Result<void> Checked(Result<void> result) {
    if (result) return result;
    failed_ = true;
    Error error = std::move(result).error();
    error.where = error.where.empty() || source_.empty() ? source_ + error.where : source_ + ", " + error.where;
    return std::unexpected(std::move(error));
  }

  std::string source_;
  ImportLog log_;
  NameTable names_;
  CategoryTable categories_;
  LaneTable lanes_;
  RowBuilder rows_;
  KinetoMetadata metadata_;
  DocumentWalker walker_;
  RankMeta meta_;
  bool failed_ = false;
  bool no_events_ = false;
  int64_t phases_ = 0;  // events with a phase
  int64_t without_phase_ = 0;
  int64_t flows_ = 0;
  int64_t counters_ = 0;
  int64_t metadata_rows_ = 0;
};

Outcome KinetoReader::OnEvent(TokenCursor& cursor, int64_t offset, const TokenWindow* odd) {
  const TokenCursor source = cursor;
  EventText text;
  const Outcome outcome = ReadEvent(cursor, &text);
  if (outcome != Outcome::kDone) return outcome;
  if (odd != nullptr) CheckBytes(text, *odd, offset);
  ++phases_;
  switch (text.phase) {
    case 'X': rows_.Add(text, categories_.Count(text.category), source, offset); break;
    case 'B': rows_.Begin(text, categories_.Count(text.category), source, offset); break;
    case 'E': rows_.End(text, offset); break;
    case 'i':
    case 'I':
    case 'n': rows_.Add(text, RowClass::kInstant, source, offset); break;
    case 's':
    case 't':
    case 'f': ++flows_; break;
    case 'M': OnMetadataRow(text, source); break;
    case 'C': ++counters_; break;
    case '\0':
      --phases_;
      // Judged here, not where a chunk ends.
      if (++without_phase_ == kEventsToJudge && phases_ == 0) no_events_ = true;
      log_.Add(ProblemKind::kDropped, "event-without-phase", offset,
               std::string_view(text.begin, std::min<size_t>(160, text.end - text.begin)));
      break;
    default: log_.Add(ProblemKind::kDropped, "unknown-phase", offset, std::string_view(&text.phase, 1)); break;
  }
  return Outcome::kDone;
}

void KinetoReader::OnMetadataRow(const EventText& text, const TokenCursor& source) {
  ++metadata_rows_;
  if (text.name != "thread_name" || text.args == nullptr) return;
  TokenCursor cursor = source;
  cursor.token = text.args;
  EventArgs args;
  uint8_t repairs = 0;
  (void)ReadArgs(cursor, &args, &repairs);
  lanes_.NameThread(text.pid, text.tid, args.label);
}

void KinetoReader::CheckBytes(const EventText& text, const TokenWindow& window, int64_t offset) {
  const auto from = static_cast<size_t>(text.begin - window.text());
  const auto to = static_cast<size_t>(text.end - window.text());
  const TokenWindow::Oddity oddity = window.OddIn(from, to);
  const std::string_view whole(text.begin, to - from);
  if (oddity.control) log_.Add(ProblemKind::kRepaired, "control-character", offset, whole.substr(0, 160));
  if (oddity.high && !IsValidUtf8(whole)) {
    log_.Add(ProblemKind::kRepaired, "invalid-utf8", offset, whole.substr(0, 160));
  }
}

void KinetoReader::Complete() {
  rows_.Finish();
  metadata_.Export(&meta_);
  meta_.source = source_;
  meta_.lanes = lanes_.Take();
  meta_.categories = categories_.Totals();
  meta_.time_resolution = rows_.saw_fraction() ? 1 : kMicrosecond;
  for (ProcessGroup& group : rows_.Groups()) {
    const bool known = std::any_of(meta_.groups.begin(), meta_.groups.end(),
                                   [&](const ProcessGroup& other) { return other.name == group.name; });
    if (known) continue;
    log_.Add(ProblemKind::kGuessed, "group-from-rows", -1, group.name + " " + group.desc);
    meta_.groups.push_back(std::move(group));
  }
  SettleRank();
  CountSkipped();
}

void KinetoReader::SettleRank() {
  if (!metadata_.saw_distributed_info()) log_.Add(ProblemKind::kNote, "no-distributed-info");
  if (meta_.rank >= 0) return;
  if (rows_.rank_of_collectives() >= 0) {
    meta_.rank = rows_.rank_of_collectives();
    meta_.rank_source = "content";
    log_.Add(ProblemKind::kGuessed, "rank-from-collectives");
  } else if (const RankId rank = RankFromFileName(source_); rank >= 0) {
    meta_.rank = rank;
    meta_.rank_source = "file name";
    log_.Add(ProblemKind::kGuessed, "rank-from-file-name", -1, source_);
  }
}

void KinetoReader::CountSkipped() {
  log_.AddCount(ProblemKind::kNote, "unknown-category", categories_.UnknownRows());
  log_.AddCount(ProblemKind::kNote, "flow-row", flows_);
  log_.AddCount(ProblemKind::kNote, "counter-row", counters_);
  log_.AddCount(ProblemKind::kNote, "metadata-row", metadata_rows_);
}

}  // namespace
}  // namespace kineto

std::unique_ptr<TraceReader> MakeKinetoReader(EventSink* sink, KinetoOptions options) {
  return std::make_unique<kineto::KinetoReader>(sink, std::move(options));
}

bool LooksLikeKineto(std::string_view first) {
  // Execution traces, flight recorder dumps and the like begin with keys of their own.
  // So does the timeline that --timeline writes, which is about all ranks.
  static constexpr std::string_view kOwnTimeline =
      "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[{\"ph\":\"M\",\"name\":"
      "\"process_name\",\"pid\":0,\"tid\":0,\"args\":{\"name\":\"headway: ";
  if (first.starts_with(kOwnTimeline)) return false;
  static constexpr std::string_view kOthers[] = {"\"schema\"", "\"version\"", "\"nodes\"", "\"entries\"",
                                                 "\"pg_config\""};
  const auto next = [&] {  // the next character that is no space; it stays
    first.remove_prefix(std::min(first.find_first_not_of(" \t\r\n"), first.size()));
    return first.empty() ? '\0' : first[0];
  };
  if (first.starts_with("\xEF\xBB\xBF")) first.remove_prefix(3);
  const char outer = next();
  if (outer != '{' && outer != '[') return false;
  first.remove_prefix(1);
  const char inner = next();
  if (first.empty()) return true;
  if (outer == '[') return inner == '{' || inner == ']';
  const bool like_others =
      std::any_of(std::begin(kOthers), std::end(kOthers), [&](std::string_view key) { return first.starts_with(key); });
  if (like_others) return first.find("\"traceEvents\"") != std::string_view::npos;
  return inner == '"' || inner == '}';
}

}  // namespace headway::trace
