// SPDX-License-Identifier: Apache-2.0
// Small pieces every section uses.
import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { Mark, Severity, TimeClass } from './doc';
import { kClassNames, kHatched } from './palette';
import { usePage } from './selection';

// A word with its definition: shown on hover and on focus.
export function Term({ term, children }: { term: string; children: ComponentChildren }) {
  const { doc } = usePage();
  const entry = useMemo(() => doc.definitions.find((d) => d.term === term), [doc, term]);
  if (!entry) return <>{children}</>;
  return (
    <span class="term" tabIndex={0} aria-describedby={`def-${term}`}>
      {children}
      <span class="tip" role="tooltip"><b>{entry.title}</b> {entry.text}</span>
    </span>
  );
}

export function Swatch({ timeClass }: { timeClass: TimeClass }) {
  return <span class={`swatch class-${timeClass}${kHatched.has(timeClass) ? ' hatched' : ''}`} aria-hidden="true" />;
}

export function Legend({ classes, names }: { classes: TimeClass[]; names?: string[] }) {
  return (
    <ul class="legend">
      {classes.map((c, i) => <li key={i}><Swatch timeClass={c} />{names?.[i] ?? kClassNames[c]}</li>)}
    </ul>
  );
}

export const kSeverityShapes: Record<Severity, string> = { critical: '◆', warning: '▲', info: '●' };
export const kMarkShapes: Record<Mark, string> = { none: '', culprit: '▲', victim: '▽', peer: '○' };
export const kMarkWords: Record<Mark, string> = { none: '', culprit: 'culprit', victim: 'waits', peer: 'peer' };

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
  const shown = ranks.slice(0, 6);
  return (
    <span class="chips">
      {shown.map((rank) => (
        <button type="button" key={rank} class="chip" aria-pressed={selection.ranks.has(rank)} onClick={() => pickRank(rank)}
          title="Mark this rank in every picture">{places.describe(rank)}</button>
      ))}
      {ranks.length > shown.length
        ? <button type="button" class="chip" onClick={() => pickRanks(ranks)}>and {ranks.length - shown.length} more</button> : null}
      {hosts.filter((host) => places.ranksOf(host).length > 1 && ranks.length > 1).slice(0, 3).map((host) => (
        <button type="button" key={host} class="chip" onClick={() => pickRanks(places.ranksOf(host))}>host {host}</button>
      ))}
    </span>
  );
}
