// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { orderByOwn, ownTimes, placeBars, slotAt, ticks } from '../src/bars_model';
import type { StackedBars } from '../src/doc';

const bars: StackedBars = {
  bars: [0, 1, 2].map((rank) => ({ rank, label: '', mark: 'none' })),
  series: [
    { name: 'compute', time_class: 'compute', own: true, values: [10, 30, 10], term: '' },
    { name: 'host', time_class: 'host', own: true, values: [1, 1, 1], term: '' },
    { name: 'waiting', time_class: 'wait', own: false, values: [20, 0, 20], term: '' },
  ],
  reference: 0,
};

test('own time leaves waiting out, and orders the bars; equal ones keep their order', () => {
  assert.deepEqual(ownTimes(bars), [11, 31, 11]);
  assert.deepEqual(orderByOwn(bars), [1, 0, 2]);
});

test('few bars share the width evenly', () => {
  const slots = placeBars([1, 0, 2], 150, 12, 14, 2, new Set());
  assert.deepEqual(slots.map((s) => [s.bar, s.x, s.width]), [[1, 0, 50], [0, 50, 50], [2, 100, 50]]);
  // Very few do not grow into walls.
  assert.deepEqual(placeBars([0], 300, 12, 14, 2, new Set()).map((s) => s.width), [72]);
});

test('of a thousand bars none is lost, the first and the marked ones stay wide', () => {
  const order = Array.from({ length: 1000 }, (_, i) => i);
  const slots = placeBars(order, 700, 12, 14, 2, new Set([500]));
  assert.equal(slots.reduce((sum, s) => sum + s.merged, 0), 1000);
  const wide = slots.filter((s) => s.width === 14).map((s) => s.bar);
  assert.deepEqual(wide, [...order.slice(0, 12), 500]);
  let x = 0;
  for (const slot of slots) {
    assert.ok(Math.abs(slot.x - x) < 1e-6);
    x += slot.width;
  }
  assert.ok(x <= 700 + 1e-6);
});

test('a point finds its bar', () => {
  const slots = placeBars([5, 6, 7], 150, 12, 14, 2, new Set());
  assert.equal(slotAt(slots, 0)?.bar, 5);
  assert.equal(slotAt(slots, 99)?.bar, 6);
  assert.equal(slotAt(slots, 150), null);
  assert.equal(slotAt(slots, -1), null);
});

test('ticks are round', () => {
  assert.deepEqual(ticks(430e6, 4, 1e6), [0, 200e6, 400e6]);
  assert.deepEqual(ticks(0, 4, 1e6), [0]);
});
