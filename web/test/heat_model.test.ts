// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { binWorst, domainOf, orderBy, position } from '../src/heat_model';

const everything = (n: number) => ({ from: 0, to: n });

test('a bin shows its worst rank, not the mean', () => {
  // 1,000 ranks, one step; rank 537 is bad. In 100 bins of ten it must be the whole value of bin 53.
  const values = Array.from({ length: 1000 }, (_, i) => (i === 537 ? 90 : 10));
  const { order } = orderBy(null, 1000);
  const bins = binWorst(values, 1, order, everything(1000), everything(1), 100, 10, true);
  assert.equal(bins.across, 100);
  assert.equal(bins.value[53], 90);
  assert.equal(bins.row[53], 537);
  assert.equal(bins.value[52], 10);
});

test('where low is bad the lowest stands for its bin', () => {
  const bins = binWorst([5, 1, 9, 7], 1, [0, 1, 2, 3], everything(4), everything(1), 2, 1, false);
  assert.deepEqual([...bins.value], [1, 7]);
  assert.deepEqual([...bins.row], [1, 3]);
});

test('steps are binned too, and missing cells are no values', () => {
  // Two ranks, four steps in two bins; rank 1 has no value in steps 0 and 1.
  const bins = binWorst([1, 2, 3, 4, null, null, 30, NaN], 4, [0, 1], everything(2), everything(4), 10, 2, true);
  assert.deepEqual([bins.across, bins.down], [2, 2]);
  assert.equal(bins.value[0], 2);
  assert.ok(Number.isNaN(bins.value[1]));
  assert.equal(bins.row[1], -1);
  assert.equal(bins.value[3], 30);
  assert.equal(bins.column[3], 2);
});

test('every position falls in exactly one bin', () => {
  for (const [n, most] of [[1000, 337], [7, 3], [64, 64], [3, 100]]) {
    const values = Array.from({ length: n }, () => 1);
    const bins = binWorst(values, 1, orderBy(null, n).order, everything(n), everything(1), most, 1, true);
    assert.equal(bins.across, Math.min(n, most));
    assert.ok([...bins.value].every((v) => v === 1), `${n} in ${most}: no bin is empty`);
  }
});

test('groups are in natural order and keep their members together', () => {
  const { order, spans } = orderBy(['n10', 'n2', 'n10', 'n2'], 4);
  assert.deepEqual(order, [1, 3, 0, 2]);
  assert.deepEqual(spans, [{ label: 'n2', from: 0, to: 2 }, { label: 'n10', from: 2, to: 4 }]);
});

test('one cell far out does not wash out the rest', () => {
  // 999 values from 100 to 109, one of 10,000: the scale ends at median + 8 x (99 % - median).
  const values = Array.from({ length: 1000 }, (_, i) => (i === 3 ? 10_000 : 100 + (i % 10)));
  const domain = domainOf(values, true);
  assert.ok(domain.clipped);
  // The median is 105 (the 500th of 1,000), 99 % is 109.
  assert.equal(domain.high, 105 + 8 * (109 - 105));
  assert.equal(position(10_000, domain), 1);
});

test('noise stays pale: the scale covers at least the span asked for', () => {
  const domain = domainOf([300, 301, 302, 303], true, 31);
  assert.equal(domain.low, 300);
  assert.equal(domain.high, 331);
  assert.equal(domain.clipped, false);
  assert.ok(position(303, domain) < 0.1);
});

test('equal values, no values and low-is-bad have a scale too', () => {
  assert.ok(domainOf([5, 5, 5], true).high > 5);
  assert.deepEqual(domainOf([null, NaN], true), { low: 0, high: 1, clipped: false });
  const low = domainOf([10, 9, 8, 1], false);
  assert.equal(position(10, low), 0);
  assert.equal(position(1, low), 1);
});
