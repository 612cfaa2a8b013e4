// SPDX-License-Identifier: Apache-2.0
// Decides which exposed communication a rank was really blocked in.
//
// While an operation is open and nothing above it runs, the rank may be waiting for it - or merely be slow to hand out
// more work, with the operation running beside. Only its end tells: a rank that is still exposed when the operation
// ends was blocked in it; one that went on before was not, and the time is its own.
#pragma once

#include <vector>

#include "base/units.h"
#include "pattern/function_tree.h"
#include "pattern/pattern.h"

namespace headway::pattern {

struct ExposedPiece {
  Nanos from = 0;
  Nanos to = 0;
  FunctionTree::Node comm_node = FunctionTree::kRoot;  // charged when blocked
  FunctionTree::Node own_node = FunctionTree::kRoot;   // charged when not
  WorkClass own_class = WorkClass::kIdle;
};

class ExposureBuffer {
 public:
  void Add(const ExposedPiece& piece) {
    if (!pieces_.empty() && pieces_.back().to == piece.from && pieces_.back().comm_node == piece.comm_node &&
        pieces_.back().own_node == piece.own_node) {
      pieces_.back().to = piece.to;
    } else {
      pieces_.push_back(piece);
    }
  }
  [[nodiscard]] bool empty() const { return pieces_.empty(); }
  [[nodiscard]] Nanos last_end() const { return pieces_.back().to; }
  [[nodiscard]] Nanos last_length() const { return pieces_.back().to - pieces_.back().from; }
  [[nodiscard]] bool Full() const { return pieces_.size() >= 4096; }

  // An operation ended at `now`. Splits what is buffered into pieces it blocked (if the last one reaches `now`: that
  // one, and those before it as long as the work between is short: under 50 us or a tenth of the exposed time so far)
  // and pieces that were the rank's own. Both in time order. The buffer is empty afterwards.
  void Resolve(Nanos now, std::vector<ExposedPiece>* blocked, std::vector<ExposedPiece>* own);

 private:
  std::vector<ExposedPiece> pieces_;
};

}  // namespace headway::pattern
