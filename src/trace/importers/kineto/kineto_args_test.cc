// SPDX-License-Identifier: Apache-2.0
// What the arguments of rows mean: links, sizes, geometry, collectives.
#include <gtest/gtest.h>

#include <string>

#include "trace/importers/kineto/recorded_rows.h"
#include "trace/importers/kineto/trace_text.h"

namespace headway::trace::kineto {
namespace {

TEST(KinetoArgs, KernelArguments) {
  const Recorded read = ReadTrace(
      Trace(KernelRow("volta_sgemm_64x64_nt",
                      R"("External id": 218, "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": 4711,
         "registers per thread": 122, "warps per SM": inf, "grid": [8, 16, 5], "block": [128, 1, 1],
         "est. achieved occupancy %": 37.5, "occupancy": {"limitingFactors": "BLOCKS", "x": [1, {}]},
         "graph id": 3, "graph node id": 25)")));
  ASSERT_EQ(read.rows.events.size(), 1U);
  EXPECT_EQ(read.rows.events[0].correlation, 4711U);
  EXPECT_FLOAT_EQ(read.Kernel(0).occupancy, 0.375F);
  EXPECT_EQ(read.Name(read.Kernel(0).geometry), "8_16_5|128_1_1");
  EXPECT_EQ(read.Kernel(0).graph_node, 25);
  EXPECT_EQ(read.rows.events[0].flags, kFlagGraphNode);
}

TEST(KinetoArgs, ArgumentsBeforeTheCategory) {
  const Recorded read = ReadTrace(Trace(
      R"({"args": {"correlation": 5, "grid": [1, 2, 3]}, "ts": 1, "dur": 1, "pid": 0, "tid": 7,
          "name": "gemm", "cat": "kernel", "ph": "X"})"));
  ASSERT_EQ(read.rows.events.size(), 1U);
  EXPECT_EQ(read.rows.events[0].correlation, 5U);
  EXPECT_EQ(read.Name(read.Kernel(0).geometry), "1_2_3|");
}

struct CorrelationCase {
  const char* args;
  uint32_t correlation;
};

TEST(KinetoArgs, Correlations) {
  const CorrelationCase cases[] = {
      {R"("correlation": 12)", 12},
      {R"("correlation": "12")", 12},
      {R"("correlation": 12.0)", 12},
      {R"("correlation": -1)", 0},
      {R"("correlation": 0)", 0},
      {R"("correlation": null)", 0},
      {R"("correlation": 4294967297)", 0},  // 2^32 + 1 folds to 1 xor 1
      {R"("correlation": 4294967298)", 3},  // 2 xor 1
      {R"("correlation": 99999999999999999999999)", 0},
      {R"("cid": 3)", 0},
  };
  for (const CorrelationCase& c : cases) {
    const Recorded read = ReadTrace(Trace(Row("cuda_runtime", "cudaLaunchKernel", c.args)));
    EXPECT_EQ(read.rows.events.at(0).correlation, c.correlation) << c.args;
  }
}

// ROCm writes no graph ids: one launch, many kernels of one correlation.
TEST(KinetoArgs, GraphsWithoutNodeIds) {
  const Recorded read = ReadTrace(Trace(
      Row("cuda_runtime", "hipGraphLaunch", R"("correlation": 9)") + "," + KernelRow("gemm", R"("correlation": 9)") +
      "," + KernelRow("softmax", R"("correlation": 9)") + "," + KernelRow("norm", R"("correlation": 10)")));
  EXPECT_EQ(read.rows.events[0].flags, kFlagGraphLaunch);
  EXPECT_EQ(read.rows.events[1].flags, kFlagGraphNode);
  EXPECT_EQ(read.rows.events[2].flags, kFlagGraphNode);
  EXPECT_EQ(read.rows.events[3].flags, 0);
}

TEST(KinetoArgs, Copies) {
  const Recorded read =
      ReadTrace(Trace(Row("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", R"("bytes": 92928, "correlation": 14)") +
                      "," + Row("gpu_memcpy", "CopyHostToDevice", R"("bytes": "256", "kind": "HtoD")") + "," +
                      Row("gpu_memset", "Memset (Device)", R"("bytes": 512)")));
  EXPECT_EQ(read.Copy(0).bytes, 92'928);
  EXPECT_EQ(read.Name(read.Copy(0).memory_kind), "HtoD Pageable");
  EXPECT_EQ(read.rows.events[0].flags, kFlagPageable);
  EXPECT_EQ(read.Copy(1).bytes, 256);
  EXPECT_EQ(read.Name(read.Copy(1).memory_kind), "HtoD");
  EXPECT_EQ(read.Copy(2).bytes, 512);
}

TEST(KinetoArgs, CollectiveArguments) {
  const std::string args =
      R"("Collective name": "_allgather_base", "In msg nelems": 25136, "Out msg nelems": 201088, "Group size": 8,
         "dtype": "BFloat16", "In split size": "[]", "Process Group Name": "3", "Process Group Description": "mesh_tp",
         "Process Group Ranks": "[0, 1, 2, 3, 4, 5, 6, 7]", "Seq": 17, "Rank": 5, "Global rank start": 0)";
  const Recorded read =
      ReadTrace(Trace(KernelRow("ncclDevKernel_Generic(x)", args) + "," + Row("cpu_op", "record_param_comms", args)));
  for (size_t row = 0; row < 2; ++row) {
    const CommDetail& comm = read.Comm(row);
    EXPECT_EQ(comm.op, CommOp::kAllGather);
    EXPECT_EQ(read.Name(comm.pg_name), "3");
    EXPECT_EQ(read.Name(comm.pg_desc), "mesh_tp");
    EXPECT_EQ(read.Name(comm.pg_ranks), "[0, 1, 2, 3, 4, 5, 6, 7]");
    EXPECT_EQ(comm.group_size, 8);
    EXPECT_EQ(comm.seq, 17);
    EXPECT_EQ(comm.bytes, 402'176);  // max(25,136, 201,088) x 2
  }
  EXPECT_EQ(read.rows.events[0].kind, EventKind::kCommKernel);
  EXPECT_EQ(read.rows.events[1].kind, EventKind::kCommIssue);
  EXPECT_EQ(read.meta.rank, 5);  // of the arguments, as nothing else tells
  EXPECT_EQ(read.meta.rank_source, "content");
  ASSERT_EQ(read.meta.groups.size(), 1U);
  EXPECT_EQ(read.meta.groups[0].desc, "mesh_tp");
  EXPECT_EQ(read.meta.groups[0].ranks.size(), 8U);
  EXPECT_EQ(read.log.Count("group-from-rows"), 1);
}

// The profiler cuts rank lists at 30 entries: a part of a group is no group.
TEST(KinetoArgs, CutRankLists) {
  const std::string cut = R"("Process Group Name": "1", "Group size": 64, "Process Group Ranks": "[0, 2, 4, ...]")";
  const Recorded read = ReadTrace(Trace(KernelRow("ncclDevKernel_AllReduce(x)", cut)));
  EXPECT_TRUE(read.meta.groups.at(0).ranks.empty());
  EXPECT_EQ(read.Name(read.Comm(0).pg_ranks), "[0, 2, 4, ...]");
  const Recorded strided = ReadTrace(
      Trace(KernelRow("ncclDevKernel_AllReduce(x)", cut + R"(, "Global rank start": 0, "Global rank stride": 2)")));
  ASSERT_EQ(strided.meta.groups.at(0).ranks.size(), 64U);
  EXPECT_EQ(strided.meta.groups[0].ranks.back(), 126);
}

TEST(KinetoArgs, AWaitIsNoIssue) {
  const Recorded read = ReadTrace(Trace(Row("cpu_op", "record_param_comms", R"("Collective name": "wait")")));
  EXPECT_EQ(read.rows.events[0].kind, EventKind::kCommWait);
  EXPECT_EQ(read.rows.events[0].detail, 0U);
}

// A kernel that no rule knows but whose arguments name a collective communicates.
TEST(KinetoArgs, ArgumentsTellCommunication) {
  const Recorded read = ReadTrace(Trace(KernelRow("zorp", R"("Collective name": "allreduce")")));
  EXPECT_EQ(read.rows.events[0].kind, EventKind::kCommKernel);
  EXPECT_EQ(read.rows.events[0].flags, 0);
  EXPECT_EQ(read.log.Count("unknown-kernel"), 0);
  EXPECT_EQ(ReadTrace(Trace(KernelRow("zorp", ""))).log.Count("unknown-kernel"), 1);
}

TEST(KinetoArgs, GlooRows) {
  const Recorded read = ReadTrace(
      Trace(Row("user_annotation", "gloo:all_reduce", R"("Input Dims": [[397322]], "Input type": ["float"])") + "," +
            Row("user_annotation", "gloo:send", R"("Input Dims": [[8, 4], [2]], "Input type": ["double", "long"])") +
            "," + Row("cpu_op", "c10d::send", R"("Concrete Inputs": ["", "", "3", "0"])") + "," +
            Row("user_annotation", "nccl:recv 3<-0")));
  EXPECT_EQ(read.Comm(0).op, CommOp::kAllReduce);
  EXPECT_EQ(read.Comm(0).bytes, 1'589'288);  // 397,322 x 4
  EXPECT_EQ(read.Comm(1).bytes, 272);        // 8 x 4 x 8 + 2 x 8
  EXPECT_EQ(read.rows.events[1].kind, EventKind::kCommHost);
  EXPECT_EQ(read.Comm(2).peer, 3);
  EXPECT_EQ(read.rows.events[3].kind, EventKind::kCommIssue);
}

// Lists of tensors do not tell their type; the row's own "dtype" does, where the profiler wrote one.
TEST(KinetoArgs, ListsOfTensors) {
  const std::string list = R"("Input Dims": [[[2, 32, 64]], [], []], "Input type": ["TensorList", "Scalar", "Scalar"])";
  const Recorded read = ReadTrace(Trace(Row("cpu_op", "c10d::allreduce_", list + R"(, "dtype": "Float")") + "," +
                                        Row("cpu_op", "c10d::allreduce_", list)));
  EXPECT_EQ(read.Comm(0).bytes, 16'384);  // 2 x 32 x 64 x 4
  EXPECT_EQ(read.Comm(1).bytes, -1);
}

TEST(KinetoArgs, TheNameAloneTells) {
  const Recorded read = ReadTrace(Trace(KernelRow("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", "") + "," +
                                        Row("user_annotation", "gloo:send") + "," +
                                        Row("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)")));
  EXPECT_EQ(read.Comm(0).op, CommOp::kAllReduce);
  EXPECT_EQ(read.Name(read.Comm(0).algorithm), "RING_LL");
  EXPECT_EQ(read.Comm(0).bytes, -1);
  EXPECT_EQ(read.Comm(1).op, CommOp::kSend);
  EXPECT_EQ(read.Name(read.Copy(2).memory_kind), "DtoH Pageable");
  EXPECT_EQ(read.Copy(2).bytes, -1);
}

}  // namespace
}  // namespace headway::trace::kineto
