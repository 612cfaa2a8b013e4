// SPDX-License-Identifier: Apache-2.0
// Colours that carry meaning. test/palette.test.ts holds the classes apart for the three kinds of colour blindness and the
// text colours to WCAG contrast. Waiting and idle are also hatched or hollow: colour is never the only sign.
import type { TimeClass } from './doc';

export type Theme = 'light' | 'dark';

export const kClassColours: Record<Theme, Record<TimeClass, string>> = {
  light: {
    compute: '#1f5fa8', memory: '#6fb1e0', transfer: '#12806a', wait: '#e3a008', host: '#7a3e9d', input: '#c2477f',
    idle: '#cfd5dc', bubble: '#e3e7ec', own: '#1f5fa8', other: '#8a94a1',
  },
  dark: {
    compute: '#4a90dd', memory: '#a5d3f5', transfer: '#2fb596', wait: '#f0b429', host: '#a879cf', input: '#e377a8',
    idle: '#3d4652', bubble: '#2d343e', own: '#4a90dd', other: '#7d8794',
  },
};

export const kHatched: ReadonlySet<TimeClass> = new Set<TimeClass>(['wait', 'bubble']);

export const kClassNames: Record<TimeClass, string> = {
  compute: 'compute', memory: 'memory', transfer: 'transfer', wait: 'waiting', host: 'host', input: 'input', idle: 'idle',
  bubble: 'bubble', own: 'own time', other: 'other',
};

// Stops from "as expected" to "bad"; lightness changes steadily, so they read in grey too.
const kHeatStops: Record<Theme, [number, number, number][]> = {
  light: [[244, 246, 248], [253, 224, 168], [244, 165, 82], [207, 92, 54], [125, 29, 56], [58, 10, 44]],
  dark: [[29, 35, 43], [74, 42, 66], [148, 49, 74], [214, 87, 58], [246, 166, 72], [255, 239, 190]],
};

export const kNoValue: Record<Theme, [number, number, number]> = { light: [255, 255, 255], dark: [15, 18, 22] };

// t in [0, 1].
export function heatColour(theme: Theme, t: number): [number, number, number] {
  const stops = kHeatStops[theme];
  const at = Math.min(Math.max(t, 0), 1) * (stops.length - 1);
  const low = Math.min(Math.floor(at), stops.length - 2);
  const f = at - low;
  return stops[low].map((c, i) => Math.round(c + (stops[low + 1][i] - c) * f)) as [number, number, number];
}

export function cssOf([r, g, b]: [number, number, number]): string { return `rgb(${r},${g},${b})`; }
