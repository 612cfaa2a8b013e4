// test/heat_model.test.ts
import assert from "node:assert/strict";
import { test } from "node:test";

// src/heat_model.ts
function orderBy(labels, rows) {
  if (!labels) return { order: Array.from({ length: rows }, (_, i) => i), spans: [] };
  const groups = /* @__PURE__ */ new Map();
  for (let i = 0; i < rows; i++) {
    const members = groups.get(labels[i]);
    if (members) members.push(i);
    else groups.set(labels[i], [i]);
  }
  const names = [...groups.keys()].sort(naturally);
  const order = [];
  const spans = [];
  for (const name of names) {
    const from = order.length;
    order.push(...groups.get(name));
    spans.push({ label: name, from, to: order.length });
  }
  return { order, spans };
}
var kCollator = new Intl.Collator("en", { numeric: true });
function naturally(a, b) {
  return kCollator.compare(a, b) || (a < b ? -1 : a > b ? 1 : 0);
}
function binOf(position2, window, bins) {
  return Math.min(bins - 1, Math.floor((position2 - window.from) * bins / (window.to - window.from)));
}
function binWorst(values, columns, order, ranks, steps, maxAcross, maxDown, higherIsWorse) {
  const across = Math.max(1, Math.min(ranks.to - ranks.from, Math.floor(maxAcross)));
  const down = Math.max(1, Math.min(steps.to - steps.from, Math.floor(maxDown)));
  const value = new Float64Array(across * down).fill(NaN);
  const row = new Int32Array(across * down).fill(-1);
  const column = new Int32Array(across * down).fill(-1);
  for (let position2 = ranks.from; position2 < ranks.to; position2++) {
    const x = binOf(position2, ranks, across);
    const source = order[position2];
    for (let step = steps.from; step < steps.to; step++) {
      const cell = values[source * columns + step];
      if (cell === null || Number.isNaN(cell)) continue;
      const at = binOf(step, steps, down) * across + x;
      const best = value[at];
      if (Number.isNaN(best) || (higherIsWorse ? cell > best : cell < best)) {
        value[at] = cell;
        row[at] = source;
        column[at] = step;
      }
    }
  }
  return { across, down, value, row, column };
}
function domainOf(values, higherIsWorse, leastSpan = 0) {
  const sorted = Float64Array.from(values.filter((v) => v !== null && !Number.isNaN(v))).sort();
  if (sorted.length === 0) return { low: 0, high: 1, clipped: false };
  const at = (q) => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))];
  const sign = higherIsWorse ? 1 : -1;
  const median = at(0.5);
  const good = higherIsWorse ? at(0.02) : at(0.98);
  const worst = higherIsWorse ? sorted[sorted.length - 1] : sorted[0];
  const tail = Math.abs((higherIsWorse ? at(0.99) : at(0.01)) - median);
  const limit = median + sign * 8 * tail;
  const clipped = tail > 0 && sign * (worst - limit) > 0;
  const high = clipped ? limit : worst;
  const span = Math.max(leastSpan, Math.abs(median) * 0.02, 1e-9);
  if (sign * (high - good) >= span) return { low: good, high, clipped };
  const widened = good + sign * span;
  return { low: good, high: widened, clipped: sign * (worst - widened) > 0 };
}
function position(value, domain) {
  return Math.min(1, Math.max(0, (value - domain.low) / (domain.high - domain.low)));
}

// test/heat_model.test.ts
var everything = (n) => ({ from: 0, to: n });
test("a bin shows its worst rank, not the mean", () => {
  const values = Array.from({ length: 1e3 }, (_, i) => i === 537 ? 90 : 10);
  const { order } = orderBy(null, 1e3);
  const bins = binWorst(values, 1, order, everything(1e3), everything(1), 100, 10, true);
  assert.equal(bins.across, 100);
  assert.equal(bins.value[53], 90);
  assert.equal(bins.row[53], 537);
  assert.equal(bins.value[52], 10);
});
test("where low is bad the lowest stands for its bin", () => {
  const bins = binWorst([5, 1, 9, 7], 1, [0, 1, 2, 3], everything(4), everything(1), 2, 1, false);
  assert.deepEqual([...bins.value], [1, 7]);
  assert.deepEqual([...bins.row], [1, 3]);
});
test("steps are binned too, and missing cells are no values", () => {
  const bins = binWorst([1, 2, 3, 4, null, null, 30, NaN], 4, [0, 1], everything(2), everything(4), 10, 2, true);
  assert.deepEqual([bins.across, bins.down], [2, 2]);
  assert.equal(bins.value[0], 2);
  assert.ok(Number.isNaN(bins.value[1]));
  assert.equal(bins.row[1], -1);
  assert.equal(bins.value[3], 30);
  assert.equal(bins.column[3], 2);
});
test("every position falls in exactly one bin", () => {
  for (const [n, most] of [[1e3, 337], [7, 3], [64, 64], [3, 100]]) {
    const values = Array.from({ length: n }, () => 1);
    const bins = binWorst(values, 1, orderBy(null, n).order, everything(n), everything(1), most, 1, true);
    assert.equal(bins.across, Math.min(n, most));
    assert.ok([...bins.value].every((v) => v === 1), `${n} in ${most}: no bin is empty`);
  }
});
test("groups are in natural order and keep their members together", () => {
  const { order, spans } = orderBy(["n10", "n2", "n10", "n2"], 4);
  assert.deepEqual(order, [1, 3, 0, 2]);
  assert.deepEqual(spans, [{ label: "n2", from: 0, to: 2 }, { label: "n10", from: 2, to: 4 }]);
});
test("one cell far out does not wash out the rest", () => {
  const values = Array.from({ length: 1e3 }, (_, i) => i === 3 ? 1e4 : 100 + i % 10);
  const domain = domainOf(values, true);
  assert.ok(domain.clipped);
  assert.equal(domain.high, 105 + 8 * (109 - 105));
  assert.equal(position(1e4, domain), 1);
});
test("noise stays pale: the scale covers at least the span asked for", () => {
  const domain = domainOf([300, 301, 302, 303], true, 31);
  assert.equal(domain.low, 300);
  assert.equal(domain.high, 331);
  assert.equal(domain.clipped, false);
  assert.ok(position(303, domain) < 0.1);
});
test("equal values, no values and low-is-bad have a scale too", () => {
  assert.ok(domainOf([5, 5, 5], true).high > 5);
  assert.deepEqual(domainOf([null, NaN], true), { low: 0, high: 1, clipped: false });
  const low = domainOf([10, 9, 8, 1], false);
  assert.equal(position(10, low), 0);
  assert.equal(position(1, low), 1);
});
