// SPDX-License-Identifier: Apache-2.0
// The answer: one sentence, and the step as it is against the step as it could be.
import { duration, format, share } from './format';
import { Prose, Term } from './parts';
import { usePage } from './selection';

function Bars({ now, attainable }: { now: number; attainable: number }) {
  const { doc, selection, pickFinding } = usePage();
  const gain = Math.max(0, now - attainable);
  const scale = 100 / Math.max(now, attainable, 1);
  const sum = doc.findings.reduce((total, f) => total + Math.max(0, f.recoverable), 0);
  // Where fixes overlap their sum exceeds what all of them bring together: the pieces shrink to fit.
  const fit = sum > gain && sum > 0 ? gain / sum : 1;
  const pieces = doc.findings
    .map((finding, i) => ({ finding, number: i + 1, width: Math.max(0, finding.recoverable) * fit * scale }))
    .filter((piece) => piece.width >= 0.4);
  const used = pieces.reduce((total, piece) => total + piece.width, 0);
  return (
    <div class="twobars">
      <span class="bar-label">{doc.headline.now_label}</span>
      <div class="bar-track">
        <span class="bar-piece base" style={{ width: `${Math.max(0, now * scale - used)}%` }} />
        {pieces.map(({ finding, number, width }) => (
          <button type="button" key={finding.id} class={`bar-piece gain ${finding.severity}`} style={{ width: `${width}%` }}
            aria-pressed={selection.finding === finding.id} onClick={() => pickFinding(finding.id)}
            aria-label={`Finding ${number}: ${duration(finding.recoverable)} per step`}
            title={`Finding ${number}: ${finding.headline}, ${duration(finding.recoverable)} per step`}>
            {width > 2.2 ? number : ''}
          </button>
        ))}
      </div>
      <span class="bar-value">{duration(now)}</span>
      <span class="bar-label">{doc.headline.attainable_label}</span>
      <div class="bar-track"><span class="bar-piece base" style={{ width: `${attainable * scale}%` }} /></div>
      <span class="bar-value">{duration(attainable)}</span>
      <span class="bar-gain">
        {gain > 0 ? <><Term term="recoverable-time">Can be won back</Term>: <b>{duration(gain)}</b> per step ({share(gain / now)})</> : null}
      </span>
    </div>
  );
}

export function HeadlineBlock() {
  const { doc } = usePage();
  const { headline } = doc;
  const healthy = !doc.findings.some((finding) => finding.severity !== 'info');
  return (
    <header class="headline" id="top">
      <p class="eyebrow">{doc.title}</p>
      <h1>{headline.sentence}</h1>
      {headline.now !== null && headline.attainable !== null ? <Bars now={headline.now} attainable={headline.attainable} /> : null}
      {healthy && headline.detection_floor !== null ? (
        <p class="floor">A loss of more than <b>{duration(headline.detection_floor)}</b> per step
          {headline.now ? ` (${share(headline.detection_floor / headline.now)})` : ''} would have been found.</p>
      ) : null}
      {doc.key_facts.length ? (
        <dl class="keyfacts">
          {doc.key_facts.map((fact, i) => (
            <div key={i} title={fact.note || undefined}>
              <dt><Term term={fact.term}>{fact.label}</Term></dt>
              <dd>{format(fact.value, fact.unit)}</dd>
            </div>
          ))}
        </dl>
      ) : null}
      {doc.header.length ? (
        <dl class="headlines">
          {doc.header.map((line, i) => <div key={i}><dt>{line.label}</dt><dd><Prose text={line.text} /></dd></div>)}
        </dl>
      ) : null}
    </header>
  );
}
