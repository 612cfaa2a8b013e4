// SPDX-License-Identifier: Apache-2.0
// The numbers behind the heat strip: order of the ranks, bins when there are more ranks than pixels, the colour scale.

export interface Span { label: string; from: number; to: number }  // positions [from, to)
export interface Ordering { order: number[]; spans: Span[] }

// Rows by group, groups by first appearance of the label in `labels` sorted naturally; within one, as given.
export function orderBy(labels: string[] | null, rows: number): Ordering {
  if (!labels) return { order: Array.from({ length: rows }, (_, i) => i), spans: [] };
  const groups = new Map<string, number[]>();
  for (let i = 0; i < rows; i++) {
    const members = groups.get(labels[i]);
    if (members) members.push(i);
    else groups.set(labels[i], [i]);
  }
  const names = [...groups.keys()].sort(naturally);
  const order: number[] = [];
  const spans: Span[] = [];
  for (const name of names) {
    const from = order.length;
    order.push(...groups.get(name)!);
    spans.push({ label: name, from, to: order.length });
  }
  return { order, spans };
}

const kCollator = new Intl.Collator('en', { numeric: true });
export function naturally(a: string, b: string): number { return kCollator.compare(a, b) || (a < b ? -1 : a > b ? 1 : 0); }

export interface Window { from: number; to: number }  // [from, to)
export interface Bins { across: number; down: number; value: Float64Array; row: Int32Array; column: Int32Array }

// Which of `bins` equal parts of `window` the position falls in.
export function binOf(position: number, window: Window, bins: number): number {
  return Math.min(bins - 1, Math.floor(((position - window.from) * bins) / (window.to - window.from)));
}

// The worst cell of each bin, never the mean: one bad rank in a bin of ten must stay visible. Ranks run across, steps
// down. `value` is NaN and `row`, `column` -1 where no cell of the bin has a value.
export function binWorst(
  values: (number | null)[], columns: number, order: number[], ranks: Window, steps: Window, maxAcross: number, maxDown: number,
  higherIsWorse: boolean,
): Bins {
  const across = Math.max(1, Math.min(ranks.to - ranks.from, Math.floor(maxAcross)));
  const down = Math.max(1, Math.min(steps.to - steps.from, Math.floor(maxDown)));
  const value = new Float64Array(across * down).fill(NaN);
  const row = new Int32Array(across * down).fill(-1);
  const column = new Int32Array(across * down).fill(-1);
  for (let position = ranks.from; position < ranks.to; position++) {
    const x = binOf(position, ranks, across);
    const source = order[position];
    for (let step = steps.from; step < steps.to; step++) {
      const cell = values[source * columns + step];
      if (cell === null || Number.isNaN(cell)) continue;
      const at = binOf(step, steps, down) * across + x;
      const best = value[at];
      if (Number.isNaN(best) || (higherIsWorse ? cell > best : cell < best)) {
        value[at] = cell;
        row[at] = source;
        column[at] = step;
      }
    }
  }
  return { across, down, value, row, column };
}

export interface Domain { low: number; high: number; clipped: boolean }

// From the good end to the bad end. The bad end is the worst value, unless a few cells are so far out that they would
// wash out everything else: then it is eight times the distance from the median to the bad 1 %, and `clipped` says so. It is
// never nearer than `leastSpan` to the good end: noise must look like noise.
export function domainOf(values: (number | null)[], higherIsWorse: boolean, leastSpan = 0): Domain {
  const sorted = Float64Array.from(values.filter((v): v is number => v !== null && !Number.isNaN(v))).sort();
  if (sorted.length === 0) return { low: 0, high: 1, clipped: false };
  const at = (q: number) => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))];
  const sign = higherIsWorse ? 1 : -1;
  const median = at(0.5);
  const good = higherIsWorse ? at(0.02) : at(0.98);
  const worst = higherIsWorse ? sorted[sorted.length - 1] : sorted[0];
  const tail = Math.abs((higherIsWorse ? at(0.99) : at(0.01)) - median);
  const limit = median + sign * 8 * tail;
  const clipped = tail > 0 && sign * (worst - limit) > 0;
  const high = clipped ? limit : worst;
  const span = Math.max(leastSpan, Math.abs(median) * 0.02, 1e-9);
  if (sign * (high - good) >= span) return { low: good, high, clipped };
  const widened = good + sign * span;
  return { low: good, high: widened, clipped: sign * (worst - widened) > 0 };
}

export function position(value: number, domain: Domain): number {
  return Math.min(1, Math.max(0, (value - domain.low) / (domain.high - domain.low)));
}
