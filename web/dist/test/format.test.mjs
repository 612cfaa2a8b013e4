// test/format.test.ts
import assert from "node:assert/strict";
import { test } from "node:test";

// src/format.ts
function grouped(value, digits) {
  if (!Number.isFinite(value)) return "\u2013";
  const [whole, fraction] = Math.abs(value).toFixed(digits).split(".");
  const body = whole.replace(/\B(?=(\d{3})+(?!\d))/g, ",") + (fraction ? "." + fraction : "");
  return value < 0 && /[1-9]/.test(body) ? "\u2212" + body : body;
}
var two = (n) => String(n).padStart(2, "0");
function duration(ns) {
  const magnitude = Math.abs(ns);
  const sign = ns < 0 ? "\u2212" : "";
  const say = (divisor, digits, unit) => `${sign}${(magnitude / divisor).toFixed(digits)} ${unit}`;
  if (magnitude < 100) return say(1, 0, "ns");
  if (magnitude < 9950) return say(1e3, 1, "\xB5s");
  if (magnitude < 999500) return say(1e3, 0, "\xB5s");
  if (magnitude < 995e4) return say(1e6, 1, "ms");
  if (magnitude < 9995e5) return say(1e6, 0, "ms");
  if (magnitude < 9995e6) return say(1e9, 2, "s");
  if (magnitude < 9995e7) return say(1e9, 1, "s");
  const seconds = Math.round(magnitude / 1e9);
  if (seconds < 300) return `${sign}${seconds} s`;
  if (seconds < 3600) return `${sign}${Math.floor(seconds / 60)} min ${two(seconds % 60)} s`;
  const minutes = Math.floor((seconds + 30) / 60);
  return `${sign}${Math.floor(minutes / 60)} h ${two(minutes % 60)} min`;
}
function decimalBytes(value, suffix) {
  let magnitude = Math.abs(value);
  const sign = value < 0 ? "\u2212" : "";
  if (magnitude < 1e3) return `${sign}${magnitude.toFixed(0)} B${suffix}`;
  const units = ["KB", "MB", "GB", "TB", "PB", "EB"];
  let at = -1;
  do {
    magnitude /= 1e3;
    at++;
  } while (at + 1 < units.length && magnitude >= 999.5);
  return `${sign}${magnitude.toFixed(magnitude < 9.995 ? 2 : magnitude < 99.95 ? 1 : 0)} ${units[at]}${suffix}`;
}
function share(value) {
  const percent = Math.abs(value * 100);
  if (percent > 0 && percent < 0.1) return "<0.1 %";
  return `${grouped(value * 100, percent > 0 && percent < 9.95 ? 1 : 0)} %`;
}
function count(value) {
  return grouped(value, 0);
}
function ratio(value) {
  return `${value.toFixed(2)}x`;
}
function significant(value) {
  if (value === 0) return "0";
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return grouped(value, Math.min(digits, 6));
}
function format(value, unit) {
  if (value === null) return "\u2013";
  if (typeof value === "string") return value;
  switch (unit) {
    case "duration":
      return duration(value);
    case "bytes":
      return decimalBytes(value, "");
    case "bytes-per-second":
      return decimalBytes(value, "/s");
    case "share":
      return share(value);
    case "ratio":
      return ratio(value);
    case "count":
      return count(value);
    case "step":
      return `#${value}`;
    case "rank":
      return String(value);
    default:
      return significant(value);
  }
}
function scaleFor(values, unit) {
  let largest = 0;
  for (const value of values) if (typeof value === "number" && Number.isFinite(value)) largest = Math.max(largest, Math.abs(value));
  switch (unit) {
    case "duration": {
      const [divisor, suffix] = largest < 1e6 ? [1e3, "\xB5s"] : largest < 1e10 ? [1e6, "ms"] : [1e9, "s"];
      const top = largest / divisor;
      return { divisor, suffix, digits: top >= 1e3 ? 0 : top >= 100 ? 1 : 2 };
    }
    case "share":
      return { divisor: 0.01, suffix: "%", digits: largest >= 0.0995 ? 1 : 2 };
    case "number":
      return { divisor: 1, suffix: "", digits: largest >= 1e3 ? 0 : largest >= 10 ? 1 : largest >= 0.1 ? 3 : 5 };
    default:
      return { divisor: 1, suffix: "", digits: 0 };
  }
}
function scaled(value, unit, scale) {
  if (typeof value !== "number" || unit !== "duration" && unit !== "share" && unit !== "number") return format(value, unit);
  return grouped(value / scale.divisor, scale.digits);
}
function causeInWords(cause) {
  const words = cause.replace(/-/g, " ").replace(/\bgc\b/, "GC");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
function ranges(values, most = Infinity) {
  const parts = [];
  for (let i = 0; i < values.length; ) {
    let j = i;
    while (j + 1 < values.length && values[j + 1] === values[j] + 1) j++;
    parts.push(j === i ? `${values[i]}` : j === i + 1 ? `${values[i]}, ${values[j]}` : `${values[i]}\u2013${values[j]}`);
    i = j + 1;
  }
  return parts.length > most ? `${parts.slice(0, most).join(", ")}, \u2026` : parts.join(", ");
}
function whenInWords(when, total) {
  const steps = when.steps;
  switch (when.kind) {
    case "persistent":
      return "in every step";
    case "onset":
      return steps.length ? `since step #${steps[0]}` : "since some step";
    case "once":
      return steps.length ? `once, in step #${steps[0]}` : "once";
    case "intermittent":
      return steps.length && total ? `in ${steps.length} of ${total} steps` : "in some steps";
  }
}

// test/format.test.ts
test("durations take the largest unit that fits", () => {
  const cases = [
    [0, "0 ns"],
    [85, "85 ns"],
    [400, "0.4 \xB5s"],
    [9949, "9.9 \xB5s"],
    [9950, "10 \xB5s"],
    [81e3, "81 \xB5s"],
    [999499, "999 \xB5s"],
    [999500, "1.0 ms"],
    [13e5, "1.3 ms"],
    [81e6, "81 ms"],
    [412e6, "412 ms"],
    [131e7, "1.31 s"],
    [125e8, "12.5 s"],
    [299e9, "299 s"],
    [307e9, "5 min 07 s"],
    [75e11, "2 h 05 min"],
    [-81e6, "\u221281 ms"]
  ];
  for (const [ns, text] of cases) assert.equal(duration(ns), text);
});
test("a share keeps a digit where it matters", () => {
  const cases = [[0, "0 %"], [4e-4, "<0.1 %"], [7e-3, "0.7 %"], [0.0994, "9.9 %"], [0.0996, "10 %"], [0.61, "61 %"], [-0.2, "\u221220 %"]];
  for (const [value, text] of cases) assert.equal(share(value), text);
});
test("every unit says itself, no value is a dash", () => {
  assert.equal(format(48213990, "count"), "48,213,990");
  assert.equal(format(1155, "rank"), "1155");
  assert.equal(format(101, "step"), "#101");
  assert.equal(format(1.31, "ratio"), "1.31x");
  assert.equal(format(999, "bytes"), "999 B");
  assert.equal(format(1230, "bytes"), "1.23 KB");
  assert.equal(format(482e5, "bytes"), "48.2 MB");
  assert.equal(format(9996e5, "bytes"), "1.00 GB");
  assert.equal(format(123e8, "bytes-per-second"), "12.3 GB/s");
  assert.equal(format(0.012345, "number"), "0.0123");
  assert.equal(format(null, "duration"), "\u2013");
  assert.equal(format("9007199254740993", "count"), "9007199254740993");
});
test("a column has one unit and one number of digits", () => {
  const values = [900, 81e6, null];
  const scale = scaleFor(values, "duration");
  assert.equal(scale.suffix, "ms");
  assert.deepEqual(values.map((v) => scaled(v, "duration", scale)), ["0.00", "81.00", "\u2013"]);
  const big = scaleFor([123e6], "duration");
  assert.equal(scaled(123e6, "duration", big), "123.0");
  assert.equal(scaleFor([1e10], "duration").suffix, "s");
  assert.equal(scaled(0.292, "share", scaleFor([0.292], "share")), "29.2");
});
test("causes and times in words", () => {
  assert.equal(causeInWords("slow-host-code"), "Slow host code");
  assert.equal(causeInWords("gc-pause"), "GC pause");
  assert.equal(whenInWords({ kind: "onset", steps: [107] }, 12), "since step #107");
  assert.equal(whenInWords({ kind: "intermittent", steps: [1, 2, 3] }, 12), "in 3 of 12 steps");
  assert.equal(whenInWords({ kind: "once", steps: [104] }, 12), "once, in step #104");
});
test("ranks are told in ranges", () => {
  assert.equal(ranges([]), "");
  assert.equal(ranges([1, 2, 3, 7, 9, 10]), "1\u20133, 7, 9, 10");
  assert.equal(ranges([1, 3, 5, 7], 2), "1, 3, \u2026");
});
