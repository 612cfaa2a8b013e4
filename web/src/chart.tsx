// SPDX-License-Identifier: Apache-2.0
// Lines or points over one axis, drawn by uPlot; the same numbers as a table for those who cannot see or point.
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { currentInk } from './canvas';
import type { Chart } from './doc';
import { format, scaleFor, scaled } from './format';
import { kClassColours } from './palette';

const kHeight = 220;

// From zero, unless all values lie so high that their differences would vanish.
function yRange(_: uPlot, low: number, high: number): [number, number] {
  const span = high - low || Math.abs(high) || 1;
  const room = Math.max(span, 0.2 * Math.abs(high));  // noise must look like noise
  return [low > 0.5 * high && low > 0 ? low - 0.25 * room : Math.min(0, low), high + 0.15 * room];
}

function plot(chart: Chart, host: HTMLElement): uPlot {
  const ink = currentInk();
  const y = scaleFor(chart.series.flatMap((s) => s.values), chart.y_unit);
  const x = scaleFor(chart.x, chart.x_unit);
  const axis = { stroke: ink.faint, font: `11px ${ink.font}`, labelFont: `11px ${ink.font}`, labelSize: 16, gap: 3, grid: { stroke: ink.line, width: 1 }, ticks: { stroke: ink.line, width: 1 } };
  const unitOf = (suffix: string) => (suffix ? ` (${suffix})` : '');
  return new uPlot({
    width: host.clientWidth,
    height: kHeight,
    legend: { live: true },
    cursor: { y: false, points: { size: 7 } },
    scales: { x: { time: false }, y: { range: yRange } },
    axes: [
      { ...axis, label: chart.x_name + unitOf(x.suffix), values: (_, ticks) => ticks.map((t) => scaled(t, chart.x_unit, { ...x, digits: t % x.divisor ? 1 : 0 })) },
      { ...axis, size: 56, label: chart.y_name + unitOf(y.suffix), values: (_, ticks) => ticks.map((t) => scaled(t, chart.y_unit, { ...y, digits: t % y.divisor ? Math.max(1, y.digits) : 0 })) },
    ],
    series: [
      { label: chart.x_name, value: (_, v, __, i) => (v === null || i === null ? '–' : `${chart.labels[i] ? `${chart.labels[i]}: ` : ''}${format(v, chart.x_unit)}`) },
      ...chart.series.map((s) => ({
        label: s.name,
        stroke: kClassColours[ink.theme][s.time_class],
        width: 2,
        paths: s.points ? () => null : undefined,
        points: { show: s.points || chart.x.length < 60, size: s.points ? 8 : 5, fill: kClassColours[ink.theme][s.time_class] },
        value: (_: uPlot, v: number | null) => format(v, chart.y_unit),
      })),
    ],
  }, [chart.x, ...chart.series.map((s) => s.values)] as uPlot.AlignedData, host);
}

export function ChartView({ chart }: { chart: Chart }) {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = host.current!;
    let shown = plot(chart, element);
    let width = element.clientWidth;
    const again = () => {
      shown.destroy();
      shown = plot(chart, element);
    };
    const observer = new ResizeObserver(() => {
      if (element.clientWidth === width || element.clientWidth === 0) return;
      width = element.clientWidth;
      shown.setSize({ width, height: kHeight });
    });
    observer.observe(element);
    const dark = matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', again);
    addEventListener('beforeprint', again);
    addEventListener('afterprint', again);
    return () => {
      observer.disconnect();
      dark.removeEventListener('change', again);
      removeEventListener('beforeprint', again);
      removeEventListener('afterprint', again);
      shown.destroy();
    };
  }, [chart]);
  return (
    <>
      <div ref={host} class="chart" role="img" aria-label={`${chart.y_name} over ${chart.x_name}: ${chart.series.map((s) => s.name).join(', ')}`} />
      <details class="more"><summary>As a table</summary>
        <div class="scroll-x">
          <table class="data">
            <thead><tr><th class="num">{chart.x_name}</th>{chart.labels.length ? <th>name</th> : null}{chart.series.map((s, i) => <th key={i} class="num">{s.name}</th>)}</tr></thead>
            <tbody>
              {chart.x.slice(0, 500).map((x, i) => (
                <tr key={i}><td class="num">{format(x, chart.x_unit)}</td>{chart.labels.length ? <td>{chart.labels[i]}</td> : null}
                  {chart.series.map((s, k) => <td key={k} class="num">{format(s.values[i], chart.y_unit)}</td>)}</tr>
              ))}
            </tbody>
          </table>
        </div>
      </details>
    </>
  );
}
