// test/timeline_model.test.ts
import assert from "node:assert/strict";
import { test } from "node:test";

// src/timeline_model.ts
var kNarrowest = 1e3;
function clampView(view, length) {
  const width = Math.min(Math.max(view.to - view.from, kNarrowest), length);
  const from = Math.min(Math.max(view.from, 0), length - width);
  return { from, to: from + width };
}
function zoom(view, factor, at, length) {
  return clampView({ from: at - (at - view.from) * factor, to: at + (view.to - at) * factor }, length);
}
function pan(view, share, length) {
  const by = (view.to - view.from) * share;
  return clampView({ from: view.from + by, to: view.to + by }, length);
}
function indexLanes(timeline2) {
  const { lane, start, duration } = timeline2.rects;
  const lanes = timeline2.lanes.map(() => ({ rects: [], latestEnd: [] }));
  for (let i = 0; i < lane.length; i++) lanes[lane[i]]?.rects.push(i);
  for (const index of lanes) {
    index.rects.sort((a, b) => start[a] - start[b] || duration[b] - duration[a] || a - b);
    let latest = -Infinity;
    for (const i of index.rects) {
      latest = Math.max(latest, start[i] + duration[i]);
      index.latestEnd.push(latest);
    }
  }
  return lanes;
}
function visible(index, timeline2, view) {
  const first = lowerBound(index.rects.length, (k) => index.latestEnd[k] < view.from);
  const last = lowerBound(index.rects.length, (k) => timeline2.rects.start[index.rects[k]] <= view.to);
  return [first, last];
}
function lowerBound(n, before) {
  let low = 0;
  let high = n;
  while (low < high) {
    const middle = low + high >> 1;
    if (before(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}
function rectAt(index, timeline2, time, slack) {
  const { start, duration } = timeline2.rects;
  const [first, last] = visible(index, timeline2, { from: time - slack, to: time + slack });
  for (let k = last - 1; k >= first; k--) {
    const i = index.rects[k];
    if (start[i] - slack <= time && time <= start[i] + duration[i] + slack) return i;
  }
  return -1;
}
function axisTicks(view, wanted) {
  const raw = (view.to - view.from) / wanted;
  const power = 10 ** Math.floor(Math.log10(raw));
  const steps = raw >= 6e10 ? [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 10080].map((minutes) => minutes * 6e10) : [1, 2, 5, 10].map((m) => m * power);
  const step = steps.find((s) => s >= raw) ?? raw;
  const out = [];
  for (let t = Math.ceil(view.from / step) * step; t <= view.to; t += step) out.push(t);
  return out;
}

// test/timeline_model.test.ts
function timeline(rects) {
  return {
    finding: "",
    origin: "0",
    length: 1e6,
    clock_residual: 0,
    legend: true,
    names: ["a"],
    lanes: [{ owner: "rank 0", label: "compute", rank: 0, mark: "none" }, { owner: "rank 0", label: "host", rank: 0, mark: "none" }],
    rects: {
      lane: rects.map((r) => r[0]),
      start: rects.map((r) => r[1]),
      duration: rects.map((r) => r[2]),
      time_class: rects.map(() => 0),
      name: rects.map(() => 0),
      mark: null
    },
    arrows: [],
    ticks: []
  };
}
test("zoom keeps the time under the pointer, and stays inside", () => {
  assert.deepEqual(zoom({ from: 0, to: 1e6 }, 0.5, 25e4, 1e6), { from: 125e3, to: 625e3 });
  assert.deepEqual(zoom({ from: 100, to: 9e5 }, 100, 500, 1e6), { from: 0, to: 1e6 });
  const narrow = zoom({ from: 0, to: 2e3 }, 0.01, 1e3, 1e6);
  assert.equal(narrow.to - narrow.from, 1e3);
});
test("pan stops at the ends", () => {
  assert.deepEqual(pan({ from: 0, to: 5e5 }, -0.5, 1e6), { from: 0, to: 5e5 });
  assert.deepEqual(pan({ from: 4e5, to: 9e5 }, 1, 1e6), { from: 5e5, to: 1e6 });
  assert.deepEqual(clampView({ from: -5, to: 5e6 }, 1e3), { from: 0, to: 1e3 });
});
test("a long rectangle that began before the view is still in it", () => {
  const t = timeline([[0, 0, 9e5], [0, 10, 5], [0, 20, 5], [0, 95e4, 10], [1, 0, 1]]);
  const lanes = indexLanes(t);
  const [first, last] = visible(lanes[0], t, { from: 5e5, to: 6e5 });
  const shown = lanes[0].rects.slice(first, last);
  assert.ok(shown.includes(0));
  assert.ok(!shown.includes(3));
});
test("the pointer finds the innermost rectangle", () => {
  const t = timeline([[0, 0, 9e5], [0, 4e5, 1e3], [1, 100, 10]]);
  const lanes = indexLanes(t);
  assert.equal(rectAt(lanes[0], t, 400500, 0), 1);
  assert.equal(rectAt(lanes[0], t, 3e5, 0), 0);
  assert.equal(rectAt(lanes[0], t, 999e3, 0), -1);
  assert.equal(rectAt(lanes[1], t, 113, 5), 2);
});
test("axis ticks are round and inside", () => {
  assert.deepEqual(axisTicks({ from: 150, to: 1050 }, 4), [500, 1e3]);
  const hours = axisTicks({ from: 0, to: 8 * 36e11 }, 8);
  assert.equal(hours[1], 36e11);
});
