// SPDX-License-Identifier: Apache-2.0
// Lanes of a few ranks around a finding on one clock: who was busy, who waited, and for whom.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { fillOf, fitText, useCanvas, type Ink } from './canvas';
import { kMarks, kTimeClasses, type Mark, type TimeClass, type Timeline } from './doc';
import { duration, scaleFor, scaled } from './format';
import { textOn } from './palette';
import { Command, kMarkShapes, kMarkWords, Legend } from './parts';
import { usePage } from './selection';
import { axisTicks, clampView, indexLanes, pan, rectAt, visible, zoom, type LaneIndex, type View } from './timeline_model';

const kLane = 20;
const kOwnerHead = 20;
const kOwnerGap = 8;
const kAxis = 34;
const kOverview = 10;

interface Placed { top: number[]; owners: { top: number; lane: number }[]; height: number }

function placeLanes(timeline: Timeline): Placed {
  const top: number[] = [];
  const owners: Placed['owners'] = [];
  let y = kAxis;
  timeline.lanes.forEach((lane, i) => {
    if (i === 0 || lane.owner !== timeline.lanes[i - 1].owner) {
      if (i > 0) y += kOwnerGap;
      owners.push({ top: y, lane: i });
      y += kOwnerHead;
    }
    top.push(y);
    y += kLane;
  });
  return { top, owners, height: y + kOwnerGap + kOverview };
}

export function TimelineView({ timeline }: { timeline: Timeline }) {
  const { pickRank, doc } = usePage();
  const [view, setView] = useState<View>({ from: 0, to: timeline.length });
  const [hover, setHover] = useState(-1);
  const dragged = useRef<{ x: number; view: View; moved: boolean } | null>(null);
  const index: LaneIndex[] = useMemo(() => indexLanes(timeline), [timeline]);
  const placed = useMemo(() => placeLanes(timeline), [timeline]);
  useEffect(() => { setView({ from: 0, to: timeline.length }); setHover(-1); }, [timeline]);

  const gutter = useRef(120);
  const size = useRef(0);
  const toX = (t: number) => gutter.current + ((t - view.from) / (view.to - view.from)) * (size.current - gutter.current);
  const toTime = (x: number) => view.from + ((x - gutter.current) / (size.current - gutter.current)) * (view.to - view.from);

  const ref = useCanvas((c, width, height, ink) => {
    size.current = width;
    gutter.current = width < 700 ? 100 : 116;
    paintAxis(c, ink, width, height);
    c.save();
    c.beginPath();
    c.rect(gutter.current, 0, width - gutter.current, height);
    c.clip();
    timeline.lanes.forEach((_, lane) => paintLane(c, ink, lane));
    paintArrows(c, ink);
    c.restore();
    paintOwners(c, ink, width);
    const y = height - 6;
    c.fillStyle = ink.line;
    c.fillRect(gutter.current, y, width - gutter.current, 4);
    c.fillStyle = ink.faint;
    const wide = width - gutter.current;
    c.fillRect(gutter.current + (view.from / timeline.length) * wide, y, Math.max(6, ((view.to - view.from) / timeline.length) * wide), 4);
  });

  const paintAxis = (c: CanvasRenderingContext2D, ink: Ink, width: number, height: number) => {
    const marks = axisTicks(view, (width - gutter.current) / 90);
    const scale = scaleFor([view.to - view.from], 'duration');
    const between = marks.length > 1 ? (marks[1] - marks[0]) / scale.divisor : 1;
    const digits = Math.max(0, Math.ceil(-Math.log10(between) - 1e-9));
    c.font = `10px ${ink.font}`;
    c.textBaseline = 'middle';
    c.textAlign = 'center';
    for (const t of marks) {
      const x = toX(t);
      c.fillStyle = ink.line;
      c.fillRect(Math.round(x), kAxis - 6, 1, height - kAxis - kOverview);
      c.fillStyle = ink.faint;
      const crossed = timeline.ticks.some((tick) => Math.abs(toX(tick.at) - x) < 24);
      const text = view.to - view.from >= 600e9 ? duration(t) : `${scaled(t, 'duration', { ...scale, digits })} ${scale.suffix}`;
      if (x > gutter.current + 10 && x < width - 24 && !crossed) c.fillText(text, x, kAxis - 12);
    }
    c.textAlign = 'left';
    for (const tick of timeline.ticks) {
      const x = toX(tick.at);
      if (x < gutter.current || x > width) continue;
      c.strokeStyle = ink.dim;
      c.setLineDash([3, 3]);
      c.beginPath();
      c.moveTo(Math.round(x) + 0.5, 2);
      c.lineTo(Math.round(x) + 0.5, height - kOverview);
      c.stroke();
      c.setLineDash([]);
      c.fillStyle = ink.dim;
      c.font = `bold 10px ${ink.font}`;
      c.fillText(tick.label, x + 4, 8);
      c.font = `10px ${ink.font}`;
    }
  };

  const paintLane = (c: CanvasRenderingContext2D, ink: Ink, lane: number) => {
    const { start, duration: lengths, time_class, name, mark } = timeline.rects;
    const [first, last] = visible(index[lane], timeline, view);
    const y = placed.top[lane];
    const h = kLane - 4;
    let drawnTo = -Infinity;
    c.textBaseline = 'middle';
    c.textAlign = 'left';
    for (let k = first; k < last; k++) {
      const i = index[lane].rects[k];
      const x = toX(start[i]);
      const end = toX(start[i] + lengths[i]);
      // Several in one pixel look like one.
      if (end < drawnTo && end - x < 0.5) continue;
      const w = Math.max(1, end - x);
      drawnTo = Math.floor(x) + 1;
      const timeClass = kTimeClasses[time_class[i]];
      c.fillStyle = fillOf(c, timeClass, ink.theme);
      c.fillRect(x, y, w > 3 ? w - 0.7 : w, h);
      const m: Mark = mark ? kMarks[mark[i]] : 'none';
      if (m === 'culprit' || m === 'victim') {
        // A rail under it, which runs together where many narrow ones are marked; a frame where there is room.
        c.fillStyle = c.strokeStyle = m === 'culprit' ? ink.critical : ink.victim;
        c.fillRect(x, y + h, Math.max(1.5, w), 2.5);
        c.lineWidth = 1.5;
        if (w > 24) c.strokeRect(x + 0.5, y + 0.5, w - 1.5, h - 1);
      }
      if (w > 26) paintName(c, ink, timeline.names[name[i]] ?? '', timeClass, m, Math.max(x, gutter.current), y, Math.min(end, size.current), h);
      if (i === hover) {
        c.strokeStyle = ink.text;
        c.lineWidth = 2;
        c.strokeRect(x, y, w, h);
      }
    }
  };

  const paintName = (c: CanvasRenderingContext2D, ink: Ink, name: string, timeClass: TimeClass, mark: string, from: number, y: number, to: number, h: number) => {
    const shape = mark === 'culprit' || mark === 'victim' ? kMarkShapes[mark] + ' ' : '';
    c.font = `10px ${ink.font}`;
    const text = fitText(c, shape + name, to - from - 8);
    if (!text) return;
    if (timeClass === 'wait') {
      // A plate under the words: stripes are hard to read on.
      const wide = c.measureText(text).width + 6;
      c.fillStyle = ink.surface;
      c.globalAlpha = 0.85;
      c.fillRect(from + 2, y + 2, wide, h - 4);
      c.globalAlpha = 1;
      c.fillStyle = ink.text;
    } else {
      c.fillStyle = textOn(ink.theme, timeClass);
    }
    c.fillText(text, from + 5, y + h / 2 + 0.5);
  };

  const paintArrows = (c: CanvasRenderingContext2D, ink: Ink) => {
    c.lineWidth = 1.4;
    for (const arrow of timeline.arrows) {
      const x0 = toX(arrow.from);
      const x1 = toX(arrow.to);
      if (Math.max(x0, x1) < gutter.current || Math.min(x0, x1) > size.current) continue;
      const down = arrow.to_lane > arrow.from_lane;
      const y0 = placed.top[arrow.from_lane] + (down ? kLane - 4 : 0);
      const y1 = placed.top[arrow.to_lane] + (down ? 0 : kLane - 4);
      c.strokeStyle = c.fillStyle = ink.critical;
      c.beginPath();
      c.moveTo(x0, y0);
      const bend = Math.max(10, Math.abs(y1 - y0) * 0.35);
      c.bezierCurveTo(x0, y0 + (down ? bend : -bend), x1, y1 - (down ? bend : -bend), x1, y1 - (down ? 4 : -4));
      c.stroke();
      c.beginPath();
      c.moveTo(x1, y1);
      c.lineTo(x1 - 3.5, y1 - (down ? 7 : -7));
      c.lineTo(x1 + 3.5, y1 - (down ? 7 : -7));
      c.fill();
      c.beginPath();
      c.arc(x0, y0, 2.5, 0, 7);
      c.fill();
    }
  };

  const paintOwners = (c: CanvasRenderingContext2D, ink: Ink, width: number) => {
    for (const owner of placed.owners) {
      const lane = timeline.lanes[owner.lane];
      c.fillStyle = ink.line;
      c.fillRect(0, owner.top - kOwnerGap / 2, width, 1);
      c.textBaseline = 'middle';
      c.textAlign = 'left';
      c.font = `bold 11px ${ink.font}`;
      const word = kMarkWords[lane.mark];
      const mark = word ? `${kMarkShapes[lane.mark]} ${word}` : '';
      const y = owner.top + kOwnerHead / 2 - 1;
      const name = fitText(c, lane.owner, width * 0.6);
      const wide = c.measureText(name).width;
      c.fillStyle = ink.surface;
      c.globalAlpha = 0.9;
      c.fillRect(0, y - 8, wide + 8 + (mark ? c.measureText(mark).width + 10 : 0), 16);
      c.globalAlpha = 1;
      c.fillStyle = ink.text;
      c.fillText(name, 2, y);
      if (mark) {
        c.fillStyle = lane.mark === 'culprit' ? ink.critical : lane.mark === 'victim' ? ink.victim : ink.faint;
        c.fillText(mark, wide + 12, y);
      }
    }
    c.font = `11px ${ink.font}`;
    c.textAlign = 'left';
    timeline.lanes.forEach((lane, i) => {
      c.fillStyle = ink.dim;
      c.fillText(fitText(c, lane.label, gutter.current - 16), 10, placed.top[i] + (kLane - 4) / 2);
    });
  };

  const laneAt = (y: number) => placed.top.findIndex((top) => y >= top && y < top + kLane);
  const onMove = (event: MouseEvent) => {
    if (dragged.current) {
      const by = ((dragged.current.x - event.offsetX) / (size.current - gutter.current)) * (dragged.current.view.to - dragged.current.view.from);
      if (Math.abs(dragged.current.x - event.offsetX) > 3) dragged.current.moved = true;
      setView(clampView({ from: dragged.current.view.from + by, to: dragged.current.view.to + by }, timeline.length));
      return;
    }
    const lane = laneAt(event.offsetY);
    const slack = ((view.to - view.from) / (size.current - gutter.current)) * 1.5;
    setHover(lane < 0 || event.offsetX < gutter.current ? -1 : rectAt(index[lane], timeline, toTime(event.offsetX), slack));
  };
  const onUp = (event: MouseEvent) => {
    const was = dragged.current;
    dragged.current = null;
    const lane = laneAt(event.offsetY);
    if (was && !was.moved && lane >= 0 && timeline.lanes[lane].rank >= 0) pickRank(timeline.lanes[lane].rank);
  };
  const onWheel = (event: WheelEvent) => {
    const focused = document.activeElement === event.currentTarget;
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey) {
      setView(pan(view, (event.deltaX || event.deltaY) / 800, timeline.length));
    } else if (event.ctrlKey || event.metaKey || focused) {
      setView(zoom(view, Math.exp(event.deltaY / 400), toTime(event.offsetX), timeline.length));
    } else {
      return;
    }
    event.preventDefault();
  };
  const middle = (view.from + view.to) / 2;
  const onKey = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    switch (event.key) {
      case 'ArrowLeft': case 'a': setView(pan(view, -0.2, timeline.length)); break;
      case 'ArrowRight': case 'd': setView(pan(view, 0.2, timeline.length)); break;
      case 'ArrowUp': case '+': case '=': case 'w': setView(zoom(view, 0.7, middle, timeline.length)); break;
      case 'ArrowDown': case '-': case 's': setView(zoom(view, 1 / 0.7, middle, timeline.length)); break;
      case '0': setView({ from: 0, to: timeline.length }); break;
      case 'Home': setView(clampView({ from: 0, to: view.to - view.from }, timeline.length)); break;
      case 'End': setView(clampView({ from: timeline.length - (view.to - view.from), to: timeline.length }, timeline.length)); break;
      default: return;
    }
    event.preventDefault();
    event.stopPropagation();
  };
  // A wheel listener of the framework would be passive; this one must stop the page from scrolling.
  const wheel = useRef(onWheel);
  wheel.current = onWheel;
  useEffect(() => {
    const canvas = ref.current!;
    const listen = (event: WheelEvent) => wheel.current(event);
    canvas.addEventListener('wheel', listen, { passive: false });
    return () => canvas.removeEventListener('wheel', listen);
  }, []);

  const rects = timeline.rects;
  const used = useMemo(() => [...new Set(rects.time_class)].sort((a, b) => a - b).map((k) => kTimeClasses[k]), [rects]);
  const told = hover >= 0
    ? `${timeline.names[rects.name[hover]]} · ${timeline.lanes[rects.lane[hover]].owner} · ${duration(rects.duration[hover])}, from ${duration(rects.start[hover])} to ${duration(rects.start[hover] + rects.duration[hover])}${rects.mark && rects.mark[hover] ? ` · ${kMarkWords[kMarks[rects.mark[hover]]]}` : ''}`
    : null;
  const whole = doc.commands.find((command) => command.label === 'timeline');
  return (
    <>
      <div class="controls">
        {timeline.legend ? <Legend classes={used} /> : <span />}
        <span class="buttons">
          <button type="button" class="quiet" onClick={() => setView(zoom(view, 0.6, middle, timeline.length))} aria-label="Zoom in">+</button>
          <button type="button" class="quiet" onClick={() => setView(zoom(view, 1 / 0.6, middle, timeline.length))} aria-label="Zoom out">−</button>
          <button type="button" class="quiet" onClick={() => setView({ from: 0, to: timeline.length })}>All</button>
        </span>
      </div>
      <canvas ref={ref} class="timeline" style={{ height: `${placed.height}px` }} tabIndex={0} role="img"
        aria-label={`Timeline of ${placed.owners.map((o) => timeline.lanes[o.lane].owner + (kMarkWords[timeline.lanes[o.lane].mark] ? `, ${kMarkWords[timeline.lanes[o.lane].mark]}` : '')).join('; ')}. Left and right pan, up and down zoom, 0 shows all.`}
        onMouseDown={(e) => { dragged.current = { x: e.offsetX, view, moved: false }; }} onMouseMove={onMove} onMouseUp={onUp}
        onMouseLeave={() => { dragged.current = null; setHover(-1); }} onKeyDown={onKey}
        onDblClick={(e) => setView(zoom(view, 0.5, toTime(e.offsetX), timeline.length))} />
      <p class="readout" aria-live="polite">{told ?? <span class="hint">{timeline.arrows.length ? 'Arrows run from the one that came late to those that waited for it · ' : ''}
        {timeline.clock_residual > 0 ? `clocks agree to ${duration(timeline.clock_residual)} · ` : ''}drag to pan, ctrl + wheel to zoom</span>}</p>
      {whole ? (
        <details class="more"><summary>Open all of it in Perfetto</summary>
          <p>Write the whole timeline to a file, open <code>ui.perfetto.dev</code> in a browser and drop the file on it. The file is read in the browser and not uploaded.</p>
          <Command command={whole.command} />
        </details>
      ) : null}
    </>
  );
}
