// SPDX-License-Identifier: Apache-2.0
// .hwp files. Checksums would hide everything behind them from the fuzzer: most mutations are sealed again, and the
// files it starts from have no packed blocks. What is read must keep every promise, and come back from a new file.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/checksum.h"
#include "base/little_endian.h"
#include "pattern/hwp_blocks.h"
#include "pattern/hwp_format.h"
#include "pattern/hwp_merge.h"
#include "pattern/hwp_reader.h"
#include "pattern/hwp_same_pattern.h"
#include "pattern/hwp_sample_pattern.h"
#include "pattern/hwp_validate.h"
#include "pattern/hwp_writer.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace headway::pattern {
namespace {

constexpr size_t kHeader = 24;  // docs/hwp-format.md
constexpr size_t kEntry = 24;
constexpr size_t kReference = 8;

// The section with its blocks as they are; `skip` bytes before the blocks.
std::string Unpacked(std::string_view section, size_t skip) {
  hwp::DecodeBudget budget(UINT64_MAX);
  hwp::BlockUnpacker blocks;
  HEADWAY_CHECK(blocks.Unpack(section.substr(skip), &budget).has_value());
  std::string out(section.substr(0, skip));
  for (auto id = static_cast<uint8_t>(hwp::BlockId::kTable); id <= static_cast<uint8_t>(hwp::BlockId::kBits); ++id) {
    const auto block = static_cast<hwp::BlockId>(id);
    if (!blocks.Get(block).empty()) hwp::AppendBlock(block, blocks.Get(block), 0, &out);
  }
  return out;
}

// A small file of one or two ranks without packed blocks.
std::string Sample(unsigned seed) {
  std::vector<RankPattern> ranks;
  for (RankId r = 0; r <= static_cast<RankId>(seed % 2); ++r) {
    const hwp::SampleShape shape{.functions = static_cast<int>(seed % 9),
                                 .steps = static_cast<int>(seed / 9 % 4),
                                 .collectives = static_cast<int>(seed / 36 % 8),
                                 .rank = r,
                                 .world_size = 2,
                                 .presence = seed % 3 == 0 ? 0.7 : 1.0};
    ranks.push_back(hwp::MakeSamplePattern(shape, seed));
  }
  const std::string packed = WriteHwp(ranks);
  auto directory = hwp::ReadDirectory(packed, "sample");
  HEADWAY_CHECK(directory.has_value());
  std::vector<std::string> payloads;
  for (const hwp::Section& s : directory->sections) {
    payloads.push_back(Unpacked(s.bytes, s.tag == hwp::kRankTag ? kReference : 0));
  }
  std::vector<hwp::Section> sections;
  for (size_t i = 0; i < payloads.size(); ++i) {
    const hwp::Section& s = directory->sections[i];
    sections.push_back(hwp::MakeSection(s.tag, s.rank, payloads[i]));
  }
  return hwp::AssembleFile(std::move(sections)).value_or("");
}

void Put(std::string* file, size_t at, uint64_t value) {
  std::string bytes;
  AppendLittleEndian(&bytes, value);
  file->replace(at, bytes.size(), bytes);
}

// Makes every checksum right, stretches the last section to the end, and lets ranks refer to the first table.
void Seal(std::string* file) {
  if (file->size() < kHeader + kEntry + kReference) return;
  const size_t most = (file->size() - kHeader - kReference) / kEntry;
  const size_t count = std::min<size_t>(LoadLittleEndian<uint32_t>(file->substr(16)), std::min<size_t>(most, 8));
  file->replace(0, 8, "\x89HWP\r\n\x1a\n");
  Put(file, 8, hwp::kVersion);
  Put(file, 16, count);
  const size_t end = kHeader + count * kEntry;
  size_t at = end + kReference;
  uint64_t table = 0;
  for (size_t i = 0; i < count; ++i) {
    const size_t entry = kHeader + i * kEntry;
    const size_t left = file->size() - at;
    auto length = static_cast<size_t>(std::min<uint64_t>(LoadLittleEndian<uint64_t>(file->substr(entry + 8)), left));
    if (i + 1 == count) length = left;
    const std::string_view tag = std::string_view(*file).substr(entry, 4);
    if (tag == "RANK" && length >= kReference) Put(file, at, table);
    const uint64_t checksum = XxHash64(std::string_view(*file).substr(at, length));
    if (table == 0) table = checksum;
    Put(file, entry + 8, length);
    Put(file, entry + 16, checksum);
    at += length;
  }
  Put(file, end, XxHash64(std::string_view(*file).substr(0, end)));
}

void ExpectRoundTrip(const RankPattern& rank) {
  const std::string bytes = WriteHwp({&rank, 1});
  const auto again = ReadHwp(bytes, "again");
  HEADWAY_CHECK(again.has_value() && again->problems.empty() && again->ranks.size() == 1);
  // The log keeps one problem a name: a file may list a name twice.
  HEADWAY_CHECK(hwp::FirstDifference(rank, again->ranks[0]).empty());
}

}  // namespace
}  // namespace headway::pattern

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  namespace pattern = headway::pattern;
  std::string file(reinterpret_cast<const char*>(data), size);
  if (size < 64 || seed % 256 == 0) {
    file = pattern::Sample(seed / 256);
  } else {
    file.resize(std::max(max_size, size));
    file.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(file.data()), size, file.size()));
  }
  if (seed % 16 != 1) pattern::Seal(&file);
  const size_t length = std::min(file.size(), max_size);
  std::memcpy(data, file.data(), length);
  return length;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace pattern = headway::pattern;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto contents = pattern::ReadHwp(bytes, "fuzz.hwp");
  if (!contents) {
    HEADWAY_CHECK(!contents.error().message.empty());
    return 0;
  }
  for (const auto& rank : contents->ranks) {
    HEADWAY_CHECK(pattern::hwp::BrokenPromise(rank) == nullptr);
    HEADWAY_CHECK(pattern::hwp::BrokenPromise(*rank.function_table) == nullptr);
    if (headway::XxHash64(bytes) % 8 == 0) pattern::ExpectRoundTrip(rank);
  }
  const pattern::HwpBytes twice[] = {{bytes, "a"}, {bytes, "b"}};
  (void)pattern::MergeHwp(twice);
  return 0;
}
