// SPDX-License-Identifier: Apache-2.0
#include "trace/importers/kineto/comm_args.h"

#include <gtest/gtest.h>

namespace headway::trace::kineto {
namespace {

const NameRules& Rules() {
  static const auto rules = NameRules::BuiltIn();
  return *rules;
}

struct TensorCase {
  const char* dims;
  const char* types;
  const char* dtype;
  Bytes summed;
  Bytes largest;
};

void Expect(const TensorCase& c) {
  EXPECT_EQ(TensorBytes(c.dims, c.types, c.dtype, Tensors::kSummed, Rules()), c.summed) << c.dims << c.dtype;
  EXPECT_EQ(TensorBytes(c.dims, c.types, c.dtype, Tensors::kLargest, Rules()), c.largest) << c.dims << c.dtype;
}

TEST(CommArgs, BytesOfTensors) {
  const TensorCase cases[] = {
      {"[[397322]]", R"(["float"])", "", 1'589'288, 1'589'288},                     // 397,322 x 4
      {"[[8, 1024, 8816]]", R"(["c10::BFloat16"])", "", 144'441'344, 144'441'344},  // 8 x 1024 x 8816 x 2
      {"[[10], [20]]", R"(["float", "double"])", "", 200, 160},                     // 40 + 160
      {"[[]]", R"(["long"])", "", 8, 8},                                            // one number in a tensor
      {"[[4], []]", R"(["float", "Int"])", "", 16, 16},                             // a plain argument beside it
      {"[[[397322]], [], []]", R"(["TensorList", "", ""])", "", -1, -1},
      {"[[4], [4]]", R"(["float", "Unheard"])", "", 16, 16},
      {"[]", "[]", "", -1, -1},
      {"", "", "", -1, -1},
      {"[[9223372036854775807, 2]]", R"(["float"])", "", -1, -1},
      {"[[-1]]", R"(["float"])", "", -1, -1},
      {R"([["a"]])", R"(["float"])", "", -1, -1},
      {"[[1, 2", R"(["float"])", "", -1, -1},
  };
  for (const TensorCase& c : cases) Expect(c);
}

TEST(CommArgs, BytesOfListsOfTensors) {
  const TensorCase cases[] = {
      {"[[[397322]], [], []]", R"(["TensorList", "", ""])", "Float", 1'589'288, 1'589'288},    // 397,322 x 4
      {"[[[2, 32, 64], [10]], []]", R"(["TensorList", "Scalar"])", "BFloat16", 8'212, 8'212},  // (4,096 + 10) x 2
      {"[[[]]]", R"(["TensorList"])", "Double", 8, 8},                        // a list of one number in a tensor
      {"[[[4], [4]], [6]]", R"(["TensorList", "double"])", "", 112, 64},      // 8 x 8, as the tensor beside it; 6 x 8
      {"[[[4], [4]], [6]]", R"(["TensorList", "double"])", "Float", 80, 48},  // 8 x 4, as the row says; 6 x 8
      {"[[[4]], [6], [6]]", R"(["TensorList", "double", "float"])", "", 72, 48},  // which of the two? 6 x 8 + 6 x 4
      {"[[[100]], [[30], [20]]]", R"(["TensorList", "TensorList"])", "Half", 300, 200},  // 150 x 2; 100 x 2
      {"[[[4]]]", R"(["TensorList"])", "", -1, -1},                                      // nothing tells the type
      {"[[[4]]]", R"(["TensorList"])", "Strange", -1, -1},
      {"[[], []]", R"(["TensorList", ""])", "Float", -1, -1},  // dimensions not recorded
      {"[[[4], [[5]]]]", R"(["TensorList"])", "Float", -1, -1},
      {"[[[9223372036854775807], [1]]]", R"(["TensorList"])", "Float", -1, -1},
  };
  for (const TensorCase& c : cases) Expect(c);
}

TEST(CommArgs, PayloadIsTheLargerSide) {
  CollectiveArgs args;
  args.in_elements = 25'136;
  args.out_elements = 201'088;
  args.dtype = "BFloat16";
  EXPECT_EQ(CollectiveBytes(args, Rules()), 402'176);
  args.dtype = "Strange";
  EXPECT_EQ(CollectiveBytes(args, Rules()), -1);
  args.dtype = "Float";
  args.in_elements = args.out_elements = -1;
  EXPECT_EQ(CollectiveBytes(args, Rules()), -1);
}

TEST(CommArgs, Peers) {
  CollectiveArgs none;
  EXPECT_EQ(PeerOf(CommOp::kSend, none, "nccl:send 1->2", ""), 2);
  EXPECT_EQ(PeerOf(CommOp::kRecv, none, "nccl:recv 3<-0", ""), 0);
  EXPECT_EQ(PeerOf(CommOp::kSend, none, "c10d::send", R"(["", "", "5", "0"])"), 5);
  EXPECT_EQ(PeerOf(CommOp::kRecv, none, "c10d::recv_", R"(["", "", "4", "0"])"), 4);
  EXPECT_EQ(PeerOf(CommOp::kRecv, none, "c10d::recv_any_source_", R"(["", "", "7"])"), -1) << "7 is the tag";
  EXPECT_EQ(PeerOf(CommOp::kSend, none, "gloo:send", ""), -1);
  EXPECT_EQ(PeerOf(CommOp::kAllReduce, none, "nccl:send 1->2", ""), -1);
  CollectiveArgs both;
  both.source = 1;
  both.destination = 3;
  EXPECT_EQ(PeerOf(CommOp::kSend, both, "ncclDevKernel_SendRecv", ""), 3);
  EXPECT_EQ(PeerOf(CommOp::kRecv, both, "ncclDevKernel_SendRecv", ""), 1);
}

}  // namespace
}  // namespace headway::trace::kineto
