// SPDX-License-Identifier: Apache-2.0
// One bar a rank, longest own time first: the culprit's own time is long, its victims' waiting is.
import { useMemo, useRef, useState } from 'preact/hooks';
import { orderByOwn, ownTimes, placeBars, slotAt, ticks, totals, type Slot } from './bars_model';
import { fillOf, useCanvas, type Ink } from './canvas';
import type { StackedBars } from './doc';
import { duration, scaleFor, scaled } from './format';
import { Choice, kMarkShapes, kMarkWords, Legend, signColour } from './parts';
import { signOf, usePage } from './selection';

type Order = 'own' | 'given' | 'rank';
const kLeft = 44;
const kBottom = 34;
const kTop = 16;

function describe(data: StackedBars, own: number[], bar: number, name: string): string {
  const parts = data.series.filter((s) => s.values[bar] > 0).map((s) => `${s.name} ${duration(s.values[bar])}`);
  return `${name}: own time ${duration(own[bar])} · ${parts.join(', ')}`;
}

export function StackedBarsView({ data }: { data: StackedBars }) {
  const { selection, pickRank, places } = usePage();
  const [order, setOrder] = useState<Order>('own');
  const [at, setAt] = useState<number | null>(null);
  const slots = useRef<Slot[]>([]);
  const sorted = useMemo(() => {
    if (order === 'own') return orderByOwn(data);
    const given = data.bars.map((_, i) => i);
    return order === 'given' ? given : given.sort((a, b) => data.bars[a].rank - data.bars[b].rank);
  }, [data, order]);
  const heights = useMemo(() => totals(data), [data]);
  const own = useMemo(() => ownTimes(data), [data]);
  const top = Math.max(...heights, data.reference, 1) * 1.04;
  const nameOf = (bar: number) => data.bars[bar].label || (data.bars[bar].rank >= 0 ? places.describe(data.bars[bar].rank) : `bar ${bar}`);
  // Its name is written whatever room there is.
  const stands = (bar: number) => mark(bar) === 'culprit' || mark(bar) === 'picked';
  const mark = (bar: number) => signOf(data.bars[bar].rank, selection, data.bars[bar].mark);

  const ref = useCanvas((c, width, height, ink) => {
    const plotHeight = height - kTop - kBottom;
    const y = (ns: number) => kTop + plotHeight * (1 - ns / top);
    const scale = scaleFor([top], 'duration');
    c.font = `11px ${ink.font}`;
    c.textAlign = 'right';
    c.textBaseline = 'middle';
    for (const tick of ticks(top, 4, scale.divisor)) {
      c.fillStyle = ink.line;
      c.fillRect(kLeft, Math.round(y(tick)), width - kLeft, 1);
      c.fillStyle = ink.faint;
      c.fillText(scaled(tick, 'duration', { ...scale, digits: tick % scale.divisor ? 1 : 0 }), kLeft - 6, y(tick));
    }
    c.fillText(scale.suffix, kLeft - 6, 6);
    const marked = new Set(data.bars.map((_, i) => i).filter((i) => stands(i)));
    slots.current = placeBars(sorted, width - kLeft, 12, 14, 2, marked);
    const fills = data.series.map((s) => fillOf(c, s.time_class, ink.theme));
    const dimOthers = selection.ranks.size > 0;
    for (const slot of slots.current) {
      const gap = slot.width > 6 ? Math.min(4, slot.width * 0.18) : 0;
      const x = kLeft + slot.x;
      const m = mark(slot.bar);
      c.globalAlpha = dimOthers && !stands(slot.bar) ? (m === 'victim' ? 0.85 : 0.4) : 1;
      let sum = 0;
      data.series.forEach((s, k) => {
        const value = s.values[slot.bar];
        if (value <= 0) return;
        c.fillStyle = fills[k];
        c.fillRect(x, y(sum + value), Math.max(0.8, slot.width - gap), y(sum) - y(sum + value));
        sum += value;
      });
      // Where own time ends: the line to compare along.
      c.fillStyle = ink.text;
      c.fillRect(x, y(own[slot.bar]) - 1, Math.max(0.8, slot.width - gap), 2);
      c.globalAlpha = 1;
      if (slot.bar === at) {
        c.strokeStyle = ink.text;
        c.lineWidth = 1.5;
        c.strokeRect(x - 0.5, y(sum) - 1, slot.width - gap + 1, y(0) - y(sum) + 1);
      }
    }
    drawLabels(c, ink, height, width);
    if (data.reference > 0) {
      c.strokeStyle = ink.text;
      c.setLineDash([4, 3]);
      c.lineWidth = 1;
      c.beginPath();
      c.moveTo(kLeft, Math.round(y(data.reference)) + 0.5);
      c.lineTo(width, Math.round(y(data.reference)) + 0.5);
      c.stroke();
      c.setLineDash([]);
      c.font = `10px ${ink.font}`;
      c.textAlign = 'right';
      c.textBaseline = 'bottom';
      c.strokeStyle = ink.surface;
      c.lineWidth = 3;
      c.strokeText('median step', width - 2, y(data.reference) - 2);
      c.fillStyle = ink.text;
      c.fillText('median step', width - 2, y(data.reference) - 2);
    }
  });

  // Culprits by name; every other bar by its number while there is room.
  const drawLabels = (c: CanvasRenderingContext2D, ink: Ink, height: number, width: number) => {
    c.textBaseline = 'top';
    c.textAlign = 'center';
    const numbered = slots.current.filter((s) => s.width >= 12 || stands(s.bar));
    // These first: where names collide theirs stay.
    numbered.sort((a, b) => Number(stands(b.bar)) - Number(stands(a.bar)) || a.x - b.x);
    const taken: [number, number][] = [];
    for (const slot of numbered) {
      const text = data.bars[slot.bar].rank >= 0 ? String(data.bars[slot.bar].rank) : data.bars[slot.bar].label;
      const x = kLeft + slot.x + slot.width * 0.41;
      c.font = `${stands(slot.bar) ? 'bold ' : ''}10px ${ink.font}`;
      const half = c.measureText(text).width / 2;
      if (taken.some(([from, to]) => x - half < to + 3 && x + half > from - 3)) continue;
      taken.push([x - half, x + half]);
      c.fillStyle = stands(slot.bar) ? signColour(mark(slot.bar), ink) : ink.faint;
      c.fillText(text, x, height - kBottom + 4);
    }
    c.font = `10px ${ink.font}`;
    for (const slot of slots.current) {
      const m = mark(slot.bar);
      if (!stands(slot.bar) && (m !== 'victim' || slot.width < 7)) continue;
      c.fillStyle = signColour(m, ink);
      c.fillText(kMarkShapes[m], kLeft + slot.x + slot.width * 0.41, height - kBottom + 17);
    }
    const merged = slots.current.some((s) => s.merged > 1);
    if (merged) {
      c.textAlign = 'right';
      c.fillStyle = ink.faint;
      c.fillText('the rest, several ranks a bar', width - 2, height - kBottom + 4);
    }
  };

  const barFromEvent = (event: MouseEvent) => slotAt(slots.current, event.offsetX - kLeft)?.bar ?? null;
  const move = (by: number) => {
    const here = slots.current.findIndex((s) => s.bar === at);
    const next = here < 0 ? 0 : Math.min(slots.current.length - 1, Math.max(0, here + by));
    setAt(slots.current[next]?.bar ?? null);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === 'ArrowRight') move(1);
    else if (event.key === 'ArrowLeft') move(-1);
    else if (event.key === 'Home') setAt(slots.current[0]?.bar ?? null);
    else if (event.key === 'Enter' && at !== null && data.bars[at].rank >= 0) pickRank(data.bars[at].rank);
    else return;
    event.preventDefault();
  };
  const longest = useMemo(() => orderByOwn(data)[0] ?? null, [data]);
  const word = at !== null && kMarkWords[mark(at)] ? ` · ${kMarkWords[mark(at)]}` : '';
  return (
    <>
      <div class="controls">
        <Legend classes={data.series.map((s) => s.time_class)} names={data.series.map((s) => s.name)} line="own time" />
        <Choice label="Order" value={order} onChange={setOrder}
          options={[['own', 'own time'], ['rank', 'rank'], ['given', 'as reported']] as const} />
      </div>
      <canvas ref={ref} class="bars" tabIndex={0} role="img"
        aria-label={`Time per rank by class, ${data.bars.length} bars. ${longest === null ? '' : 'Longest own time: ' + describe(data, own, longest, nameOf(longest))}. Arrow keys walk along the bars, Enter marks the rank.`}
        onMouseMove={(e) => setAt(barFromEvent(e))} onMouseLeave={() => setAt(null)} onKeyDown={onKey}
        onClick={(e) => { const bar = barFromEvent(e); if (bar !== null && data.bars[bar].rank >= 0) pickRank(data.bars[bar].rank); }} />
      <p class="readout" aria-live="polite">{at !== null ? describe(data, own, at, nameOf(at)) + word
        : longest !== null ? <span class="hint">{describe(data, own, longest, nameOf(longest))}</span> : null}</p>
    </>
  );
}
