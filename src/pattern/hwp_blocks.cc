// SPDX-License-Identifier: Apache-2.0
#include "pattern/hwp_blocks.h"

#include <span>
#include <utility>

#include "base/varint.h"

namespace headway::pattern::hwp {
namespace {

enum class Codec : uint8_t { kStored = 0, kZstd = 1 };

std::unexpected<Error> Damaged(std::string what) { return MakeError(ErrorCode::kCorrupt, std::move(what)); }

}  // namespace

void AppendBlock(BlockId id, std::string_view bytes, int level, std::string* out) {
  std::string packed;
  if (level > 0 && !bytes.empty()) packed = CompressBlock(bytes, level);
  const bool smaller = !packed.empty() && packed.size() < bytes.size();
  out->push_back(static_cast<char>(id));
  out->push_back(static_cast<char>(smaller ? Codec::kZstd : Codec::kStored));
  if (smaller) AppendVarint(out, bytes.size());
  AppendVarint(out, smaller ? packed.size() : bytes.size());
  *out += smaller ? std::string_view(packed) : bytes;
}

Result<void> BlockUnpacker::Unpack(std::string_view section, DecodeBudget* budget) {
  blocks_.fill({});
  int last_id = 0;
  for (VarintReader in(section); !in.empty();) {
    const std::string_view head = in.Bytes(2);
    if (!in.ok()) return Damaged("a section ends within a block");
    const int id = static_cast<uint8_t>(head[0]);
    const auto codec = static_cast<uint8_t>(head[1]);
    if (id <= last_id) return Damaged("the blocks of a section are out of order");
    last_id = id;
    if (codec > static_cast<uint8_t>(Codec::kZstd)) {
      return MakeError(ErrorCode::kUnsupported,
                       "written by a newer headway (packed in a way this program does not know): update headway");
    }
    const uint64_t raw_length = codec == static_cast<uint8_t>(Codec::kZstd) ? in.Varint() : 0;
    const std::string_view stored = in.Bytes(in.Varint());
    if (!in.ok()) return Damaged("a block of a section is longer than the section");
    const size_t slot = SlotOf(static_cast<uint8_t>(id));
    if (slot >= kKnown) {
      if ((id & kOptionalBlock) != 0) continue;
      return MakeError(ErrorCode::kUnsupported, "written by a newer headway (it needs block " + std::to_string(id) +
                                                    ", which this program does not know): update headway");
    }
    std::string_view& block = blocks_[slot];
    block = stored;
    if (codec == static_cast<uint8_t>(Codec::kStored)) continue;
    if (!budget->Take(raw_length)) return Damaged("a block of a section claims to be larger than its bytes can be");
    std::string& buffer = buffers_[slot];
    buffer.resize(static_cast<size_t>(raw_length));
    if (!zstd_.Decompress(stored, std::span(buffer))) return Damaged("a block of a section cannot be unpacked");
    block = buffer;
  }
  return {};
}

}  // namespace headway::pattern::hwp
