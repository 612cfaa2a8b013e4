// test/bars_model.test.ts
import assert from "node:assert/strict";
import { test } from "node:test";

// src/bars_model.ts
function ownTimes(bars2) {
  const own = bars2.bars.map(() => 0);
  for (const series of bars2.series) if (series.own) series.values.forEach((v, i) => {
    own[i] += v;
  });
  return own;
}
function orderByOwn(bars2) {
  const own = ownTimes(bars2);
  return own.map((_, i) => i).sort((a, b) => own[b] - own[a] || a - b);
}
var kWidest = 72;
function placeBars(order, width, head, headWidth, minWidth, keep) {
  const n = order.length;
  if (n === 0 || width <= 0) return [];
  if (width / n >= headWidth * 0.6) {
    const each = Math.min(width / n, kWidest);
    return order.map((bar, i) => ({ bar, x: i * each, width: each, merged: 1 }));
  }
  const wide = new Set(order.slice(0, head));
  for (const bar of keep) if (wide.size < head * 2) wide.add(bar);
  const rest = n - wide.size;
  const restWidth = Math.max(0, width - wide.size * headWidth);
  const slots = Math.max(1, Math.min(rest, Math.floor(restWidth / minWidth)));
  const slotWidth = restWidth / slots;
  const out = [];
  let x = 0;
  let seen = 0;
  let last = -1;
  let open = null;
  for (const bar of order) {
    if (wide.has(bar)) {
      out.push({ bar, x, width: headWidth, merged: 1 });
      x += headWidth;
      continue;
    }
    const slot = Math.floor(seen++ * slots / rest);
    if (slot === last) {
      open.merged++;
      continue;
    }
    last = slot;
    open = { bar, x, width: slotWidth, merged: 1 };
    out.push(open);
    x += slotWidth;
  }
  return out;
}
function slotAt(slots, x) {
  let low = 0;
  let high = slots.length - 1;
  while (low <= high) {
    const middle = low + high >> 1;
    const slot = slots[middle];
    if (x < slot.x) high = middle - 1;
    else if (x >= slot.x + slot.width) low = middle + 1;
    else return slot;
  }
  return null;
}
function ticks(top, wanted, divisor) {
  if (!(top > 0)) return [0];
  const raw = top / divisor / wanted;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw) * divisor;
  const out = [];
  for (let i = 0; i * step <= top * 1.0001; i++) out.push(i * step);
  return out;
}

// test/bars_model.test.ts
var bars = {
  bars: [0, 1, 2].map((rank) => ({ rank, label: "", mark: "none" })),
  series: [
    { name: "compute", time_class: "compute", own: true, values: [10, 30, 10], term: "" },
    { name: "host", time_class: "host", own: true, values: [1, 1, 1], term: "" },
    { name: "waiting", time_class: "wait", own: false, values: [20, 0, 20], term: "" }
  ],
  reference: 0
};
test("own time leaves waiting out, and orders the bars; equal ones keep their order", () => {
  assert.deepEqual(ownTimes(bars), [11, 31, 11]);
  assert.deepEqual(orderByOwn(bars), [1, 0, 2]);
});
test("few bars share the width evenly", () => {
  const slots = placeBars([1, 0, 2], 150, 12, 14, 2, /* @__PURE__ */ new Set());
  assert.deepEqual(slots.map((s) => [s.bar, s.x, s.width]), [[1, 0, 50], [0, 50, 50], [2, 100, 50]]);
  assert.deepEqual(placeBars([0], 300, 12, 14, 2, /* @__PURE__ */ new Set()).map((s) => s.width), [72]);
});
test("of a thousand bars none is lost, the first and the marked ones stay wide", () => {
  const order = Array.from({ length: 1e3 }, (_, i) => i);
  const slots = placeBars(order, 700, 12, 14, 2, /* @__PURE__ */ new Set([500]));
  assert.equal(slots.reduce((sum, s) => sum + s.merged, 0), 1e3);
  const wide = slots.filter((s) => s.width === 14).map((s) => s.bar);
  assert.deepEqual(wide, [...order.slice(0, 12), 500]);
  let x = 0;
  for (const slot of slots) {
    assert.ok(Math.abs(slot.x - x) < 1e-6);
    x += slot.width;
  }
  assert.ok(x <= 700 + 1e-6);
});
test("a point finds its bar", () => {
  const slots = placeBars([5, 6, 7], 150, 12, 14, 2, /* @__PURE__ */ new Set());
  assert.equal(slotAt(slots, 0)?.bar, 5);
  assert.equal(slotAt(slots, 99)?.bar, 6);
  assert.equal(slotAt(slots, 150), null);
  assert.equal(slotAt(slots, -1), null);
});
test("ticks are round", () => {
  assert.deepEqual(ticks(43e7, 4, 1e6), [0, 2e8, 4e8]);
  assert.deepEqual(ticks(0, 4, 1e6), [0]);
});
