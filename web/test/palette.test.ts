// SPDX-License-Identifier: Apache-2.0
// Colours stay apart for those who see two kinds of cones. Simulation: Machado, Oliveira, Fernandes, "A Physiologically-based
// Model for Simulation of Color Vision Deficiency", IEEE TVCG 15(6), 2009, table for severity 1.0; distance: CIE76 in CIELAB (D65).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { heatColour, kClassColours, kHatched, type Theme } from '../src/palette';
import type { TimeClass } from '../src/doc';

type Three = [number, number, number];
const kDeficiencies: Record<string, Three[]> = {
  none: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protanopia: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deuteranopia: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
  tritanopia: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
};

const linear = (c: number) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
const parse = (hex: string) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255) as Three;
const times = (m: Three[], v: Three) => m.map((r) => r[0] * v[0] + r[1] * v[1] + r[2] * v[2]) as Three;

function lab(rgb: Three): Three {
  const [x, y, z] = times([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]], rgb);
  const f = (t: number) => (t > 216 / 24389 ? Math.cbrt(t) : (24389 / 27 * t + 16) / 116);
  const [fx, fy, fz] = [f(x / 0.95047), f(y), f(z / 1.08883)];
  return [116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)];
}

function distance(a: string, b: string, deficiency: Three[]): number {
  const seen = (hex: string) => lab(times(deficiency, parse(hex).map(linear) as Three).map((c) => Math.min(1, Math.max(0, c))) as Three);
  const [p, q] = [seen(a), seen(b)];
  return Math.hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]);
}

// "own" is compute's colour on purpose: they never stand in one picture. Hatched classes differ by their fill as well.
const kClasses: TimeClass[] = ['compute', 'memory', 'transfer', 'wait', 'host', 'input', 'idle'];

for (const theme of ['light', 'dark'] as Theme[]) {
  test(`classes are told apart by every eye (${theme})`, () => {
    for (const [name, matrix] of Object.entries(kDeficiencies)) {
      for (let i = 0; i < kClasses.length; i++) {
        for (let k = i + 1; k < kClasses.length; k++) {
          const [a, b] = [kClasses[i], kClasses[k]];
          const least = kHatched.has(a) || kHatched.has(b) ? 8 : 12;
          const d = distance(kClassColours[theme][a], kClassColours[theme][b], matrix);
          assert.ok(d >= least, `${name}: ${a} and ${b} are ${d.toFixed(1)} apart`);
        }
      }
    }
  });

  test(`the heat scale reads in grey (${theme})`, () => {
    const lightness = Array.from({ length: 33 }, (_, i) => lab(heatColour(theme, i / 32).map((c) => linear(c / 255)) as Three)[0]);
    const sign = theme === 'light' ? -1 : 1;
    for (let i = 1; i < lightness.length; i++) assert.ok(sign * (lightness[i] - lightness[i - 1]) > 0, `at ${i}/32`);
  });
}

const contrast = (a: string, b: string) => {
  const [x, y] = [a, b].map((hex) => times([[0.2126, 0.7152, 0.0722], [0, 0, 0], [0, 0, 0]], parse(hex).map(linear) as Three)[0]).sort((p, q) => q - p);
  return (x + 0.05) / (y + 0.05);
};

test('text on the page meets WCAG AA (4.5 to 1)', async () => {
  const { readFileSync } = await import('node:fs');
  const css = readFileSync('src/style.css', 'utf8');
  const blocks = [...css.matchAll(/:root \{([^}]*)\}/g)].slice(0, 2);
  for (const block of blocks) {
    const token = (name: string) => new RegExp(`--${name}: (#[0-9a-f]{6})`).exec(block[1])![1];
    for (const [ink, ground] of [['ink', 'bg'], ['ink', 'surface'], ['dim', 'surface'], ['dim', 'bg'], ['faint', 'surface'], ['faint', 'bg'],
      ['accent', 'surface'], ['accent', 'accent-soft'], ['critical', 'surface'], ['critical', 'critical-soft'], ['warning', 'surface'],
      ['warning', 'warning-soft'], ['info', 'raised'], ['ink', 'accent-soft']]) {
      const c = contrast(token(ink), token(ground));
      assert.ok(c >= 4.5, `${ink} on ${ground}: ${c.toFixed(2)}`);
    }
  }
});
