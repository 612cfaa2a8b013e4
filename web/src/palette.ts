// SPDX-License-Identifier: Apache-2.0
// Colours that carry meaning. test/palette.test.ts holds the classes apart for the three kinds of colour blindness and the
// text colours to WCAG contrast. Waiting and idle are also hatched or hollow: colour is never the only sign.
import type { TimeClass } from './doc';

export type Theme = 'light' | 'dark';

export const kClassColours: Record<Theme, Record<TimeClass, string>> = {
  light: {
    compute: '#1d4a92', memory: '#66b5e8', transfer: '#1b8a74', wait: '#eaa21a', host: '#9a63dd', input: '#8f1f4e',
    idle: '#d3d8de', bubble: '#e3e7ec', own: '#1d4a92', other: '#8a94a1',
  },
  dark: {
    compute: '#2b70dd', memory: '#bcdcf4', transfer: '#2cc59c', wait: '#f0b429', host: '#a884cf', input: '#d93a78',
    idle: '#3a4350', bubble: '#2d343e', own: '#2b70dd', other: '#7d8794',
  },
};

// Black or white, whichever is easier to read on a class' colour.
export function textOn(theme: Theme, timeClass: TimeClass): string {
  const [r, g, b] = [1, 3, 5].map((i) => (parseInt(kClassColours[theme][timeClass].slice(i, i + 2), 16) / 255) ** 2.2);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.19 ? '#101418' : '#ffffff';
}

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
