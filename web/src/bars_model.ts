// SPDX-License-Identifier: Apache-2.0
// Order and places of the bars per rank.
import type { StackedBars } from './doc';

export function ownTimes(bars: StackedBars): number[] {
  const own = bars.bars.map(() => 0);
  for (const series of bars.series) if (series.own) series.values.forEach((v, i) => { own[i] += v; });
  return own;
}

export function totals(bars: StackedBars): number[] {
  const total = bars.bars.map(() => 0);
  for (const series of bars.series) series.values.forEach((v, i) => { total[i] += v; });
  return total;
}

export function orderByOwn(bars: StackedBars): number[] {
  const own = ownTimes(bars);
  return own.map((_, i) => i).sort((a, b) => own[b] - own[a] || a - b);
}

const kWidest = 72;  // of a bar, where there are few

export interface Slot { bar: number; x: number; width: number; merged: number }

// Places `order` over `width` pixels. When bars would be too thin to see, the first `head` keep `headWidth` each and the
// rest share what is left; where several of those meet in a slot the first one (the longest, in order of own time) stands for all.
export function placeBars(order: number[], width: number, head: number, headWidth: number, minWidth: number, keep: ReadonlySet<number>): Slot[] {
  const n = order.length;
  if (n === 0 || width <= 0) return [];
  if (width / n >= headWidth * 0.6) {
    const each = Math.min(width / n, kWidest);
    return order.map((bar, i) => ({ bar, x: i * each, width: each, merged: 1 }));
  }
  const wide = new Set(order.slice(0, head));
  for (const bar of keep) if (wide.size < head * 2) wide.add(bar);
  const rest = n - wide.size;
  const restWidth = Math.max(0, width - wide.size * headWidth);
  const slots = Math.max(1, Math.min(rest, Math.floor(restWidth / minWidth)));
  const slotWidth = restWidth / slots;
  const out: Slot[] = [];
  let x = 0;
  let seen = 0;
  let last = -1;
  let open: Slot | null = null;
  for (const bar of order) {
    if (wide.has(bar)) {
      out.push({ bar, x, width: headWidth, merged: 1 });
      x += headWidth;
      continue;
    }
    const slot = Math.floor((seen++ * slots) / rest);
    if (slot === last) {
      open!.merged++;
      continue;
    }
    last = slot;
    open = { bar, x, width: slotWidth, merged: 1 };
    out.push(open);
    x += slotWidth;
  }
  return out;
}

export function slotAt(slots: Slot[], x: number): Slot | null {
  let low = 0;
  let high = slots.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const slot = slots[middle];
    if (x < slot.x) high = middle - 1;
    else if (x >= slot.x + slot.width) low = middle + 1;
    else return slot;
  }
  return null;
}

// Round tick values from 0 to at most `top`, about `wanted` of them, in the axis' own unit.
export function ticks(top: number, wanted: number, divisor: number): number[] {
  if (!(top > 0)) return [0];
  const raw = top / divisor / wanted;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw)! * divisor;
  const out: number[] = [];
  for (let i = 0; i * step <= top * 1.0001; i++) out.push(i * step);
  return out;
}
