// SPDX-License-Identifier: Apache-2.0
// Findings as cards, largest gain first. Picking one marks its culprits and victims in every picture.
import type { Evidence, Finding } from './doc';
import { causeInWords, duration, plural, ranges, whenInWords } from './format';
import { Command, kSeverityShapes, Prose, RankChips, Term } from './parts';
import { usePage, useRanksOf } from './selection';

const kConfidenceDots = { suspected: '●○○', likely: '●●○', sure: '●●●' };

function Sparkline({ finding }: { finding: Finding }) {
  const { doc } = usePage();
  const cost = finding.cost_by_step;
  if (cost.length < 2) return null;
  const most = Math.max(...cost, 1);
  const height = 26;
  const step = Math.min(9, 132 / cost.length);
  const struck = new Set(finding.when.steps);
  const onset = finding.when.kind === 'onset' ? finding.when.steps[0] : null;
  const first = doc.steps[0];
  const last = doc.steps[cost.length - 1];
  return (
    <figure class="spark">
      <svg width={step * cost.length} height={height} role="img"
        aria-label={`Cost per step from #${first} to #${last}, ${whenInWords(finding.when, cost.length)}`}>
        {cost.map((value, i) => {
          const h = Math.max(1, (Math.max(0, value) / most) * height);
          const hit = finding.when.kind === 'persistent' || struck.has(doc.steps[i]) || (onset !== null && doc.steps[i] >= onset);
          return (
            <rect key={i} x={i * step} y={height - h} width={Math.max(0.6, step - 1.5)} height={h} class={hit ? 'hit' : 'miss'}>
              <title>{`step #${doc.steps[i]}: ${duration(value)}`}</title>
            </rect>
          );
        })}
      </svg>
      <figcaption><span>#{first}</span><span>#{last}</span></figcaption>
    </figure>
  );
}

function EvidenceRows({ evidence }: { evidence: Evidence[] }) {
  if (evidence.length === 0) return null;
  const peers = evidence.some((row) => row.peers);
  const expected = evidence.some((row) => row.expected);
  return (
    <div class="scroll-x">
      <table class="evidence">
        <thead><tr><th>Evidence</th><th class="num">here</th>{peers ? <th class="num">peers</th> : null}{expected ? <th class="num">expected</th> : null}</tr></thead>
        <tbody>
          {evidence.map((row, i) => (
            <tr key={i}>
              <td>{row.metric}{row.source ? <small>{row.source}</small> : null}</td>
              <td class="num mine">{row.value}</td>
              {peers ? <td class="num">{row.peers || '–'}</td> : null}
              {expected ? <td class="num">{row.expected || '–'}</td> : null}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Details({ finding }: { finding: Finding }) {
  const { doc } = usePage();
  const ranks = useRanksOf(finding);
  return (
    <>
      <p class="sentence"><Prose text={finding.sentence} /></p>
      <RankChips ranks={ranks} hosts={finding.hosts} />
      <dl class="about">
        <dt><Term term="confidence">Confidence</Term></dt>
        <dd><span class="dots" aria-hidden="true">{kConfidenceDots[finding.confidence]}</span> <b>{finding.confidence}</b>
          {finding.confidence_reason ? <> · {finding.confidence_reason}</> : null}</dd>
        <dt>When</dt><dd>{whenInWords(finding.when, doc.steps.length)}
          {finding.worst_step > 0 ? <> · worst step {duration(finding.worst_step)}</> : null}</dd>
        {finding.victims.length ? <><dt><Term term="victim">Who waits</Term></dt>
          <dd>{plural(finding.victims.length, 'rank')}<small class="ranks">{ranges(finding.victims, 8)}</small></dd></> : null}
        {finding.function ? <><dt>Function</dt><dd><code class="long">{finding.function}</code></dd></> : null}
        {finding.group ? <><dt>Group</dt><dd>{finding.group}</dd></> : null}
      </dl>
      <EvidenceRows evidence={finding.evidence} />
      {finding.suggestion ? <p class="todo"><span aria-hidden="true">→</span> <span><Prose text={finding.suggestion} /></span></p> : null}
      {finding.edit ? <Command command={`headway whatif PATH --edit ${finding.edit}`} /> : null}
    </>
  );
}

function Title({ finding, number }: { finding: Finding; number: number }) {
  return (
    <>
      <span class={`severity ${finding.severity}`}><span aria-hidden="true">{kSeverityShapes[finding.severity]}</span> {finding.severity}</span>
      <h3><span class="number">{number}</span> {causeInWords(finding.cause)}</h3>
      <p class="who">{finding.headline}</p>
    </>
  );
}

function Card({ finding, number }: { finding: Finding; number: number }) {
  const { selection, pickFinding } = usePage();
  const picked = selection.finding === finding.id;
  const pick = (event: MouseEvent) => {
    // Buttons and selected text inside the card keep their own meaning.
    if ((event.target as Element).closest('button, .term, code') || getSelection()?.toString()) return;
    pickFinding(finding.id);
  };
  return (
    <article class={`card ${finding.severity}${picked ? ' picked' : ''}`} id={`finding-${finding.id}`} onClick={pick}>
      <div class="card-head">
        <div><Title finding={finding} number={number} /></div>
        <div class="cost">
          <p><b>{duration(finding.recoverable)}</b> <span>per step</span></p>
          <Sparkline finding={finding} />
        </div>
      </div>
      <Details finding={finding} />
      <button type="button" class="pick" aria-pressed={picked} onClick={() => pickFinding(finding.id)}>
        {picked ? 'Shown in every picture' : 'Show in every picture'}
      </button>
    </article>
  );
}

function SmallCard({ finding, number }: { finding: Finding; number: number }) {
  const { selection, pickFinding } = usePage();
  return (
    <details class={`small-card${selection.finding === finding.id ? ' picked' : ''}`} id={`finding-${finding.id}`}>
      <summary>
        <span class="severity info"><span aria-hidden="true">{kSeverityShapes.info}</span> info</span>
        <span class="number">{number}</span>
        <span class="what">{causeInWords(finding.cause)}, {finding.headline}</span>
        <span class="num">{finding.recoverable < 1e6 ? '<1 ms' : duration(finding.recoverable)}</span>
      </summary>
      <Details finding={finding} />
      <button type="button" class="pick" aria-pressed={selection.finding === finding.id} onClick={() => pickFinding(finding.id)}>Show in every picture</button>
    </details>
  );
}

export function FindingsBlock() {
  const { doc } = usePage();
  return (
    <section class="findings" id="findings" aria-label="Findings" tabIndex={-1}>
      <h2 class="block-title">Findings <span class="tally">{doc.findings.length}</span></h2>
      {doc.findings.map((finding, i) => (finding.severity === 'info'
        ? <SmallCard key={finding.id} finding={finding} number={i + 1} />
        : <Card key={finding.id} finding={finding} number={i + 1} />))}
    </section>
  );
}
