// SPDX-License-Identifier: Apache-2.0
// Numbers and names as a person reads them; the same rules as the terminal (src/report/format.h).
import type { Finding, Unit, Value } from './doc';

const kDurationUnits: [number, string][] = [
  [3600e9, 'h'], [60e9, 'min'], [1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns'],
];
const kByteUnits: [number, string][] = [[2 ** 40, 'TiB'], [2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [2 ** 10, 'KiB'], [1, 'B']];
const kRateUnits: [number, string][] = [[1e12, 'TB/s'], [1e9, 'GB/s'], [1e6, 'MB/s'], [1e3, 'kB/s'], [1, 'B/s']];

export interface Scale { divisor: number; suffix: string; digits: number }

function unitsOf(unit: Unit): [number, string][] | null {
  if (unit === 'duration') return kDurationUnits;
  if (unit === 'bytes') return kByteUnits;
  if (unit === 'bytes-per-second') return kRateUnits;
  return null;
}

// Minutes and hours only once the smaller unit grows unwieldy (90 s stay seconds).
function pickUnit(units: [number, string][], magnitude: number): [number, string] {
  for (const [divisor, suffix] of units) {
    const enough = suffix === 'min' || suffix === 'h' ? 2 * divisor : divisor;
    if (magnitude >= enough) return [divisor, suffix];
  }
  return units[units.length - 1];
}

function grouped(value: number, digits: number): string {
  const [whole, fraction] = Math.abs(value).toFixed(digits).split('.');
  const body = whole.replace(/\B(?=(\d{3})+(?!\d))/g, ',') + (fraction ? '.' + fraction : '');
  return value < 0 && Number(value.toFixed(digits)) !== 0 ? '−' + body : body;
}

// Two significant digits below 100, whole numbers above.
function free(value: number): string {
  const magnitude = Math.abs(value);
  return grouped(value, magnitude === 0 || magnitude >= 9.95 || Number.isInteger(value) ? 0 : magnitude >= 0.995 ? 1 : 2);
}

export function duration(ns: number): string {
  if (ns === 0) return '0';
  const [divisor, suffix] = pickUnit(kDurationUnits, Math.abs(ns));
  return `${free(ns / divisor)} ${suffix}`;
}

export function share(value: number): string {
  const percent = value * 100;
  const magnitude = Math.abs(percent);
  if (magnitude > 0 && magnitude < 0.1) return '<0.1 %';
  return `${grouped(percent, magnitude < 9.95 && magnitude !== 0 ? 1 : 0)} %`;
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
    case 'bytes': case 'bytes-per-second': {
      const [divisor, suffix] = pickUnit(unitsOf(unit)!, Math.abs(value));
      return `${free(value / divisor)} ${suffix}`;
    }
    case 'share': return share(value);
    case 'ratio': return ratio(value);
    case 'count': return count(value);
    case 'step': return `#${value}`;
    case 'rank': return String(value);
    default: return significant(value);
  }
}

// One unit and one number of decimals for a whole column or axis, so that digits line up.
export function scaleFor(values: Value[], unit: Unit): Scale {
  let largest = 0;
  for (const value of values) if (typeof value === 'number') largest = Math.max(largest, Math.abs(value));
  const units = unitsOf(unit);
  if (!units) {
    if (unit === 'share') return { divisor: 0.01, suffix: '%', digits: largest >= 0.0995 && values.length > 0 ? 1 : 2 };
    if (unit === 'ratio') return { divisor: 1, suffix: 'x', digits: 2 };
    if (unit === 'number') return { divisor: 1, suffix: '', digits: largest >= 1000 ? 0 : largest >= 10 ? 1 : largest >= 0.1 ? 3 : 5 };
    return { divisor: 1, suffix: '', digits: 0 };
  }
  const [divisor, suffix] = pickUnit(units, largest);
  const top = largest / divisor;
  return { divisor, suffix, digits: divisor === 1 ? 0 : top >= 1000 ? 0 : top >= 100 ? 1 : 2 };
}

export function scaled(value: Value, unit: Unit, scale: Scale): string {
  if (value === null) return '–';
  if (typeof value === 'string') return value;
  if (unit === 'step') return `#${value}`;
  if (unit === 'rank') return String(value);
  return grouped(value / scale.divisor, scale.digits);
}

export function isNumeric(unit: Unit): boolean { return unit !== 'text'; }

// "slow-device" -> "Slow device".
export function causeInWords(cause: string): string {
  const words = cause.replace(/-/g, ' ').replace(/\bgc\b/, 'GC');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

// [1,2,3,7,9,10] -> "1-3, 7, 9-10".
export function ranges(values: readonly number[]): string {
  const parts: string[] = [];
  for (let i = 0; i < values.length;) {
    let j = i;
    while (j + 1 < values.length && values[j + 1] === values[j] + 1) j++;
    parts.push(j === i ? `${values[i]}` : j === i + 1 ? `${values[i]}, ${values[j]}` : `${values[i]}–${values[j]}`);
    i = j + 1;
  }
  return parts.join(', ');
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
