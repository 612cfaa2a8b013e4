// SPDX-License-Identifier: Apache-2.0
// A canvas that follows its width, the screen's density, light and dark, and is redrawn light for the printer.
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { kClassColours, kHatched, type Theme } from './palette';
import type { TimeClass } from './doc';

export interface Ink {
  theme: Theme;
  text: string; dim: string; faint: string; line: string; surface: string; accent: string; critical: string; victim: string;
  font: string;
}

const kInk: Record<Theme, Ink> = {
  light: {
    theme: 'light', text: '#14181d', dim: '#4b5563', faint: '#6b7480', line: '#dde2e8', surface: '#ffffff', accent: '#0b5cad',
    critical: '#b42318', victim: '#8a5a00', font: '',
  },
  dark: {
    theme: 'dark', text: '#e8ebf0', dim: '#b0b8c4', faint: '#8d97a5', line: '#2c343f', surface: '#171b21', accent: '#7ab8ff',
    critical: '#ff8a7a', victim: '#f0b429', font: '',
  },
};

const kDark = typeof matchMedia === 'undefined' ? null : matchMedia('(prefers-color-scheme: dark)');
let printing = false;
const redraws = new Set<() => void>();

export function currentTheme(): Theme { return !printing && kDark?.matches ? 'dark' : 'light'; }

export function currentInk(): Ink {
  return { ...kInk[currentTheme()], font: getComputedStyle(document.body).fontFamily };
}

function applyClassColours(): void {
  const colours = kClassColours[currentTheme()];
  for (const [name, colour] of Object.entries(colours)) document.documentElement.style.setProperty(`--class-${name}`, colour);
}

export function watchTheme(): void {
  const all = () => {
    applyClassColours();
    for (const redraw of redraws) redraw();
  };
  const print = (on: boolean) => {
    printing = on;
    all();
  };
  applyClassColours();
  kDark?.addEventListener('change', all);
  matchMedia('print').addEventListener('change', (event) => print(event.matches));
  addEventListener('beforeprint', () => print(true));
  addEventListener('afterprint', () => print(false));
}

export type Draw = (context: CanvasRenderingContext2D, width: number, height: number, ink: Ink) => void;

// `draw` runs after each render and whenever width or theme change; it gets CSS pixels. The canvas is as high as its style says.
export function useCanvas(draw: Draw) {
  const ref = useRef<HTMLCanvasElement>(null);
  const latest = useRef(draw);
  latest.current = draw;
  const paint = useRef(() => {
    const canvas = ref.current;
    if (!canvas) return;
    const width = canvas.clientWidth;
    const height = canvas.clientHeight;
    if (width === 0 || height === 0) return;
    const density = printing ? 2 : Math.max(1, devicePixelRatio);
    const [w, h] = [Math.round(width * density), Math.round(height * density)];
    if (canvas.width !== w) canvas.width = w;
    if (canvas.height !== h) canvas.height = h;
    const context = canvas.getContext('2d')!;
    context.setTransform(density, 0, 0, density, 0, 0);
    context.clearRect(0, 0, width, height);
    latest.current(context, width, height, currentInk());
  });
  useLayoutEffect(() => paint.current());
  useEffect(() => {
    const observer = new ResizeObserver(() => paint.current());
    observer.observe(ref.current!);
    redraws.add(paint.current);
    return () => {
      observer.disconnect();
      redraws.delete(paint.current);
    };
  }, []);
  return ref;
}

const tiles = new Map<string, HTMLCanvasElement>();

// Solid, or stripes for what is waiting rather than work.
export function fillOf(context: CanvasRenderingContext2D, timeClass: TimeClass, theme: Theme): string | CanvasPattern {
  const colour = kClassColours[theme][timeClass];
  if (!kHatched.has(timeClass)) return colour;
  const key = `${theme}/${timeClass}`;
  let tile = tiles.get(key);
  if (!tile) {
    tile = document.createElement('canvas');
    tile.width = tile.height = 12;
    const t = tile.getContext('2d')!;
    t.fillStyle = colour;
    t.globalAlpha = timeClass === 'wait' ? 0.42 : 1;
    t.fillRect(0, 0, 12, 12);
    t.globalAlpha = 1;
    t.strokeStyle = timeClass === 'wait' ? colour : kClassColours[theme].other;
    t.lineWidth = timeClass === 'wait' ? 3 : 1;
    t.beginPath();
    for (const x of [-12, 0, 12]) {
      t.moveTo(x - 1, 13);
      t.lineTo(x + 13, -1);
    }
    t.stroke();
    tiles.set(key, tile);
  }
  const pattern = context.createPattern(tile, 'repeat')!;
  const inverse = context.getTransform().a;
  pattern.setTransform(new DOMMatrix().scale(inverse > 1 ? 1 / inverse : 0.6));
  return pattern;
}

export function fitText(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (width < 8) return '';
  if (context.measureText(text).width <= width) return text;
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(text.slice(0, middle) + '…').width <= width) low = middle;
    else high = middle - 1;
  }
  return low === 0 ? '' : text.slice(0, low) + '…';
}
