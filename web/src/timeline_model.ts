// SPDX-License-Identifier: Apache-2.0
// What the timeline shows and where: the window of time, the rectangles in it, what is under the pointer.
import type { Timeline } from './doc';

export interface View { from: number; to: number }  // ns after the origin

const kNarrowest = 1_000;  // 1 us across the picture is as far as zooming goes

export function clampView(view: View, length: number): View {
  const width = Math.min(Math.max(view.to - view.from, kNarrowest), length);
  const from = Math.min(Math.max(view.from, 0), length - width);
  return { from, to: from + width };
}

// factor < 1 zooms in; the time `at` stays under the pointer.
export function zoom(view: View, factor: number, at: number, length: number): View {
  return clampView({ from: at - (at - view.from) * factor, to: at + (view.to - at) * factor }, length);
}

export function pan(view: View, share: number, length: number): View {
  const by = (view.to - view.from) * share;
  return clampView({ from: view.from + by, to: view.to + by }, length);
}

// Rectangles of one lane in order of start.
export interface LaneIndex { rects: number[]; latestEnd: number[] }

export function indexLanes(timeline: Timeline): LaneIndex[] {
  const { lane, start, duration } = timeline.rects;
  const lanes: LaneIndex[] = timeline.lanes.map(() => ({ rects: [], latestEnd: [] }));
  for (let i = 0; i < lane.length; i++) lanes[lane[i]]?.rects.push(i);
  for (const index of lanes) {
    index.rects.sort((a, b) => start[a] - start[b] || duration[b] - duration[a] || a - b);
    let latest = -Infinity;
    for (const i of index.rects) {
      latest = Math.max(latest, start[i] + duration[i]);
      index.latestEnd.push(latest);
    }
  }
  return lanes;
}

// Positions [first, last) in index.rects that may touch the view. O(log n).
export function visible(index: LaneIndex, timeline: Timeline, view: View): [number, number] {
  const first = lowerBound(index.rects.length, (k) => index.latestEnd[k] < view.from);
  const last = lowerBound(index.rects.length, (k) => timeline.rects.start[index.rects[k]] <= view.to);
  return [first, last];
}

function lowerBound(n: number, before: (k: number) => boolean): number {
  let low = 0;
  let high = n;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (before(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}

// The rectangle at `time` (within `slack` ns), the one that starts last where several overlap; -1 = none.
export function rectAt(index: LaneIndex, timeline: Timeline, time: number, slack: number): number {
  const { start, duration } = timeline.rects;
  const [first, last] = visible(index, timeline, { from: time - slack, to: time + slack });
  for (let k = last - 1; k >= first; k--) {
    const i = index.rects[k];
    if (start[i] - slack <= time && time <= start[i] + duration[i] + slack) return i;
  }
  return -1;
}

// Round times inside the view for the axis.
export function axisTicks(view: View, wanted: number): number[] {
  const raw = (view.to - view.from) / wanted;
  const power = 10 ** Math.floor(Math.log10(raw));
  const steps = raw >= 60e9 ? [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 10080].map((minutes) => minutes * 60e9) : [1, 2, 5, 10].map((m) => m * power);
  const step = steps.find((s) => s >= raw) ?? raw;
  const out: number[] = [];
  for (let t = Math.ceil(view.from / step) * step; t <= view.to; t += step) out.push(t);
  return out;
}
