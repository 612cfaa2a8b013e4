// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Timeline } from '../src/doc';
import { axisTicks, clampView, indexLanes, pan, rectAt, visible, zoom } from '../src/timeline_model';

function timeline(rects: [number, number, number][]): Timeline {
  return {
    finding: '', origin: '0', length: 1_000_000, clock_residual: 0, legend: true, names: ['a'],
    lanes: [{ owner: 'rank 0', label: 'compute', rank: 0, mark: 'none' }, { owner: 'rank 0', label: 'host', rank: 0, mark: 'none' }],
    rects: {
      lane: rects.map((r) => r[0]), start: rects.map((r) => r[1]), duration: rects.map((r) => r[2]),
      time_class: rects.map(() => 0), name: rects.map(() => 0), mark: null,
    },
    arrows: [], ticks: [],
  };
}

test('zoom keeps the time under the pointer, and stays inside', () => {
  assert.deepEqual(zoom({ from: 0, to: 1_000_000 }, 0.5, 250_000, 1_000_000), { from: 125_000, to: 625_000 });
  assert.deepEqual(zoom({ from: 100, to: 900_000 }, 100, 500, 1_000_000), { from: 0, to: 1_000_000 });
  const narrow = zoom({ from: 0, to: 2_000 }, 0.01, 1_000, 1_000_000);
  assert.equal(narrow.to - narrow.from, 1_000);
});

test('pan stops at the ends', () => {
  assert.deepEqual(pan({ from: 0, to: 500_000 }, -0.5, 1_000_000), { from: 0, to: 500_000 });
  assert.deepEqual(pan({ from: 400_000, to: 900_000 }, 1, 1_000_000), { from: 500_000, to: 1_000_000 });
  assert.deepEqual(clampView({ from: -5, to: 5_000_000 }, 1_000), { from: 0, to: 1_000 });
});

test('a long rectangle that began before the view is still in it', () => {
  const t = timeline([[0, 0, 900_000], [0, 10, 5], [0, 20, 5], [0, 950_000, 10], [1, 0, 1]]);
  const lanes = indexLanes(t);
  const [first, last] = visible(lanes[0], t, { from: 500_000, to: 600_000 });
  const shown = lanes[0].rects.slice(first, last);
  assert.ok(shown.includes(0));
  assert.ok(!shown.includes(3));
});

test('the pointer finds the innermost rectangle', () => {
  const t = timeline([[0, 0, 900_000], [0, 400_000, 1_000], [1, 100, 10]]);
  const lanes = indexLanes(t);
  assert.equal(rectAt(lanes[0], t, 400_500, 0), 1);
  assert.equal(rectAt(lanes[0], t, 300_000, 0), 0);
  assert.equal(rectAt(lanes[0], t, 999_000, 0), -1);
  assert.equal(rectAt(lanes[1], t, 113, 5), 2);  // 3 ns behind its end, within the slack
});

test('axis ticks are round and inside', () => {
  assert.deepEqual(axisTicks({ from: 150, to: 1_050 }, 4), [500, 1_000]);
  const hours = axisTicks({ from: 0, to: 8 * 3600e9 }, 8);
  assert.equal(hours[1], 3600e9);
});
