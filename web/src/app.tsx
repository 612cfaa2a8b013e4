// SPDX-License-Identifier: Apache-2.0
// The page: headline, findings beside the pictures, timeline and tables across, the small print last.
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ChartView } from './chart';
import type { Doc, Section } from './doc';
import { causeInWords } from './format';
import { FindingsBlock } from './findings';
import { HeadlineBlock } from './headline';
import { HeatStripView } from './heat_strip';
import { Help } from './help';
import { Choice, hideTip, kMarkShapes, Panel, Prose } from './parts';
import { DataQuality, Definitions, FactList, NextCommands, NotChecked } from './quality';
import { kNothing, PageContext, Places, ranksOfFinding, usePage, type Page, type Selection } from './selection';
import { StackedBarsView } from './stacked_bars';
import { TableView } from './table';
import { groupRows } from './table_model';
import { TimelineView } from './timeline';
import { WaterfallView } from './waterfall';

type Kind = Section['kind'];
type Of<K extends Kind> = Extract<Section, { kind: K }>;
const isKind = <K extends Kind>(kind: K) => (section: Section): section is Of<K> => section.kind === kind;

// Kinds that stand in the narrow column of pictures; the others go across the page.
const kPictures: ReadonlySet<Kind> = new Set<Kind>(['waterfall', 'stacked-bars', 'heat-strip', 'chart']);

function Body({ section }: { section: Section }): ComponentChildren {
  switch (section.kind) {
    case 'text': return section.paragraphs.map((p, i) => <p key={i}><Prose text={p} /></p>);
    case 'facts': return <FactList facts={section.facts} />;
    case 'waterfall': return <WaterfallView items={section.items} />;
    case 'stacked-bars': return <StackedBarsView data={section} />;
    case 'heat-strip': return section.rows.length && section.columns.length && section.metrics.length ? <HeatStripView data={section} /> : <p>No steps to show.</p>;
    case 'timeline': return <TimelineView timeline={section} />;
    case 'table': return <TableView table={section} name={section.name} />;
    case 'chart': return <ChartView chart={section} />;
  }
}

function SectionPanel({ section }: { section: Section }) {
  return <Panel id={section.name} title={section.title} intro={section.intro}><Body section={section} /></Panel>;
}

function Timelines({ sections }: { sections: Of<'timeline'>[] }) {
  const { doc, selection } = usePage();
  const [name, setName] = useState(sections[0].name);
  useEffect(() => {
    const about = sections.find((s) => s.finding && s.finding === selection.finding);
    if (about) setName(about.name);
  }, [selection.finding]);
  const shown = sections.find((s) => s.name === name) ?? sections[0];
  const label = (section: Of<'timeline'>) => {
    const at = doc.findings.findIndex((f) => f.id === section.finding);
    return at < 0 ? section.title : `${at + 1} ${causeInWords(doc.findings[at].cause)}, ${doc.findings[at].headline}`;
  };
  return (
    <Panel id="timeline" title={shown.title} intro={shown.intro}
      aside={sections.length > 1 ? <Choice label="Around" value={shown.name} onChange={setName} options={sections.map((s) => [s.name, label(s)] as const)} /> : null}>
      <TimelineView timeline={shown} />
    </Panel>
  );
}

// Tables that follow one another share a panel; on paper all of them are shown.
function Tables({ sections }: { sections: Of<'table'>[] }) {
  const [name, setName] = useState(sections[0].name);
  const opened = useRef(new Set<string>());
  opened.current.add(name);
  const move = (event: KeyboardEvent, at: number) => {
    const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (!by) return;
    event.preventDefault();
    const next = sections[(at + by + sections.length) % sections.length];
    setName(next.name);
    document.getElementById(`tab-${next.name}`)?.focus();
  };
  if (sections.length === 1) return <SectionPanel section={sections[0]} />;
  return (
    <section class="panel tables" id="tables" aria-label="Tables" tabIndex={-1}>
      <div class="tabs" role="tablist" aria-label="Tables">
        {sections.map((section, i) => (
          <button type="button" role="tab" key={section.name} id={`tab-${section.name}`} aria-selected={section.name === name} aria-controls={section.name}
            tabIndex={section.name === name ? 0 : -1} onClick={() => setName(section.name)} onKeyDown={(e) => move(e, i)}>
            {section.title} <span class="tally">{groupRows(section.rows).length}</span>
          </button>
        ))}
      </div>
      {sections.map((section) => (
        <div key={section.name} role="tabpanel" id={section.name} aria-labelledby={`tab-${section.name}`} class={section.name === name ? 'tabpanel' : 'tabpanel hidden'}>
          <h2 class="print-only">{section.title}</h2>
          {section.intro ? <p class="intro">{section.intro}</p> : null}
          <TableView table={section} name={section.name} resting={!opened.current.has(section.name)} />
        </div>
      ))}
    </section>
  );
}

function Across({ sections }: { sections: Section[] }) {
  const out: ComponentChildren[] = [];
  const timelines = sections.filter(isKind('timeline'));
  for (let i = 0; i < sections.length; i++) {
    const section = sections[i];
    if (section.kind === 'timeline') {
      if (section === timelines[0]) out.push(<Timelines key="timelines" sections={timelines} />);
    } else if (section.kind === 'table') {
      const run: Of<'table'>[] = [];
      while (i < sections.length && sections[i].kind === 'table') run.push(sections[i++] as Of<'table'>);
      i--;
      out.push(<Tables key={section.name} sections={run} />);
    } else {
      out.push(<SectionPanel key={section.name} section={section} />);
    }
  }
  return <>{out}</>;
}

function TopBar({ onHelp }: { onHelp: () => void }) {
  const { doc, selection, places, clear } = usePage();
  const first = (kind: Kind) => doc.sections.find((s) => s.kind === kind);
  const entries: [string, string][] = doc.findings.length ? [['findings', 'Findings']] : [];
  for (const [kind, label] of [['waterfall', 'Time'], ['stacked-bars', 'Ranks'], ['heat-strip', 'Steps'], ['timeline', 'Timeline']] as [Kind, string][]) {
    const section = first(kind);
    if (section) entries.push([kind === 'timeline' ? 'timeline' : section.name, label]);
  }
  if (first('table')) entries.push([doc.sections.filter(isKind('table')).length > 1 ? 'tables' : first('table')!.name, 'Tables']);
  entries.push(['data-quality', 'Data']);
  const ranks = [...selection.ranks].sort((a, b) => a - b);
  return (
    <nav class="topbar" aria-label="Parts of the report">
      <a class="brand" href="#top">headway</a>
      <ul>{entries.map(([id, label]) => <li key={id}><a href={`#${id}`}>{label}</a></li>)}</ul>
      <span class="picked-note" aria-live="polite">
        {ranks.length ? (
          <>
            <span class={selection.finding ? 'mark culprit' : 'mark'} aria-hidden="true">{kMarkShapes[selection.finding ? 'culprit' : 'picked']}</span>
            <b>{ranks.length === 1 ? places.describe(ranks[0]) : `${ranks.length} ranks`}</b>
            {selection.victims.size ? <span class="dim">{selection.victims.size} wait</span> : null}
            <button type="button" class="quiet" onClick={clear}>Clear</button>
          </>
        ) : null}
      </span>
      <button type="button" class="quiet help-button" onClick={onHelp} aria-label="Keys and help">?</button>
    </nav>
  );
}

function useSelection(doc: Doc, places: Places): Page {
  const [selection, setSelection] = useState<Selection>(kNothing);
  return useMemo(() => ({
    doc, places, selection,
    pickFinding(id) {
      const finding = doc.findings.find((f) => f.id === id);
      setSelection((was) => (!finding || was.finding === id ? kNothing
        : { finding: id, ranks: new Set(ranksOfFinding(finding, places)), victims: new Set(finding.victims) }));
    },
    pickRank(rank) {
      setSelection((was) => (was.ranks.size === 1 && was.ranks.has(rank) ? kNothing : { finding: null, ranks: new Set([rank]), victims: new Set() }));
    },
    pickRanks(ranks) { setSelection({ finding: null, ranks: new Set(ranks), victims: new Set() }); },
    clear() { setSelection(kNothing); },
  }), [doc, places, selection]);
}

const kGoTo: Record<string, (doc: Doc) => string | undefined> = {
  f: () => 'findings',
  t: (doc) => doc.sections.find((s) => s.kind === 'waterfall')?.name,
  r: (doc) => doc.sections.find((s) => s.kind === 'stacked-bars')?.name,
  h: (doc) => doc.sections.find((s) => s.kind === 'heat-strip')?.name,
  l: () => 'timeline',
  d: () => 'data-quality',
};

function goTo(id: string | undefined): void {
  const element = id ? document.getElementById(id) : null;
  element?.scrollIntoView({ block: 'start' });
  element?.focus({ preventScroll: true });
}

function useKeys(page: Page, setHelp: (open: boolean) => void): void {
  useEffect(() => {
    let going = false;
    const onKey = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (event.ctrlKey || event.metaKey || event.altKey || target.closest('dialog[open]')) return;
      if (event.key === 'Escape') {
        hideTip();
        if (target.matches('input')) target.blur();
        else page.clear();
        return;
      }
      if (target.matches('input, textarea, select')) return;
      if (going) {
        going = false;
        const id = kGoTo[event.key]?.(page.doc);
        if (id) {
          goTo(id);
          event.preventDefault();
        }
        return;
      }
      if (event.key === 'g') going = true;
      else if (event.key === '?') setHelp(true);
      else if (event.key === '/') {
        const inputs = [...document.querySelectorAll<HTMLInputElement>('input.search')].filter((input) => input.offsetParent);
        const inView = inputs.find((input) => input.getBoundingClientRect().bottom > 0) ?? inputs[0];
        inView?.focus();
        inView?.scrollIntoView({ block: 'center' });
        event.preventDefault();
      } else if (event.key === 'j' || event.key === 'k') {
        const { findings } = page.doc;
        if (!findings.length) return;
        const at = findings.findIndex((f) => f.id === page.selection.finding);
        const next = findings[Math.min(findings.length - 1, Math.max(0, at + (event.key === 'j' ? 1 : -1)))];
        if (next.id !== page.selection.finding) page.pickFinding(next.id);
        document.getElementById(`finding-${next.id}`)?.scrollIntoView({ block: 'nearest' });
      }
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [page]);
}

export function App({ doc }: { doc: Doc }) {
  const places = useMemo(() => new Places(doc), [doc]);
  const page = useSelection(doc, places);
  const [help, setHelp] = useState(false);
  useKeys(page, setHelp);
  const pictures = doc.sections.filter((s) => kPictures.has(s.kind));
  const across = doc.sections.filter((s) => !kPictures.has(s.kind));
  const hasFindings = doc.findings.length > 0;
  return (
    <PageContext.Provider value={page}>
      <TopBar onHelp={() => setHelp(true)} />
      <main>
        <HeadlineBlock />
        <div class={hasFindings ? 'columns' : 'pictures-only'}>
          {hasFindings ? <FindingsBlock /> : null}
          <div class="pictures">{pictures.map((section) => <SectionPanel key={section.name} section={section} />)}</div>
        </div>
        <Across sections={across} />
        <div class="pair"><NotChecked /><NextCommands /></div>
        <DataQuality />
        <Definitions />
        <footer>{doc.version ? `Written by headway ${doc.version}. ` : ''}This file is complete in itself: it fetches nothing and sends nothing.</footer>
      </main>
      <Help open={help} onClose={() => setHelp(false)} />
    </PageContext.Provider>
  );
}
