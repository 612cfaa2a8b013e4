// SPDX-License-Identifier: Apache-2.0
#include "trace/name_rules.h"

#include <gtest/gtest.h>

namespace headway::trace {
namespace {

using Op = CommOp;
using Kind = EventKind;

const NameRules& Rules() {
  static const auto rules = NameRules::BuiltIn();
  return *rules;
}

struct KernelCase {
  const char* name;
  Kind kind;
  Op op;
  const char* algorithm;
};

// Names as the libraries write them, from traces and their sources.
TEST(NameRules, CommunicationKernels) {
  const KernelCase cases[] = {
      {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)", Kind::kCommKernel,
       Op::kAllReduce, "RING_LL"},
      {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, unsigned long, ncclWork*)", Kind::kCommKernel,
       Op::kAllReduce, "RING_LL"},
      {"ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", Kind::kCommKernel, Op::kAllGather,
       "RING_LL"},
      {"ncclDevKernel_AllReduce_Sum_bf16_TREE_LL128(ncclDevComm*)", Kind::kCommKernel, Op::kAllReduce, "TREE_LL128"},
      {"ncclDevKernel_ReduceScatter_Sum_f32_NVLS_SIMPLE(ncclDevComm*)", Kind::kCommKernel, Op::kReduceScatter,
       "NVLS_SIMPLE"},
      {"ncclDevKernel_AllReduce_Sum_f32_COLLNET_DIRECT_SIMPLE()", Kind::kCommKernel, Op::kAllReduce,
       "COLLNET_DIRECT_SIMPLE"},
      {"ncclDevKernel_SendRecv(ncclDevComm*, unsigned long, ncclWork*)", Kind::kCommKernel, Op::kSendRecv, ""},
      {"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*)", Kind::kCommKernel, Op::kSendRecv, "RING_SIMPLE"},
      {"ncclDevKernel_Broadcast_RING_LL(ncclDevComm*)", Kind::kCommKernel, Op::kBroadcast, "RING_LL"},
      {"ncclDevKernel_Reduce_Sum_f32_RING_SIMPLE(ncclDevComm*)", Kind::kCommKernel, Op::kReduce, "RING_SIMPLE"},
      {"ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)", Kind::kCommKernel, Op::kUnknown, ""},
      {"ncclBroadcastRingLLKernel_copy_i8(ncclColl)", Kind::kCommKernel, Op::kBroadcast, "RING_LL"},
      {"ncclAllReduceTreeLLKernel_sum_f32(ncclColl)", Kind::kCommKernel, Op::kAllReduce, "TREE_LL"},
      {"rcclGenericKernel", Kind::kCommKernel, Op::kUnknown, ""},
      {"hcom_allReduce__844_2_1@group", Kind::kCommKernel, Op::kAllReduce, ""},
      {"hccl::reduce_scatter", Kind::kCommKernel, Op::kReduceScatter, ""},
      {"oneccl_allgatherv_large", Kind::kCommKernel, Op::kAllGather, ""},
      {"void vllm::cross_device_reduce_2stage<__nv_bfloat16, 8>(vllm::RankData*)", Kind::kCommKernel, Op::kAllReduce,
       ""},
      {"void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*)", Kind::kCommKernel,
       Op::kAllReduce, ""},
      {"void deep_ep::intranode::dispatch<8, 768, 8192>(int4*)", Kind::kCommKernel, Op::kAllToAll, ""},
      {"void deep_ep::internode::combine<8>(int4*)", Kind::kCommKernel, Op::kAllToAll, ""},
      {"NCCLDEVKERNEL_ALLREDUCE_SUM_F32_RING_LL()", Kind::kCommKernel, Op::kAllReduce, "RING_LL"},
      {"volta_sgemm_64x64_nt", Kind::kKernel, Op::kUnknown, ""},
      {"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>", Kind::kKernel, Op::kUnknown, ""},
      {"triton_poi_fused_add_cos_sin_0", Kind::kKernel, Op::kUnknown, ""},
  };
  for (const KernelCase& c : cases) {
    const NameVerdict verdict = Rules().Classify(RowClass::kKernel, c.name);
    EXPECT_EQ(verdict.kind, c.kind) << c.name;
    EXPECT_EQ(verdict.op, c.op) << c.name << " is " << ToString(verdict.op);
    EXPECT_EQ(verdict.algorithm, c.algorithm) << c.name;
    EXPECT_EQ(verdict.flags, 0) << c.name;
  }
}

TEST(NameRules, UnknownKernelsCountAsComputeAndSaySo) {
  const NameVerdict verdict = Rules().Classify(RowClass::kKernel, "zorp_blink");
  EXPECT_EQ(verdict.kind, Kind::kKernel);
  EXPECT_EQ(verdict.flags, kFlagUnknownName);
}

struct HostCase {
  RowClass row;
  const char* name;
  Kind kind;
  Op op;
  int flags;
};

TEST(NameRules, HostRows) {
  const HostCase cases[] = {
      {RowClass::kOperator, "aten::mm", Kind::kCpuOp, Op::kUnknown, 0},
      {RowClass::kOperator, "autograd::engine::evaluate_function: AddmmBackward0", Kind::kCpuOp, Op::kUnknown,
       kFlagContainer},
      {RowClass::kAnnotation, "ProfilerStep#12", Kind::kStep, Op::kUnknown, kFlagContainer},
      {RowClass::kOperator, "ProfilerStep#12", Kind::kStep, Op::kUnknown, kFlagContainer},  // torch 1.8
      {RowClass::kAnnotation, "Optimizer.step#SGD.step", Kind::kOptimizer, Op::kUnknown, kFlagContainer},
      {RowClass::kAnnotation, "Optimizer.zero_grad#SGD.zero_grad", Kind::kAnnotation, Op::kUnknown, kFlagContainer},
      {RowClass::kAnnotation, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", Kind::kDataLoader,
       Op::kUnknown, 0},
      {RowClass::kAnnotation, "FSDP::all_gather (blocks.0)", Kind::kAnnotation, Op::kUnknown, kFlagContainer},
      {RowClass::kAnnotation, "my region", Kind::kAnnotation, Op::kUnknown, kFlagContainer},
      {RowClass::kAnnotation, "gloo:all_reduce", Kind::kCommHost, Op::kAllReduce, 0},
      {RowClass::kOperator, "gloo:broadcast", Kind::kCommHost, Op::kBroadcast, 0},
      {RowClass::kAnnotation, "gloo:send", Kind::kCommHost, Op::kSend, 0},
      {RowClass::kAnnotation, "gloo:recv", Kind::kCommHost, Op::kRecv, 0},
      {RowClass::kAnnotation, "gloo:all_to_all", Kind::kCommHost, Op::kAllToAll, 0},
      {RowClass::kAnnotation, "gloo:something_new", Kind::kCommHost, Op::kUnknown, 0},
      {RowClass::kOperator, "c10d::allreduce_", Kind::kCommIssue, Op::kAllReduce, 0},
      {RowClass::kOperator, "c10d::_allgather_base_", Kind::kCommIssue, Op::kAllGather, 0},
      {RowClass::kOperator, "c10d::_reduce_scatter_base_", Kind::kCommIssue, Op::kReduceScatter, 0},
      {RowClass::kOperator, "c10d::alltoall_base_", Kind::kCommIssue, Op::kAllToAll, 0},
      {RowClass::kOperator, "c10d::broadcast_", Kind::kCommIssue, Op::kBroadcast, 0},
      {RowClass::kOperator, "c10d::barrier", Kind::kCommIssue, Op::kBarrier, 0},
      {RowClass::kOperator, "c10d::send", Kind::kCommIssue, Op::kSend, 0},
      {RowClass::kOperator, "c10d::recv_", Kind::kCommIssue, Op::kRecv, 0},
      {RowClass::kOperator, "_c10d_functional::all_reduce", Kind::kCommIssue, Op::kAllReduce, 0},
      {RowClass::kOperator, "_c10d_functional::wait_tensor", Kind::kCommWait, Op::kUnknown, 0},
      {RowClass::kOperator, "record_param_comms", Kind::kCommIssue, Op::kUnknown, 0},
      {RowClass::kAnnotation, "nccl:all_reduce", Kind::kCommIssue, Op::kAllReduce, 0},
      {RowClass::kAnnotation, "nccl:_all_gather_base", Kind::kCommIssue, Op::kAllGather, 0},
      {RowClass::kAnnotation, "nccl:send 1->2", Kind::kCommIssue, Op::kSend, 0},
      {RowClass::kAnnotation, "nccl:coalesced", Kind::kCommIssue, Op::kCoalesced, 0},
      {RowClass::kOperator, "vllm::all_reduce", Kind::kCommIssue, Op::kAllReduce, 0},
      {RowClass::kPython, "train.py(12): step", Kind::kPython, Op::kUnknown, 0},
      {RowClass::kPython, "<built-in method run_backward of torch._C._EngineBase object>", Kind::kPython, Op::kUnknown,
       kFlagContainer},
      {RowClass::kPython,
       "<built-in method wait of pybind11_builtins.pybind11_detail_function_record_v1_system_libstdcpp object>",
       Kind::kCommWait, Op::kUnknown, 0},
      {RowClass::kPython, "<built-in method wait of Event object>", Kind::kPython, Op::kUnknown, 0},
      {RowClass::kRuntime, "cudaLaunchKernel", Kind::kRuntime, Op::kUnknown, 0},
      {RowClass::kRuntime, "cudaStreamSynchronize", Kind::kRuntimeSync, Op::kUnknown, 0},
      {RowClass::kRuntime, "hipDeviceSynchronize", Kind::kRuntimeSync, Op::kUnknown, 0},
      {RowClass::kRuntime, "cudaMemcpyAsync", Kind::kRuntime, Op::kUnknown, 0},
      {RowClass::kRuntime, "cudaMemcpy", Kind::kRuntimeSync, Op::kUnknown, 0},
      {RowClass::kRuntime, "hipMemcpyWithStream", Kind::kRuntimeSync, Op::kUnknown, 0},
      {RowClass::kRuntime, "cudaGraphLaunch", Kind::kRuntime, Op::kUnknown, kFlagGraphLaunch},
      {RowClass::kRuntime, "hipGraphLaunch", Kind::kRuntime, Op::kUnknown, kFlagGraphLaunch},
      {RowClass::kDeviceAnnotation, "ProfilerStep#12", Kind::kDeviceAnnotation, Op::kUnknown, kFlagContainer},
      {RowClass::kMemcpy, "Memcpy HtoD (Pageable -> Device)", Kind::kMemcpy, Op::kUnknown, kFlagPageable},
      {RowClass::kMemcpy, "Memcpy HtoD (Pinned -> Device)", Kind::kMemcpy, Op::kUnknown, 0},
      {RowClass::kOther, "anything", Kind::kOther, Op::kUnknown, 0},
  };
  for (const HostCase& c : cases) {
    const NameVerdict verdict = Rules().Classify(c.row, c.name);
    EXPECT_EQ(verdict.kind, c.kind) << c.name << " is " << ToString(verdict.kind);
    EXPECT_EQ(verdict.op, c.op) << c.name;
    EXPECT_EQ(verdict.flags, c.flags) << c.name;
  }
}

TEST(NameRules, MemoryKinds) {
  const auto kind = [](const char* name) { return Rules().Classify(RowClass::kMemcpy, name).memory_kind; };
  EXPECT_EQ(kind("Memcpy HtoD (Pageable -> Device)"), "HtoD Pageable");
  EXPECT_EQ(kind("Memcpy DtoH (Device -> Pinned)"), "DtoH Pinned");
  EXPECT_EQ(kind("Memcpy DtoD (Device -> Device)"), "DtoD");
  EXPECT_EQ(kind("CopyDeviceToDevice"), "");
}

TEST(NameRules, CategoriesOfEveryEra) {
  const std::pair<const char*, RowClass> cases[] = {
      {"kernel", RowClass::kKernel},
      {"Kernel", RowClass::kKernel},
      {"gpu_memcpy", RowClass::kMemcpy},
      {"Memcpy", RowClass::kMemcpy},
      {"Memset", RowClass::kMemset},
      {"Runtime", RowClass::kRuntime},
      {"cuda_driver", RowClass::kRuntime},
      {"xpu_runtime", RowClass::kRuntime},
      {"mtia_runtime", RowClass::kRuntime},
      {"mtia_ccp_events", RowClass::kKernel},
      {"hpu_op", RowClass::kRuntime},
      {"privateuse1_runtime", RowClass::kRuntime},
      {"Operator", RowClass::kOperator},
      {"cpu_op", RowClass::kOperator},
      {"user_annotation", RowClass::kAnnotation},
      {"python_function", RowClass::kPython},
      {"overhead", RowClass::kOverhead},
      {"Trace", RowClass::kOther},
  };
  for (const auto& [category, row] : cases) {
    bool known = false;
    EXPECT_EQ(Rules().Category(category, &known), row) << category;
    EXPECT_TRUE(known) << category;
  }
  bool known = true;
  EXPECT_EQ(Rules().Category("fresh_category", &known), RowClass::kOther);
  EXPECT_FALSE(known);
}

TEST(NameRules, SizesAndCollectives) {
  EXPECT_EQ(Rules().ElementSize("Float"), 4);
  EXPECT_EQ(Rules().ElementSize("c10::BFloat16"), 2);
  EXPECT_EQ(Rules().ElementSize("unsigned char"), 1);
  EXPECT_EQ(Rules().ElementSize("Long"), 8);
  EXPECT_EQ(Rules().ElementSize("Float8_e4m3fn"), 1);
  EXPECT_EQ(Rules().ElementSize("TensorList"), 0);
  EXPECT_EQ(Rules().Collective("_allgather_base"), Op::kAllGather);
  EXPECT_EQ(Rules().Collective("all_to_allv"), Op::kAllToAll);
  EXPECT_EQ(Rules().Collective("nonsense"), Op::kUnknown);
  EXPECT_TRUE(Rules().IsWait("wait"));
  EXPECT_FALSE(Rules().IsWait("broadcast"));
}

TEST(NameRules, AUsersFileComesFirst) {
  const auto rules = NameRules::WithExtra(R"(
version: 1
categories: {runtime: [acl_runtime]}
kernels:
  - {kind: comm-kernel, op: all-to-all, match: ["ZORP_*"]}
host:
  - {kind: data-loader, match: ["fetch batch"]}
)",
                                          "my.yaml");
  ASSERT_TRUE(rules.has_value());
  EXPECT_EQ((*rules)->Classify(RowClass::kKernel, "zorp_blink").op, Op::kAllToAll);
  EXPECT_EQ((*rules)->Classify(RowClass::kAnnotation, "fetch batch").kind, Kind::kDataLoader);
  EXPECT_EQ((*rules)->Category("acl_runtime"), RowClass::kRuntime);
  EXPECT_EQ((*rules)->Classify(RowClass::kKernel, "ncclDevKernel_Generic").kind, Kind::kCommKernel);
}

TEST(NameRules, AWrongFileIsRefusedWithItsLine) {
  for (const char* yaml : {"kernels: []", "version: 2", "version: 1\nkernals: []",
                           "version: 1\nkernels: [{match: [a]}]", "version: 1\nkernels: [{kind: nonsense, match: [a]}]",
                           "version: [", "- a", "version: 1\nkernels: [{kind: kernel, op: whirl, match: [a]}]"}) {
    const auto rules = NameRules::WithExtra(yaml, "my.yaml");
    ASSERT_FALSE(rules.has_value()) << yaml;
    EXPECT_EQ(rules.error().code, ErrorCode::kInvalidArgument);
    EXPECT_TRUE(rules.error().where.starts_with("my.yaml")) << rules.error().ToString();
  }
}

TEST(MatchGlob, StarsAndQuestionMarks) {
  EXPECT_TRUE(MatchGlob("*", ""));
  EXPECT_TRUE(MatchGlob("a*c", "abbbc"));
  EXPECT_TRUE(MatchGlob("*all*reduce*", "ncclallreduce"));
  EXPECT_TRUE(MatchGlob("a?c", "abc"));
  EXPECT_TRUE(MatchGlob("*ab", "aab"));
  EXPECT_FALSE(MatchGlob("a?c", "ac"));
  EXPECT_FALSE(MatchGlob("a*c", "abd"));
  EXPECT_FALSE(MatchGlob("", "a"));
}

}  // namespace
}  // namespace headway::trace
