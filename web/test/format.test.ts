// SPDX-License-Identifier: Apache-2.0
// The same cases as src/base/text_test.cc and src/report/format_test.cc: page and terminal say the same number.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { causeInWords, duration, format, ranges, scaled, scaleFor, share, whenInWords } from '../src/format';

test('durations take the largest unit that fits', () => {
  const cases: [number, string][] = [
    [0, '0 ns'], [85, '85 ns'], [400, '0.4 µs'], [9_949, '9.9 µs'], [9_950, '10 µs'], [81_000, '81 µs'], [999_499, '999 µs'],
    [999_500, '1.0 ms'], [1_300_000, '1.3 ms'], [81_000_000, '81 ms'], [412_000_000, '412 ms'], [1_310_000_000, '1.31 s'],
    [12_500_000_000, '12.5 s'], [299e9, '299 s'], [307e9, '5 min 07 s'], [7500e9, '2 h 05 min'], [-81_000_000, '−81 ms'],
  ];
  for (const [ns, text] of cases) assert.equal(duration(ns), text);
});

test('a share keeps a digit where it matters', () => {
  const cases: [number, string][] = [[0, '0 %'], [0.0004, '<0.1 %'], [0.007, '0.7 %'], [0.0994, '9.9 %'], [0.0996, '10 %'], [0.61, '61 %'], [-0.2, '−20 %']];
  for (const [value, text] of cases) assert.equal(share(value), text);
});

test('every unit says itself, no value is a dash', () => {
  assert.equal(format(48_213_990, 'count'), '48,213,990');
  assert.equal(format(1155, 'rank'), '1155');
  assert.equal(format(101, 'step'), '#101');
  assert.equal(format(1.31, 'ratio'), '1.31x');
  assert.equal(format(999, 'bytes'), '999 B');
  assert.equal(format(1_230, 'bytes'), '1.23 KB');
  assert.equal(format(48_200_000, 'bytes'), '48.2 MB');
  assert.equal(format(999_600_000, 'bytes'), '1.00 GB');
  assert.equal(format(12.3e9, 'bytes-per-second'), '12.3 GB/s');
  assert.equal(format(0.012345, 'number'), '0.0123');
  assert.equal(format(null, 'duration'), '–');
  assert.equal(format('9007199254740993', 'count'), '9007199254740993');
});

test('a column has one unit and one number of digits', () => {
  const values = [900, 81e6, null];
  const scale = scaleFor(values, 'duration');
  assert.equal(scale.suffix, 'ms');
  assert.deepEqual(values.map((v) => scaled(v, 'duration', scale)), ['0.00', '81.00', '–']);
  const big = scaleFor([123e6], 'duration');
  assert.equal(scaled(123e6, 'duration', big), '123.0');
  assert.equal(scaleFor([10e9], 'duration').suffix, 's');
  assert.equal(scaled(0.292, 'share', scaleFor([0.292], 'share')), '29.2');
});

test('nothing is zero without digits, whole numbers have none', () => {
  assert.equal(scaled(0, 'number', scaleFor([0, 0], 'number')), '0');
  assert.equal(scaled(0, 'duration', scaleFor([0], 'duration')), '0');
  assert.equal(scaleFor([0], 'duration').suffix, 'ms');
  assert.equal(scaled(2, 'number', scaleFor([2, 31], 'number')), '2');
  assert.equal(scaled(1.25, 'number', scaleFor([2, 1.25], 'number')), '1.250');
  assert.equal(scaled(0.00012345, 'number', scaleFor([0.00012345, 0], 'number')), '0.000123');
});

test('causes and times in words', () => {
  assert.equal(causeInWords('slow-host-code'), 'Slow host code');
  assert.equal(causeInWords('gc-pause'), 'GC pause');
  assert.equal(whenInWords({ kind: 'onset', steps: [107] }, 12), 'since step #107');
  assert.equal(whenInWords({ kind: 'intermittent', steps: [1, 2, 3] }, 12), 'in 3 of 12 steps');
  assert.equal(whenInWords({ kind: 'once', steps: [104] }, 12), 'once, in step #104');
});

test('ranks are told in ranges', () => {
  assert.equal(ranges([]), '');
  assert.equal(ranges([1, 2, 3, 7, 9, 10]), '1–3, 7, 9, 10');
  assert.equal(ranges([1, 3, 5, 7], 2), '1, 3, …');
});
