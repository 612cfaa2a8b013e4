// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Row, Table, Value } from '../src/doc';
import { compareValues, filterGroups, groupRows, sortGroups, toCsv } from '../src/table_model';

const row = (cells: Value[], role: Row['role'] = 'plain', pair = -1, rank = -1): Row => ({ cells, role, pair, rank });
const rows = [
  row(['gemm', 31], 'abnormal', 0, 19), row(['gemm', 24], 'normal', 0, 18),
  row(['adam', 60], 'abnormal', 1, 19), row(['adam', 50], 'normal', 1, 20),
  row(['norm', null], 'plain', -1, 3),
];
const show = (value: Value) => String(value);
const all = { text: '', abnormalOnly: false, ranks: null };

test('pairs stay together whichever way they are sorted', () => {
  const groups = groupRows(rows);
  assert.deepEqual(groups.map((g) => g.rows.length), [2, 2, 1]);
  const down = sortGroups(groups, 1, true).map((g) => g.rows[0].cells[0]);
  assert.deepEqual(down, ['adam', 'gemm', 'norm']);
  // No value comes last in both directions.
  const up = sortGroups(groups, 1, false).map((g) => g.rows[0].cells[0]);
  assert.deepEqual(up, ['gemm', 'adam', 'norm']);
  assert.deepEqual(sortGroups(groups, -1, true), groups);
});

test('text sorts as people count', () => {
  assert.ok(compareValues('n2', 'n10', false) < 0);
  assert.ok(compareValues('n2', 'n10', true) > 0);
  assert.equal(compareValues(null, null, true), 0);
});

test('search wants every word, in any case, anywhere in the pair', () => {
  const groups = groupRows(rows);
  const found = (text: string) => filterGroups(groups, { ...all, text }, show).map((g) => g.rows[0].cells[0]);
  assert.deepEqual(found('GEMM 24'), ['gemm']);  // 24 stands in the normal row of the pair
  assert.deepEqual(found('gemm 50'), []);
  assert.deepEqual(found('  '), ['gemm', 'adam', 'norm']);
});

test('filters by role and by rank', () => {
  const groups = groupRows(rows);
  assert.equal(filterGroups(groups, { ...all, abnormalOnly: true }, show).length, 2);
  assert.deepEqual(filterGroups(groups, { ...all, ranks: new Set([20]) }, show).map((g) => g.rows[0].cells[0]), ['adam']);
});

test('CSV is quoted by RFC 4180, says units, and starts no formula', () => {
  const table: Table = {
    columns: [{ title: 'name', unit: 'text', term: '' }, { title: 'time', unit: 'duration', term: '' }],
    rows: [row(['say "a, b"', 1_500_000]), row(['=HYPERLINK("x")', null]), row(['-1+2', -5]), row(['two\nlines', 0])],
    sort_column: -1, descending: true, notes: [],
  };
  assert.equal(toCsv(table, groupRows(table.rows)),
    'name,time (ns)\r\n"say ""a, b""",1500000\r\n"\'=HYPERLINK(""x"")",\r\n\'-1+2,-5\r\n"two\nlines",0\r\n');
});

test('CSV of pairs says which row is which', () => {
  const table: Table = { columns: [{ title: 'name', unit: 'text', term: '' }, { title: 'n', unit: 'count', term: '' }], rows: rows.slice(0, 2), sort_column: -1, descending: true, notes: [] };
  assert.equal(toCsv(table, groupRows(table.rows)), 'row,name,n\r\nabnormal,gemm,31\r\nnormal,gemm,24\r\n');
});
