// SPDX-License-Identifier: Apache-2.0
// Sorting, filtering and export of tables. An abnormal row and the normal one beside it are one unit and never part.
import type { Column, Row, Table, Value } from './doc';
import { naturally } from './heat_model';

export interface Group { rows: Row[] }

export function groupRows(rows: Row[]): Group[] {
  const groups: Group[] = [];
  let pair = -1;
  for (const row of rows) {
    if (row.pair >= 0 && row.pair === pair) groups[groups.length - 1].rows.push(row);
    else groups.push({ rows: [row] });
    pair = row.pair;
  }
  return groups;
}

// Numbers by size, text naturally, no value always last whichever way the column is sorted.
export function compareValues(a: Value, b: Value, descending: boolean): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  const by = typeof a === 'number' && typeof b === 'number' ? a - b : naturally(String(a), String(b));
  return descending ? -by : by;
}

// By the first row of each group (the abnormal one); equal ones keep their order.
export function sortGroups(groups: Group[], column: number, descending: boolean): Group[] {
  if (column < 0) return groups;
  return [...groups].sort((a, b) => compareValues(a.rows[0].cells[column], b.rows[0].cells[column], descending));
}

export interface Filter { text: string; abnormalOnly: boolean; ranks: ReadonlySet<number> | null }

// Every word must occur somewhere in the group, whatever its case.
export function filterGroups(groups: Group[], filter: Filter, show: (value: Value, column: number) => string): Group[] {
  const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean);
  return groups.filter((group) => {
    if (filter.abnormalOnly && !group.rows.some((row) => row.role === 'abnormal')) return false;
    if (filter.ranks && !group.rows.some((row) => filter.ranks!.has(row.rank))) return false;
    if (words.length === 0) return true;
    const text = group.rows.map((row) => row.cells.map(show).join('\u0000')).join('\u0000').toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

const kUnitInHeader: Partial<Record<Column['unit'], string>> = {
  duration: 'ns', bytes: 'bytes', 'bytes-per-second': 'bytes/s', share: 'share of 1', ratio: 'ratio',
};

// A spreadsheet runs a cell that starts with one of these as a formula; names in traces are not ours to trust.
function csvText(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
}

// RFC 4180, raw values, the unit in the header.
export function toCsv(table: Table, groups: Group[]): string {
  const roles = table.rows.some((row) => row.role !== 'plain');
  const head = table.columns.map((c) => csvText(kUnitInHeader[c.unit] ? `${c.title} (${kUnitInHeader[c.unit]})` : c.title));
  const lines = [(roles ? ['row', ...head] : head).join(',')];
  for (const row of groups.flatMap((group) => group.rows)) {
    const cells = row.cells.map((v) => (v === null ? '' : typeof v === 'number' ? String(v) : csvText(v)));
    lines.push((roles ? [row.role, ...cells] : cells).join(','));
  }
  return lines.join('\r\n') + '\r\n';
}
