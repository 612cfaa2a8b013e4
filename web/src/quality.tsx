// SPDX-License-Identifier: Apache-2.0
// The end of the report: what was not looked at, how good the data were, what every word means, what to type next.
import type { Fact } from './doc';
import { count, format } from './format';
import { Command, Panel, Prose, Term } from './parts';
import { usePage } from './selection';

export function FactList({ facts }: { facts: Fact[] }) {
  return (
    <dl class="facts">
      {facts.map((fact, i) => (
        <div key={i} class={typeof fact.value === 'string' && fact.value.length + fact.note.length > 40 ? 'wide' : undefined}><dt><Term term={fact.term}>{fact.label}</Term></dt><dd class={fact.unit === 'text' ? '' : 'num'}>{format(fact.value, fact.unit)}{fact.note ? <span class="dim"> {fact.note}</span> : null}</dd></div>
      ))}
    </dl>
  );
}

export function NotChecked() {
  const { doc } = usePage();
  if (!doc.not_checked.length && !doc.analyses_run) return null;
  return (
    <Panel id="not-checked" title="What was not looked at" intro={doc.analyses_run ? `${doc.analyses_run} analyses ran.` : undefined}>
      {doc.not_checked.length
        ? <dl class="reasons">{doc.not_checked.map((entry, i) => <div key={i}><dt>{entry.what}</dt><dd>{entry.why}</dd></div>)}</dl>
        : <p>Every analysis could look.</p>}
    </Panel>
  );
}

export function DataQuality() {
  const { doc } = usePage();
  const quality = doc.data_quality;
  if (!quality.summary && !quality.facts.length && !quality.problems.length) return null;
  return (
    <Panel id="data-quality" title="Data quality" intro={quality.summary}>
      <FactList facts={quality.facts} />
      {quality.problems.length ? (
        <div class="scroll-x">
          <table class="data problems">
            <thead><tr><th>Problem</th><th class="num">Count</th><th>What was done</th><th>First place</th></tr></thead>
            <tbody>
              {quality.problems.map((problem, i) => (
                <tr key={i}><td>{problem.problem}<small>{problem.severity}</small></td><td class="num">{count(problem.count)}</td><td class="wrap">{problem.what}</td><td class="wrap">{problem.where}</td></tr>
              ))}
            </tbody>
          </table>
        </div>
      ) : null}
    </Panel>
  );
}

export function NextCommands() {
  const { doc } = usePage();
  if (!doc.commands.length) return null;
  return (
    <Panel id="next" title="What to run next">
      {doc.commands.map((command, i) => (
        <div key={i} class="next">{command.what ? <p><Prose text={command.what} /></p> : null}<Command command={command.command} /></div>
      ))}
    </Panel>
  );
}

export function Definitions() {
  const { doc } = usePage();
  if (!doc.definitions.length) return null;
  return (
    <Panel id="definitions" title="How the numbers are defined">
      <dl class="definitions">
        {doc.definitions.map((entry) => <div key={entry.term}><dt>{entry.title}</dt><dd id={`def-${entry.term}`}>{entry.text}</dd></div>)}
      </dl>
    </Panel>
  );
}
