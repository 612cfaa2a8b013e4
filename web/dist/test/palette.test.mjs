// test/palette.test.ts
import assert from "node:assert/strict";
import { test } from "node:test";

// src/palette.ts
var kClassColours = {
  light: {
    compute: "#1d4a92",
    memory: "#66b5e8",
    transfer: "#1b8a74",
    wait: "#eaa21a",
    host: "#9a63dd",
    input: "#8f1f4e",
    idle: "#d3d8de",
    bubble: "#e3e7ec",
    own: "#1d4a92",
    other: "#8a94a1"
  },
  dark: {
    compute: "#2b70dd",
    memory: "#bcdcf4",
    transfer: "#2cc59c",
    wait: "#f0b429",
    host: "#a884cf",
    input: "#d93a78",
    idle: "#3a4350",
    bubble: "#2d343e",
    own: "#2b70dd",
    other: "#7d8794"
  }
};
var kHatched = /* @__PURE__ */ new Set(["wait", "bubble"]);
var kHeatStops = {
  light: [[244, 246, 248], [253, 224, 168], [244, 165, 82], [207, 92, 54], [125, 29, 56], [58, 10, 44]],
  dark: [[29, 35, 43], [74, 42, 66], [148, 49, 74], [214, 87, 58], [246, 166, 72], [255, 239, 190]]
};
function heatColour(theme, t) {
  const stops = kHeatStops[theme];
  const at = Math.min(Math.max(t, 0), 1) * (stops.length - 1);
  const low = Math.min(Math.floor(at), stops.length - 2);
  const f = at - low;
  return stops[low].map((c, i) => Math.round(c + (stops[low + 1][i] - c) * f));
}

// test/palette.test.ts
var kDeficiencies = {
  none: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protanopia: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-3882e-6, -0.048116, 1.051998]],
  deuteranopia: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
  tritanopia: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [4733e-6, 0.691367, 0.3039]]
};
var linear = (c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
var parse = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255);
var times = (m, v) => m.map((r) => r[0] * v[0] + r[1] * v[1] + r[2] * v[2]);
function lab(rgb) {
  const [x, y, z] = times([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]], rgb);
  const f = (t) => t > 216 / 24389 ? Math.cbrt(t) : (24389 / 27 * t + 16) / 116;
  const [fx, fy, fz] = [f(x / 0.95047), f(y), f(z / 1.08883)];
  return [116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)];
}
function distance(a, b, deficiency) {
  const seen = (hex) => lab(times(deficiency, parse(hex).map(linear)).map((c) => Math.min(1, Math.max(0, c))));
  const [p, q] = [seen(a), seen(b)];
  return Math.hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]);
}
var kClasses = ["compute", "memory", "transfer", "wait", "host", "input", "idle"];
for (const theme of ["light", "dark"]) {
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
    const lightness = Array.from({ length: 33 }, (_, i) => lab(heatColour(theme, i / 32).map((c) => linear(c / 255)))[0]);
    const sign = theme === "light" ? -1 : 1;
    for (let i = 1; i < lightness.length; i++) assert.ok(sign * (lightness[i] - lightness[i - 1]) > 0, `at ${i}/32`);
  });
}
var contrast = (a, b) => {
  const [x, y] = [a, b].map((hex) => times([[0.2126, 0.7152, 0.0722], [0, 0, 0], [0, 0, 0]], parse(hex).map(linear))[0]).sort((p, q) => q - p);
  return (x + 0.05) / (y + 0.05);
};
test("text on the page meets WCAG AA (4.5 to 1)", async () => {
  const { readFileSync } = await import("node:fs");
  const css = readFileSync("src/style.css", "utf8");
  const blocks = [...css.matchAll(/:root \{([^}]*)\}/g)].slice(0, 2);
  for (const block of blocks) {
    const token = (name) => new RegExp(`--${name}: (#[0-9a-f]{6})`).exec(block[1])[1];
    for (const [ink, ground] of [
      ["ink", "bg"],
      ["ink", "surface"],
      ["dim", "surface"],
      ["dim", "bg"],
      ["faint", "surface"],
      ["faint", "bg"],
      ["accent", "surface"],
      ["accent", "accent-soft"],
      ["critical", "surface"],
      ["critical", "critical-soft"],
      ["warning", "surface"],
      ["warning", "warning-soft"],
      ["info", "raised"],
      ["ink", "accent-soft"]
    ]) {
      const c = contrast(token(ink), token(ground));
      assert.ok(c >= 4.5, `${ink} on ${ground}: ${c.toFixed(2)}`);
    }
  }
});
