// SPDX-License-Identifier: Apache-2.0
#include "pattern/exposure.h"

#include <algorithm>

namespace headway::pattern {

void ExposureBuffer::Resolve(Nanos now, std::vector<ExposedPiece>* blocked, std::vector<ExposedPiece>* own) {
  blocked->clear();
  own->clear();
  size_t first_blocked = pieces_.size();
  if (!pieces_.empty() && pieces_.back().to == now) {
    Nanos exposed = 0;
    Nanos next = now;
    while (first_blocked > 0) {
      const ExposedPiece& piece = pieces_[first_blocked - 1];
      const Nanos work_between = next - piece.to;
      if (work_between > std::max(50 * kMicrosecond, exposed / 10)) break;
      exposed += piece.to - piece.from;
      next = piece.from;
      --first_blocked;
    }
  }
  own->assign(pieces_.begin(), pieces_.begin() + static_cast<ptrdiff_t>(first_blocked));
  blocked->assign(pieces_.begin() + static_cast<ptrdiff_t>(first_blocked), pieces_.end());
  pieces_.clear();
}

}  // namespace headway::pattern
