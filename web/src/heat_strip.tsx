// SPDX-License-Identifier: Apache-2.0
// Ranks across, steps down, one colour a cell: a slow rank is a line down, a slow step a line across, an onset begins half way.
import { useMemo, useRef, useState } from 'preact/hooks';
import { useCanvas, fitText, type Ink } from './canvas';
import type { Doc, HeatStrip } from './doc';
import { format, scaleFor, scaled } from './format';
import { binOf, binWorst, domainOf, orderBy, position, type Bins, type Ordering, type Window } from './heat_model';
import { cssOf, heatColour, kNoValue } from './palette';
import { Choice, kMarkShapes, signColour, Term } from './parts';
import { signOf, usePage, type Places } from './selection';

const kLeft = 44;
const kTop = 20;
const kBottom = 30;
const kTallest = 300;
const kWidestCell = 72;

function labelsFor(grouping: string, data: HeatStrip, doc: Doc, places: Places): string[] | null {
  if (grouping === '') return null;
  const coordinate = doc.coordinate_names.indexOf(grouping);
  return data.rows.map((row) => {
    const place = places.byRank.get(row.rank);
    if (!place) return '?';
    if (grouping === 'host') return place.host || '?';
    const at = place.coordinates[coordinate] ?? -1;
    return at < 0 ? `${grouping} ?` : `${grouping} ${at}`;
  });
}

interface Drag { x0: number; y0: number; x1: number; y1: number }
interface Cell { x: number; y: number }

export function HeatStripView({ data }: { data: HeatStrip }) {
  const { doc, places, selection, pickRank } = usePage();
  const [metricName, setMetric] = useState(data.metrics[0]?.name ?? '');
  const [grouping, setGrouping] = useState('');
  const [ranks, setRanks] = useState<Window>({ from: 0, to: data.rows.length });
  const [steps, setSteps] = useState<Window>({ from: 0, to: data.columns.length });
  const [cell, setCell] = useState<Cell | null>(null);
  const [drag, setDrag] = useState<Drag | null>(null);
  const shown = useRef<{ bins: Bins; width: number; height: number } | null>(null);

  const metric = data.metrics.find((m) => m.name === metricName) ?? data.metrics[0];
  const ordering: Ordering = useMemo(() => orderBy(labelsFor(grouping, data, doc, places), data.rows.length), [grouping, data, doc, places]);
  // A full colour is worth at least a tenth of a step.
  const stepTime = doc.headline.now ?? 0;
  const domain = useMemo(() => domainOf(metric.values, metric.higher_is_worse, metric.unit === 'duration' ? stepTime / 10 : 0), [metric, stepTime]);
  const scale = useMemo(() => scaleFor(metric.values, metric.unit), [metric]);
  const zoomed = ranks.to - ranks.from < data.rows.length || steps.to - steps.from < data.columns.length;
  const nameOf = (row: number) => data.rows[row].label || (data.rows[row].rank >= 0 ? places.describe(data.rows[row].rank) : `row ${row}`);

  const rowHeight = Math.max(3, Math.min(16, Math.floor(kTallest / (steps.to - steps.from))));
  const plotHeight = Math.min(kTallest, rowHeight * (steps.to - steps.from));

  const ref = useCanvas((c, width, height, ink) => {
    const w = Math.min(width - kLeft, (ranks.to - ranks.from) * kWidestCell);
    const bins = binWorst(metric.values, data.columns.length, ordering.order, ranks, steps, w / 1.5, plotHeight / 2, metric.higher_is_worse);
    shown.current = { bins, width: w, height: plotHeight };
    paintCells(c, bins, w, ink);
    paintGroups(c, ink, w);
    paintAxes(c, ink, w, height);
    paintMarks(c, ink, w);
    if (cell) {
      c.strokeStyle = ink.text;
      c.lineWidth = 1.5;
      const [cw, ch] = [w / bins.across, plotHeight / bins.down];
      c.strokeRect(kLeft + cell.x * cw - 0.75, kTop + cell.y * ch - 0.75, cw + 1.5, ch + 1.5);
    }
    if (drag) {
      c.fillStyle = ink.accent;
      c.globalAlpha = 0.2;
      c.fillRect(Math.min(drag.x0, drag.x1), kTop, Math.abs(drag.x1 - drag.x0), plotHeight);
      c.globalAlpha = 1;
    }
  });

  const paintCells = (c: CanvasRenderingContext2D, bins: Bins, w: number, ink: Ink) => {
    const image = new ImageData(bins.across, bins.down);
    for (let i = 0; i < bins.value.length; i++) {
      const v = bins.value[i];
      const [r, g, b] = Number.isNaN(v) ? kNoValue[ink.theme] : heatColour(ink.theme, position(v, domain));
      image.data.set([r, g, b, 255], i * 4);
    }
    const small = document.createElement('canvas');
    small.width = bins.across;
    small.height = bins.down;
    small.getContext('2d')!.putImageData(image, 0, 0);
    c.imageSmoothingEnabled = false;
    c.drawImage(small, kLeft, kTop, w, plotHeight);
    const [cw, ch] = [w / bins.across, plotHeight / bins.down];
    c.fillStyle = ink.surface;
    if (cw >= 6) for (let x = 1; x < bins.across; x++) c.fillRect(kLeft + x * cw - 0.5, kTop, 1, plotHeight);
    if (ch >= 6) for (let y = 1; y < bins.down; y++) c.fillRect(kLeft, kTop + y * ch - 0.5, w, 1);
    c.font = `9px ${ink.font}`;
    c.fillStyle = ink.faint;
    c.textAlign = 'center';
    c.textBaseline = 'middle';
    if (cw >= 6 && ch >= 6) {
      bins.value.forEach((v, i) => {
        if (Number.isNaN(v)) c.fillText('×', kLeft + ((i % bins.across) + 0.5) * cw, kTop + (Math.floor(i / bins.across) + 0.5) * ch);
      });
    }
    c.strokeStyle = ink.line;
    c.lineWidth = 1;
    c.strokeRect(kLeft - 0.5, kTop - 0.5, w + 0.5, plotHeight + 1);
  };

  const xOf = (rank: number, w: number) => kLeft + ((rank - ranks.from) / (ranks.to - ranks.from)) * w;

  const paintGroups = (c: CanvasRenderingContext2D, ink: Ink, w: number) => {
    c.font = `10px ${ink.font}`;
    c.textAlign = 'left';
    c.textBaseline = 'alphabetic';
    for (const span of ordering.spans) {
      const from = Math.max(span.from, ranks.from);
      const to = Math.min(span.to, ranks.to);
      if (from >= to) continue;
      const x = xOf(from, w);
      c.fillStyle = ink.text;
      if (from > ranks.from) c.fillRect(Math.round(x) - 0.5, kTop - 5, 1, plotHeight + 5);
      c.fillStyle = ink.dim;
      c.fillText(fitText(c, span.label, xOf(to, w) - x - 4), x + 3, kTop - 7);
    }
  };

  const paintAxes = (c: CanvasRenderingContext2D, ink: Ink, w: number, height: number) => {
    c.font = `10px ${ink.font}`;
    c.fillStyle = ink.faint;
    c.textAlign = 'right';
    c.textBaseline = 'middle';
    const n = steps.to - steps.from;
    const every = Math.max(1, Math.ceil(12 / (plotHeight / n)));
    for (let i = 0; i < n; i += every) c.fillText(`#${data.columns[steps.from + i]}`, kLeft - 5, kTop + ((i + 0.5) / n) * plotHeight);
    c.textAlign = 'center';
    c.textBaseline = 'top';
    const across = ranks.to - ranks.from;
    const stride = niceStride(across, w / 46);
    for (let p = ranks.from; p < ranks.to; p += stride) {
      const row = data.rows[ordering.order[p]];
      const text = row.rank >= 0 ? String(row.rank) : fitText(c, row.label, 44);
      c.fillText(text, Math.max(kLeft + 8, xOf(p + 0.5, w)), kTop + plotHeight + 4);
    }
    c.textAlign = 'right';
    c.fillText(data.row_name, kLeft - 5, kTop + plotHeight + 4);
    c.textBaseline = 'alphabetic';
    if (ordering.spans.length === 0) c.fillText(data.column_name, kLeft - 5, kTop - 7);
    void height;
  };

  const paintMarks = (c: CanvasRenderingContext2D, ink: Ink, w: number) => {
    c.textAlign = 'center';
    c.textBaseline = 'top';
    let lastEnd = -Infinity;
    for (let p = ranks.from; p < ranks.to; p++) {
      const rank = data.rows[ordering.order[p]].rank;
      const sign = signOf(rank, selection);
      if (sign !== 'culprit' && sign !== 'picked') continue;
      const x = xOf(p, w);
      const wide = Math.max(w / (ranks.to - ranks.from), 2);
      c.strokeStyle = ink.accent;
      c.lineWidth = 1.5;
      c.strokeRect(x - 1, kTop - 1.5, wide + 1, plotHeight + 3);
      const text = `${kMarkShapes[sign]} ${rank}`;
      c.font = `bold 10px ${ink.font}`;
      const half = c.measureText(text).width / 2 + 2;
      const centre = Math.min(kLeft + w - half, Math.max(kLeft + half, x + wide / 2));
      if (centre - half < lastEnd) continue;
      lastEnd = centre + half;
      c.fillStyle = ink.surface;
      c.fillRect(centre - half, kTop + plotHeight + 15, 2 * half, 13);
      c.fillStyle = signColour(sign, ink);
      c.fillText(text, centre, kTop + plotHeight + 16);
    }
  };

  const cellAt = (x: number, y: number): Cell | null => {
    const s = shown.current;
    if (!s || x < kLeft || y < kTop || y >= kTop + s.height || x >= kLeft + s.width) return null;
    return { x: Math.floor(((x - kLeft) / s.width) * s.bins.across), y: Math.floor(((y - kTop) / s.height) * s.bins.down) };
  };
  const rankOf = (at: Cell | null): number => {
    const s = shown.current;
    if (!at || !s) return -1;
    const row = s.bins.row[at.y * s.bins.across + at.x];
    return row < 0 ? -1 : data.rows[row].rank;
  };
  const zoomAround = (centre: number, factor: number) => {
    const n = ranks.to - ranks.from;
    const wide = Math.min(data.rows.length, Math.max(4, Math.round(n * factor)));
    const from = Math.min(data.rows.length - wide, Math.max(0, Math.round(centre - wide / 2)));
    setRanks({ from, to: from + wide });
    setCell(null);
  };
  const reset = () => {
    setRanks({ from: 0, to: data.rows.length });
    setSteps({ from: 0, to: data.columns.length });
    setCell(null);
  };
  const onUp = () => {
    if (!drag || !shown.current) return;
    const { width } = shown.current;
    const wide = Math.abs(drag.x1 - drag.x0);
    setDrag(null);
    if (wide < 5) {
      const rank = rankOf(cellAt(drag.x0, drag.y0));
      if (rank >= 0) pickRank(rank);
      return;
    }
    const n = ranks.to - ranks.from;
    const at = (x: number) => ranks.from + ((Math.min(Math.max(x, kLeft), kLeft + width) - kLeft) / width) * n;
    const from = Math.floor(at(Math.min(drag.x0, drag.x1)));
    const to = Math.max(from + 1, Math.ceil(at(Math.max(drag.x0, drag.x1))));
    setRanks({ from, to: Math.min(data.rows.length, to) });
    setCell(null);
  };
  const onKey = (event: KeyboardEvent) => {
    const s = shown.current;
    if (!s) return;
    const here = cell ?? { x: -1, y: 0 };
    const clampCell = (x: number, y: number) => setCell({ x: Math.min(s.bins.across - 1, Math.max(0, x)), y: Math.min(s.bins.down - 1, Math.max(0, y)) });
    const centre = cell ? ranks.from + ((cell.x + 0.5) / s.bins.across) * (ranks.to - ranks.from) : (ranks.from + ranks.to) / 2;
    switch (event.key) {
      case 'ArrowRight': clampCell(here.x + 1, here.y); break;
      case 'ArrowLeft': clampCell(here.x - 1, here.y); break;
      case 'ArrowDown': clampCell(Math.max(0, here.x), here.y + 1); break;
      case 'ArrowUp': clampCell(Math.max(0, here.x), here.y - 1); break;
      case '+': case '=': zoomAround(centre, 0.5); break;
      case '-': zoomAround(centre, 2); break;
      case '0': reset(); break;
      case 'Enter': { const rank = rankOf(cell); if (rank >= 0) pickRank(rank); break; }
      default: return;
    }
    event.preventDefault();
  };

  const readout = () => {
    const s = shown.current;
    if (!cell || !s) return null;
    const i = cell.y * s.bins.across + cell.x;
    const row = s.bins.row[i];
    if (row < 0) return 'no value here';
    const covered = ordering.order.slice(ranks.from, ranks.to).filter((_, p) => binOf(ranks.from + p, ranks, s.bins.across) === cell.x).length;
    return `${nameOf(row)}, ${data.column_name} #${data.columns[s.bins.column[i]]}: ${metric.name} ${format(s.bins.value[i], metric.unit)}`
      + (covered > 1 ? ` · the worst of ${covered} ${data.row_name}s in this bin` : '');
  };
  // Only those that tell rows apart.
  const groupings = useMemo(() => {
    const names = ['host', ...doc.coordinate_names].filter((name) => new Set(labelsFor(name, data, doc, places)).size > 1);
    return [['', data.row_name], ...names.map((name) => [name, name])] as [string, string][];
  }, [data, doc, places]);
  const ramp = Array.from({ length: 9 }, (_, i) => i / 8);
  return (
    <>
      <div class="controls">
        <Choice label="Show" value={metric.name} onChange={setMetric} options={data.metrics.map((m) => [m.name, m.name] as const)} />
        {groupings.length > 1 ? <Choice label="Group by" value={grouping} onChange={(g) => { setGrouping(g); setCell(null); }} options={groupings} /> : null}
        <span class="scale" aria-label={`Colours from ${scaled(domain.low, metric.unit, scale)} to ${scaled(domain.high, metric.unit, scale)} ${scale.suffix}`}>
          <span class="num">{scaled(domain.low, metric.unit, scale)}</span>
          <span class="ramp light-only" aria-hidden="true">{ramp.map((t) => <i key={t} style={{ background: cssOf(heatColour('light', t)) }} />)}</span>
          <span class="ramp dark-only" aria-hidden="true">{ramp.map((t) => <i key={t} style={{ background: cssOf(heatColour('dark', t)) }} />)}</span>
          <span class="num">{domain.clipped ? (metric.higher_is_worse ? '≥ ' : '≤ ') : ''}{scaled(domain.high, metric.unit, scale)} {scale.suffix}</span>
        </span>
        {zoomed ? <button type="button" class="quiet" onClick={reset}>Show all</button> : null}
      </div>
      <canvas ref={ref} class="heat" style={{ height: `${kTop + plotHeight + kBottom}px` }} tabIndex={0} role="img"
        aria-label={`${metric.name} of ${data.rows.length} ${data.row_name}s in ${data.columns.length} ${data.column_name}s. Arrow keys move over the cells, plus and minus zoom, Enter marks the ${data.row_name}.`}
        onMouseDown={(e) => { setDrag({ x0: e.offsetX, y0: e.offsetY, x1: e.offsetX, y1: e.offsetY }); }}
        onMouseMove={(e) => { setCell(cellAt(e.offsetX, e.offsetY)); if (drag) setDrag({ ...drag, x1: e.offsetX, y1: e.offsetY }); }}
        onMouseUp={onUp} onMouseLeave={() => { setCell(null); setDrag(null); }} onDblClick={reset} onKeyDown={onKey} />
      <p class="readout" aria-live="polite">{readout() ?? <span class="hint"><Term term={metric.term}>{metric.name}</Term> per {data.row_name} and {data.column_name}
        {' '}· drag to zoom, double-click for all{data.rows.length > 500 ? ' · each bin shows its worst rank' : ''}</span>}</p>
    </>
  );
}

function niceStride(n: number, most: number): number {
  for (let power = 1; ; power *= 2) if (n / power <= most) return power;
}
