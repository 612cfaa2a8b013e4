// SPDX-License-Identifier: Apache-2.0
#include "report/json_renderer.h"

#include <gtest/gtest.h>

namespace headway::report {
namespace {

FindingsDocument Job() {
  FindingsDocument document;
  document.job = {.world_size = 2,
                  .ranks_read = {0, 1},
                  .hosts = {"n0"},
                  .first_step = 101,
                  .last_step = 102,
                  .window = 800'000'000,
                  .frameworks = {"PyTorch 2.9"}};
  document.step_time.median = 412'000'000;
  document.step_time.p95 = 466'000'000;
  document.step_time.breakdown = {
      .compute = 1, .memory = 2, .comm_wait = 3, .comm_transfer = 4, .host = 5, .input = 6, .idle = 7, .bubble = 8};
  document.step_time.replay_error = 0.0125;
  document.steps = {101, 102};
  Finding finding;
  finding.id = "slow-link-0-1";
  finding.cause = "slow-link";
  finding.severity = Severity::kWarning;
  finding.confidence = Confidence::kLikely;
  finding.confidence_reason = "two peers";
  finding.scope.ranks = {0, 1};
  finding.scope.links = {{0, 1}};
  finding.when = {WhenKind::kIntermittent, {102}};
  finding.recoverable_per_step = 81'000'000;
  finding.worst_step = 84'000'000;
  finding.cost_by_step = {0, 84'000'000};
  finding.headline = "link 0 -> 1";
  finding.sentence = "Says \"slow\" <b>";
  finding.evidence = {{"busbw", "2 GB/s", "12 GB/s", "", "4 calls"}};
  finding.suggestion = "look at the cable";
  document.findings = {finding};
  document.not_checked = {{"counters", "none"}};
  document.data_quality = {.ranks_missing = {},
                           .events = 7,
                           .repaired = {{"control-character", 3}},
                           .dropped = {},
                           .unknown_time_share = 0.003,
                           .clock_residual = std::nullopt,
                           .clocks = {{.host = "h2",
                                       .ranks = {1},
                                       .offset = -50 * kMillisecond,
                                       .drift_ppm = 12.5,
                                       .reference = kSecond,
                                       .residual = 1'500},
                                      {.ranks = {2}}},
                           .gpu_events = "all",
                           .last_step = "keep"};
  return document;
}

// Every field of the contract, in its order; what is not known is null, what is not there an empty list.
TEST(JsonRenderer, WholeDocument) {
  EXPECT_EQ(RenderFindingsJson(Job()), R"({
  "version": 1,
  "job": {
    "world_size": 2,
    "ranks_read": [0, 1],
    "hosts": ["n0"],
    "steps": [101, 102],
    "window_ns": 800000000,
    "frameworks": ["PyTorch 2.9"]
  },
  "step_time": {
    "median_ns": 412000000,
    "p95_ns": 466000000,
    "breakdown_ns": {
      "compute": 1,
      "memory": 2,
      "comm_wait": 3,
      "comm_transfer": 4,
      "host": 5,
      "input": 6,
      "idle": 7,
      "bubble": 8
    },
    "replay_error": 0.012500
  },
  "steps": [101, 102],
  "findings": [
    {
      "id": "slow-link-0-1",
      "cause": "slow-link",
      "severity": "warning",
      "confidence": "likely",
      "confidence_reason": "two peers",
      "scope": {
        "ranks": [0, 1],
        "hosts": [],
        "devices": [],
        "links": [{"from": 0, "to": 1}],
        "stage": null,
        "function": null,
        "group": null
      },
      "when": {
        "kind": "intermittent",
        "steps": [102]
      },
      "victims": [],
      "recoverable_ns_per_step": 81000000,
      "worst_step_ns": 84000000,
      "cost_ns_by_step": [0, 84000000],
      "headline": "link 0 -> 1",
      "sentence": "Says \"slow\" <b>",
      "evidence": [
        {
          "metric": "busbw",
          "value": "2 GB/s",
          "expected": "12 GB/s",
          "peers": "",
          "source": "4 calls"
        }
      ],
      "suggestion": "look at the cable",
      "edit": null
    }
  ],
  "not_checked": [
    {
      "what": "counters",
      "why": "none"
    }
  ],
  "data_quality": {
    "ranks_missing": [],
    "events": 7,
    "repaired": {"control-character": 3},
    "dropped": {},
    "unknown_time_share": 0.003000,
    "clock_residual_ns": null,
    "clocks": [
      {
        "host": "h2",
        "ranks": [1],
        "offset_ns": -50000000,
        "drift_ppm": 12.500000,
        "reference_ns": 1000000000,
        "residual_ns": 1500
      },
      {
        "host": null,
        "ranks": [2],
        "offset_ns": 0,
        "drift_ppm": 0.000000,
        "reference_ns": 0,
        "residual_ns": null
      }
    ],
    "gpu_events": "all",
    "last_step": "keep"
  }
}
)");
}

}  // namespace
}  // namespace headway::report
