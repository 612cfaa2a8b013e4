// SPDX-License-Identifier: Apache-2.0
// Small pieces every section uses.
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Ink } from './canvas';
import type { Severity, TimeClass } from './doc';
import { kClassNames, kHatched } from './palette';
import { usePage, type Sign } from './selection';

// A word with its definition, shown on hover and on focus. `inside` a button the word is no stop of its own: the tip follows
// the button's focus.
export function Term({ term, children, inside = false }: { term: string; children: ComponentChildren; inside?: boolean }) {
  const { doc } = usePage();
  const entry = useMemo(() => doc.definitions.find((d) => d.term === term), [doc, term]);
  const ref = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    const button = inside ? ref.current?.closest('button') : null;
    if (!button || !entry) return undefined;
    const show = () => showTip(button, entry);
    button.addEventListener('focus', show);
    button.addEventListener('blur', hideTip);
    return () => {
      button.removeEventListener('focus', show);
      button.removeEventListener('blur', hideTip);
    };
  }, [inside, entry]);
  if (!entry) return <>{children}</>;
  const show = () => showTip(ref.current!, entry);
  return (
    <span ref={ref} class="term" tabIndex={inside ? undefined : 0} aria-describedby={inside ? undefined : `def-${term}`}
      onMouseEnter={show} onMouseLeave={hideTip} onFocus={inside ? undefined : show} onBlur={inside ? undefined : hideTip}>
      {children}
    </span>
  );
}

let tip: HTMLElement | null = null;

// One tip for the page, kept inside the window.
function showTip(anchor: HTMLElement, entry: { title: string; text: string }): void {
  if (!anchor.matches(':hover, :focus-visible')) return;
  hideTip();
  tip = document.createElement('div');
  tip.className = 'tip';
  tip.setAttribute('aria-hidden', 'true');
  const title = document.createElement('b');
  title.textContent = entry.title;
  tip.append(title, entry.text);
  document.body.append(tip);
  const at = anchor.getBoundingClientRect();
  const size = tip.getBoundingClientRect();
  const below = at.bottom + 6 + size.height <= innerHeight;
  tip.style.left = `${Math.max(8, Math.min(at.left, innerWidth - size.width - 8))}px`;
  tip.style.top = `${below ? at.bottom + 6 : Math.max(8, at.top - size.height - 6)}px`;
}

export function hideTip(): void {
  tip?.remove();
  tip = null;
}

export function Swatch({ timeClass }: { timeClass: TimeClass }) {
  return <span class={`swatch class-${timeClass}${kHatched.has(timeClass) ? ' hatched' : ''}`} aria-hidden="true" />;
}

export function Legend({ classes, names, line }: { classes: TimeClass[]; names?: string[]; line?: string }) {
  return (
    <ul class="legend">
      {classes.map((c, i) => <li key={i}><Swatch timeClass={c} />{names?.[i] ?? kClassNames[c]}</li>)}
      {line ? <li><span class="swatch line" aria-hidden="true" />{line}</li> : null}
    </ul>
  );
}

export const kSeverityShapes: Record<Severity, string> = { critical: '◆', warning: '▲', info: '●' };
export const kMarkShapes: Record<Sign, string> = { none: '', culprit: '▲', victim: '▽', peer: '○', picked: '◆' };
export const kMarkWords: Record<Sign, string> = { none: '', culprit: 'culprit', victim: 'waits', peer: 'peer', picked: 'picked' };

export function signColour(sign: Sign, ink: Ink): string {
  return sign === 'culprit' ? ink.critical : sign === 'victim' ? ink.victim : sign === 'picked' ? ink.accent : ink.faint;
}

export function Panel({ id, title, intro, children, aside }: {
  id: string; title: ComponentChildren; intro?: string; children: ComponentChildren; aside?: ComponentChildren;
}) {
  return (
    <section class="panel" id={id} aria-labelledby={`${id}-title`} tabIndex={-1}>
      <header class="panel-head"><h2 id={`${id}-title`}>{title}</h2>{aside}</header>
      {intro ? <p class="intro">{intro}</p> : null}
      {children}
    </section>
  );
}

export function Choice<T extends string>({ label, value, options, onChange }: {
  label: string; value: T; options: readonly (readonly [T, string])[]; onChange: (value: T) => void;
}) {
  return (
    <label class="choice">
      <span>{label}</span>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value as T)}>
        {options.map(([key, name]) => <option key={key} value={key}>{name}</option>)}
      </select>
    </label>
  );
}

export function CopyButton({ text }: { text: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // From file:// some browsers refuse the clipboard; the old way still works there.
      const area = document.createElement('textarea');
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand('copy');
      area.remove();
    }
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  return <button type="button" class="quiet" onClick={copy} aria-label={`Copy: ${text}`}>{copied ? 'Copied' : 'Copy'}</button>;
}

export function Command({ command }: { command: string }) {
  return <div class="command"><code>{command}</code><CopyButton text={command} /></div>;
}

// Text with `code` in backticks.
export function Prose({ text }: { text: string }) {
  return <>{text.split('`').map((part, i) => (i % 2 ? <code key={i}>{part}</code> : part))}</>;
}

export function RankChips({ ranks, hosts }: { ranks: number[]; hosts: string[] }) {
  const { places, pickRank, pickRanks, selection } = usePage();
  const whole = hosts.filter((host) => places.ranksOf(host).length > 1 && ranks.length > 1);
  const shown = ranks.slice(0, whole.length ? 3 : 6);
  return (
    <span class="chips">
      {whole.slice(0, 4).map((host) => (
        <button type="button" key={host} class="chip" onClick={() => pickRanks(places.ranksOf(host))}>host {host}</button>
      ))}
      {shown.map((rank) => (
        <button type="button" key={rank} class="chip" aria-pressed={selection.ranks.has(rank)} onClick={() => pickRank(rank)}
          title="Mark this rank in every picture">{places.describe(rank)}</button>
      ))}
      {ranks.length > shown.length
        ? <button type="button" class="chip" onClick={() => pickRanks(ranks)}>and {ranks.length - shown.length} more</button> : null}
    </span>
  );
}
