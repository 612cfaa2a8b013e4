// SPDX-License-Identifier: Apache-2.0
// A table that sorts, filters, searches and saves itself as CSV.
import { useMemo, useRef, useState } from 'preact/hooks';
import type { Table, Value } from './doc';
import { format, isNumeric, scaleFor, scaled } from './format';
import { Term } from './parts';
import { usePage } from './selection';
import { filterGroups, groupRows, sortGroups, toCsv } from './table_model';

const kTail = 22;  // characters at the end of a long text that always show
const kPrinted = 12;  // groups on paper
const kPage = 60;  // groups shown before the reader asks for more

function save(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv;charset=utf-8' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = `${name}.csv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

// Cut in the middle: the end of a path or of a kernel's name says most.
function LongText({ text }: { text: string }) {
  return <span class="long-text"><span>{text.slice(0, -kTail)}</span><span>{text.slice(-kTail)}</span></span>;
}

// A table in a tab not yet opened (`resting`) holds only the rows that paper would show.
export function TableView({ table, name, resting = false }: { table: Table; name: string; resting?: boolean }) {
  const { selection, pickRank } = usePage();
  const [sort, setSort] = useState({ column: -1, descending: true });
  const [text, setText] = useState('');
  const [abnormalOnly, setAbnormalOnly] = useState(false);
  const [pickedOnly, setPickedOnly] = useState(false);
  const [limit, setLimit] = useState(kPage);
  const body = useRef<HTMLTableSectionElement>(null);

  const scales = useMemo(() => table.columns.map((column, c) => scaleFor(table.rows.map((row) => row.cells[c]), column.unit)), [table]);
  const show = (value: Value, column: number) => {
    const unit = table.columns[column].unit;
    return isNumeric(unit) ? scaled(value, unit, scales[column]) : format(value, unit);
  };
  const all = useMemo(() => groupRows(table.rows), [table]);
  const groups = useMemo(() => {
    const kept = filterGroups(all, { text, abnormalOnly, ranks: pickedOnly ? selection.ranks : null }, show);
    return sortGroups(kept, sort.column, sort.descending);
  }, [all, text, abnormalOnly, pickedOnly, selection, sort]);
  const roles = table.rows.some((row) => row.role !== 'plain');

  const sortedBy = sort.column >= 0 ? sort : { column: table.sort_column, descending: table.descending };
  const clickHead = (column: number) => {
    const numeric = isNumeric(table.columns[column].unit);
    setSort(sortedBy.column === column ? { column, descending: !sortedBy.descending } : { column, descending: numeric });
  };
  return (
    <>
      <div class="controls table-controls">
        <input type="search" class="search" placeholder="Search this table" aria-label="Search this table" value={text}
          onInput={(e) => { setText(e.currentTarget.value); setLimit(kPage); }} />
        {roles ? <label class="check"><input type="checkbox" checked={abnormalOnly} onChange={(e) => setAbnormalOnly(e.currentTarget.checked)} /> abnormal only</label> : null}
        {selection.ranks.size > 0 && table.rows.some((row) => row.rank >= 0)
          ? <label class="check"><input type="checkbox" checked={pickedOnly} onChange={(e) => setPickedOnly(e.currentTarget.checked)} /> picked ranks only</label> : null}
        <span class="tally" aria-live="polite">{groups.length === all.length ? `${all.length}` : `${groups.length} of ${all.length}`}</span>
        <button type="button" class="quiet" onClick={() => save(name, toCsv(table, groups))}>CSV</button>
      </div>
      <div class="scroll-x">
        <table class="data">
          <thead>
            <tr>
              {roles ? <th class="role"><span class="sr">Row</span></th> : null}
              {table.columns.map((column, c) => (
                <th key={c} class={isNumeric(column.unit) ? 'num' : ''} aria-sort={sortedBy.column === c ? (sortedBy.descending ? 'descending' : 'ascending') : 'none'}>
                  <button type="button" class="sort" onClick={() => clickHead(c)}>
                    <Term term={column.term} inside>{column.title}</Term>
                    {scales[c].suffix && isNumeric(column.unit) ? <span class="unit">{scales[c].suffix}</span> : null}
                    <span class="arrow" aria-hidden="true">{sortedBy.column === c ? (sortedBy.descending ? '▼' : '▲') : ''}</span>
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody ref={body}>
            {groups.slice(0, resting ? kPrinted : limit).flatMap((group, g) => group.rows.map((row, r) => (
              <tr key={`${g}/${r}`} class={`${row.role}${g >= kPrinted ? ' beyond' : ''}${row.rank >= 0 && selection.ranks.has(row.rank) ? ' picked' : ''}`}>
                {roles ? <td class="role">{row.role === 'abnormal' ? '▲ abnormal' : row.role === 'normal' ? '○ normal' : ''}</td> : null}
                {row.cells.map((value, c) => {
                  const unit = table.columns[c].unit;
                  return (
                    <td key={c} class={isNumeric(unit) ? 'num' : 'text'} title={unit === 'text' && typeof value === 'string' && value.length > 40 ? value : undefined}>
                      {unit === 'rank' && typeof value === 'number' && value >= 0
                        ? <button type="button" class="chip" aria-pressed={selection.ranks.has(value)} onClick={() => pickRank(value)}>{value}</button>
                        : unit === 'text' && typeof value === 'string' && value.length > 40 ? <LongText text={value} /> : show(value, c)}
                    </td>
                  );
                })}
              </tr>
            )))}
            {groups.length === 0 ? <tr><td class="empty" colSpan={table.columns.length + 1}>No row matches.</td></tr> : null}
          </tbody>
        </table>
      </div>
      {groups.length > kPrinted ? <p class="note print-only">The first {kPrinted} of {groups.length}; all of them are in the file itself.</p> : null}
      {groups.length > limit ? (
        <p class="more-rows"><button type="button" class="quiet" onClick={() => setLimit(limit + 200)}>Show {Math.min(200, groups.length - limit)} more</button>
          {' '}{groups.length - limit} not shown</p>
      ) : null}
      {table.notes.map((note, i) => <p key={i} class="note">{note}</p>)}
    </>
  );
}
