// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WaterfallItem } from '../src/doc';
import { placeItems } from '../src/waterfall_model';

const item = (role: WaterfallItem['role'], value: number): WaterfallItem => ({ name: '', time_class: 'other', role, value, note: '', term: '' });
const places = (items: WaterfallItem[]) => placeItems(items).map((p) => [p.from, p.to]);

test('parts follow one another, what is within starts where its part does', () => {
  assert.deepEqual(places([item('part', 50), item('part', 40), item('within', 30), item('within', 10), item('part', 10), item('total', 100)]),
    [[0, 50], [50, 90], [50, 80], [80, 90], [90, 100], [0, 100]]);
});

test('gains step down from a level', () => {
  assert.deepEqual(places([item('total', 412), item('part', -81), item('part', -14), item('total', 317)]),
    [[0, 412], [331, 412], [317, 331], [0, 317]]);
});
