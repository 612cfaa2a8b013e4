// SPDX-License-Identifier: Apache-2.0
#include "trace/importers/kineto/structural_index.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace headway::trace::kineto {
namespace {

struct Scanned {
  std::vector<uint32_t> positions;
  std::vector<uint32_t> control;  // positions of raw control characters inside strings
  std::vector<uint32_t> high;
  bool operator==(const Scanned&) const = default;
};

// The definition, character by character.
Scanned ScanByHand(const std::string& text) {
  Scanned out;
  bool in_string = false;
  bool escaped = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const auto at = static_cast<uint32_t>(i);
    if (static_cast<unsigned char>(c) >= 0x80) out.high.push_back(at);
    if (in_string && static_cast<unsigned char>(c) < 0x20) out.control.push_back(at);
    if (escaped) {
      escaped = false;
      if (c == '"') continue;
      if (c == '\\') continue;
    }
    if (c == '\\') {
      escaped = true;
    } else if (c == '"') {
      in_string = !in_string;
      out.positions.push_back(at);
    } else if (!in_string && (c == '{' || c == '}' || c == '[' || c == ']')) {
      out.positions.push_back(at);
    }
  }
  return out;
}

// In pieces of `blocks` blocks, as chunks of a file would come.
Scanned Scan(ScanFunction scan, std::string text, size_t blocks) {
  text.resize((text.size() + kBlock - 1) / kBlock * kBlock, ' ');
  Scanned out;
  ScanState state;
  std::vector<OddBlock> odd;
  for (size_t at = 0; at < text.size(); at += blocks * kBlock) {
    const size_t count = std::min(blocks, (text.size() - at) / kBlock);
    std::vector<uint32_t> buffer(count * kBlock + 8);
    uint32_t* end = scan(text.data() + at, count, static_cast<uint32_t>(at), state, buffer.data(), odd);
    out.positions.insert(out.positions.end(), buffer.data(), end);
  }
  for (const OddBlock& block : odd) {
    for (uint32_t i = 0; i < kBlock; ++i) {
      if ((block.control >> i & 1) != 0) out.control.push_back(static_cast<uint32_t>(block.position) + i);
      if ((block.high >> i & 1) != 0) out.high.push_back(static_cast<uint32_t>(block.position) + i);
    }
  }
  return out;
}

std::vector<ScanFunction> AllScans() {
  std::vector<ScanFunction> scans = {ScanPortable, BestScan()};
  if (Avx2Scan() != nullptr) scans.push_back(Avx2Scan());
  return scans;
}

TEST(StructuralIndex, EveryScanFindsTheSameAsTheDefinition) {
  std::mt19937 random(7);
  const std::string alphabet = "\"\"\"\\\\\\{}[]:, \n\tab0\x01\x1f\x7f\xc3\xa4";
  for (int round = 0; round < 400; ++round) {
    std::string text(random() % 700, ' ');
    for (char& c : text) c = alphabet[random() % (round % 3 == 0 ? 6 : alphabet.size())];
    const std::string padded = [&] {
      std::string copy = text;
      copy.resize((copy.size() + kBlock - 1) / kBlock * kBlock, ' ');
      return copy;
    }();
    const Scanned expected = ScanByHand(padded);
    for (const ScanFunction scan : AllScans()) {
      for (const size_t blocks : {size_t{1}, size_t{3}, size_t{100}})
        ASSERT_EQ(Scan(scan, text, blocks), expected) << text;
    }
  }
}

// A run of backslashes that ends exactly at a block's end: the next block has to know whether its first quote counts.
TEST(StructuralIndex, BackslashesAcrossABlock) {
  for (size_t run = 1; run <= 130; ++run) {
    for (size_t lead = 0; lead < kBlock; lead += 7) {
      const std::string text = "[\"" + std::string(lead, 'x') + std::string(run, '\\') + "\"]\"]";
      const Scanned expected = ScanByHand(text + std::string((kBlock - text.size() % kBlock) % kBlock, ' '));
      for (const ScanFunction scan : AllScans()) ASSERT_EQ(Scan(scan, text, 1), expected) << run << ' ' << lead;
    }
  }
}

}  // namespace
}  // namespace headway::trace::kineto
