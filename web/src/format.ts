// SPDX-License-Identifier: Apache-2.0
// Numbers and names as a person reads them; the same rules as the terminal (src/report/format.h).
import type { Finding, Unit, Value } from './doc';

export interface Scale { divisor: number; suffix: string; digits: number }

// "1,155.2", halves away from zero, a real minus sign.
export function grouped(value: number, digits: number): string {
  if (!Number.isFinite(value)) return '–';
  const [whole, fraction] = Math.abs(value).toFixed(digits).split('.');
  const body = whole.replace(/\B(?=(\d{3})+(?!\d))/g, ',') + (fraction ? '.' + fraction : '');
  return value < 0 && /[1-9]/.test(body) ? '−' + body : body;
}

const two = (n: number) => String(n).padStart(2, '0');

// About three digits in the largest unit that fits: "0.4 µs", "81 ms", "1.31 s", "5 min 07 s".
export function duration(ns: number): string {
  const magnitude = Math.abs(ns);
  const sign = ns < 0 ? '−' : '';
  const say = (divisor: number, digits: number, unit: string) => `${sign}${(magnitude / divisor).toFixed(digits)} ${unit}`;
  if (magnitude < 100) return say(1, 0, 'ns');
  if (magnitude < 9950) return say(1e3, 1, 'µs');
  if (magnitude < 999_500) return say(1e3, 0, 'µs');
  if (magnitude < 9_950_000) return say(1e6, 1, 'ms');
  if (magnitude < 999_500_000) return say(1e6, 0, 'ms');
  if (magnitude < 9_995_000_000) return say(1e9, 2, 's');
  if (magnitude < 99_950_000_000) return say(1e9, 1, 's');
  const seconds = Math.round(magnitude / 1e9);
  if (seconds < 300) return `${sign}${seconds} s`;
  if (seconds < 3600) return `${sign}${Math.floor(seconds / 60)} min ${two(seconds % 60)} s`;
  const minutes = Math.floor((seconds + 30) / 60);
  return `${sign}${Math.floor(minutes / 60)} h ${two(minutes % 60)} min`;
}

// Decimal units, three digits: "999 B", "1.23 KB", "48.2 MB".
function decimalBytes(value: number, suffix: string): string {
  let magnitude = Math.abs(value);
  const sign = value < 0 ? '−' : '';
  if (magnitude < 1000) return `${sign}${magnitude.toFixed(0)} B${suffix}`;
  const units = ['KB', 'MB', 'GB', 'TB', 'PB', 'EB'];
  let at = -1;
  do {
    magnitude /= 1000;
    at++;
  } while (at + 1 < units.length && magnitude >= 999.5);
  return `${sign}${magnitude.toFixed(magnitude < 9.995 ? 2 : magnitude < 99.95 ? 1 : 0)} ${units[at]}${suffix}`;
}

export function share(value: number): string {
  const percent = Math.abs(value * 100);
  if (percent > 0 && percent < 0.1) return '<0.1 %';
  return `${grouped(value * 100, percent > 0 && percent < 9.95 ? 1 : 0)} %`;
}

export function count(value: number): string { return grouped(value, 0); }
export function ratio(value: number): string { return `${value.toFixed(2)}x`; }

function significant(value: number): string {
  if (value === 0) return '0';
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return grouped(value, Math.min(digits, 6));
}

export function format(value: Value, unit: Unit): string {
  if (value === null) return '–';
  if (typeof value === 'string') return value;
  switch (unit) {
    case 'duration': return duration(value);
    case 'bytes': return decimalBytes(value, '');
    case 'bytes-per-second': return decimalBytes(value, '/s');
    case 'share': return share(value);
    case 'ratio': return ratio(value);
    case 'count': return count(value);
    case 'step': return `#${value}`;
    case 'rank': return String(value);
    default: return significant(value);
  }
}

function allWhole(values: Value[]): boolean {
  return values.every((value) => typeof value !== 'number' || !Number.isFinite(value) || Number.isInteger(value));
}

// Three digits behind the point, or three significant ones of the largest, where that is more.
function numberDigits(largest: number): number {
  if (largest >= 10) return largest >= 1000 ? 0 : 1;
  if (largest >= 0.1 || largest === 0) return 3;
  return Math.min(9, 2 - Math.floor(Math.log10(largest)));
}

// One unit and one number of decimals for a whole column or axis, so that digits line up; the unit stands in the head.
// Sizes and rates keep theirs in the cell.
export function scaleFor(values: Value[], unit: Unit): Scale {
  let largest = 0;
  for (const value of values) if (typeof value === 'number' && Number.isFinite(value)) largest = Math.max(largest, Math.abs(value));
  switch (unit) {
    case 'duration': {
      const [divisor, suffix] = largest > 0 && largest < 1e6 ? [1e3, 'µs'] as const : largest < 10e9 ? [1e6, 'ms'] as const : [1e9, 's'] as const;
      const top = largest / divisor;
      return { divisor, suffix, digits: top >= 1000 ? 0 : top >= 100 ? 1 : 2 };
    }
    case 'share': return { divisor: 0.01, suffix: '%', digits: largest >= 0.0995 ? 1 : 2 };
    case 'number': return { divisor: 1, suffix: '', digits: allWhole(values) ? 0 : numberDigits(largest) };
    default: return { divisor: 1, suffix: '', digits: 0 };
  }
}

export function scaled(value: Value, unit: Unit, scale: Scale): string {
  if (typeof value !== 'number' || (unit !== 'duration' && unit !== 'share' && unit !== 'number')) return format(value, unit);
  return value === 0 ? '0' : grouped(value / scale.divisor, scale.digits);
}

export function isNumeric(unit: Unit): boolean { return unit !== 'text'; }

// "slow-device" -> "Slow device".
export function causeInWords(cause: string): string {
  const words = cause.replace(/-/g, ' ').replace(/\bgc\b/, 'GC');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

// [1,2,3,7,9,10] -> "1-3, 7, 9-10".
export function ranges(values: readonly number[], most = Infinity): string {
  const parts: string[] = [];
  for (let i = 0; i < values.length;) {
    let j = i;
    while (j + 1 < values.length && values[j + 1] === values[j] + 1) j++;
    parts.push(j === i ? `${values[i]}` : j === i + 1 ? `${values[i]}, ${values[j]}` : `${values[i]}–${values[j]}`);
    i = j + 1;
  }
  return parts.length > most ? `${parts.slice(0, most).join(', ')}, …` : parts.join(', ');
}

export function plural(n: number, one: string, many = one + 's'): string { return `${count(n)} ${n === 1 ? one : many}`; }

export function whenInWords(when: Finding['when'], total: number): string {
  const steps = when.steps;
  switch (when.kind) {
    case 'persistent': return 'in every step';
    case 'onset': return steps.length ? `since step #${steps[0]}` : 'since some step';
    case 'once': return steps.length ? `once, in step #${steps[0]}` : 'once';
    case 'intermittent': return steps.length && total ? `in ${steps.length} of ${total} steps` : 'in some steps';
  }
}
