import type { Config } from '../../config/config.js';
import { type Html, html } from '../../format/html.js';
import { formatNumber, plural } from '../../format/numbers.js';
import type { ModelErrorKind } from '../../models/language-model.js';
import { explainFailure, failureKind, failureMeaning, faultMeaning } from '../../runs/failure-text.js';
import { placeName } from '../../runs/summary.js';
import { largest } from '../../statistics/descriptive.js';
import { percent } from '../charts/scale.js';
import { isRejected, type LoggedAttempt, type LoggedProposal, onlyProposals } from '../data/proposals.js';
import type { ShownCalls } from '../data/shown-calls.js';

/** Failed calls by kind, then faults of the provider; each has a bar and a row. */
export function failureView(
  proposals: readonly LoggedProposal[],
  config: Pick<Config, 'candidates'>,
  link: ShownCalls['link'],
): Html {
  const moved = proposals.filter(({ attempts }) => attempts.some((attempt) => attempt.moved)).length;
  return html`${failedCalls(proposals, config, link)}${
    moved > 0 &&
    html`<p>${plural(moved, 'proposal')} of ${onlyProposals(proposals).length} ${moved === 1 ? 'was' : 'were'} too close to what was tried, and moved away (<code>novelty</code>).</p>`
  }${faultTable(proposals)}`;
}

/** Faults of all tries, including those that a retry resolved. */
function faultTable(proposals: readonly LoggedProposal[]): Html | undefined {
  const faults = proposals.flatMap(({ attempts }) => attempts.flatMap((attempt) => attempt.faults));
  const groups = mostFrequentFirst(faults, (kind) => kind);
  return (
    groups[0] &&
    html`<h3>Faults of the provider</h3>
<div class="scroll" tabindex="0"><table class="failures faults">
<thead><tr><th scope="col">kind</th><th scope="col" class="number">times</th><th scope="col" class="bar-cell"></th><th scope="col">meaning</th></tr></thead>
<tbody>${groups.map(
      ({
        kind,
        items,
        share,
      }) => html`<tr><th scope="row">${kind}</th><td class="number count" data-label="times">${items.length}</td>
${barCell(share)}
<td>${faultMeaning[kind as ModelErrorKind]}</td></tr>`,
    )}</tbody>
</table></div>
<p class="note">Every try counts, also one that a retry mended, and so do replies that were used all the same.</p>`
  );
}

function failedCalls(
  proposals: readonly LoggedProposal[],
  config: Pick<Config, 'candidates'>,
  link: ShownCalls['link'],
): Html {
  const calls = proposals.reduce((sum, proposal) => sum + proposal.attempts.length, 0);
  const failures = proposals.flatMap((proposal) =>
    proposal.attempts.flatMap(({ outcome }) => {
      const kind = failureKind(outcome);
      return kind === undefined ? [] : { kind, outcome, proposal };
    }),
  );
  if (failures.length === 0)
    return html`<p class="empty">No call failed${calls > 0 && ` (${plural(calls, 'call')})`}.</p>`;
  const rejected = onlyProposals(proposals).filter(isRejected).length;
  return html`<p>${failures.length} of ${plural(calls, 'call')} (${formatNumber((100 * failures.length) / calls, 3)} %) gave no usable answer; ${rejected === 0 ? 'every proposal came through in the end' : `${plural(rejected, 'proposal')} came to nothing`}.</p>
<div class="scroll" tabindex="0"><table class="failures">
<thead><tr><th scope="col">kind</th><th scope="col" class="number">calls</th><th scope="col" class="bar-cell"></th><th scope="col" class="number">mended</th><th scope="col">meaning, and the latest</th></tr></thead>
<tbody>${mostFrequentFirst(failures, ({ kind }) => kind).map(({ kind, items, share }) => {
    const { outcome, proposal } = items.at(-1)!;
    const mended = items.filter((failure) => !isRejected(failure.proposal)).length;
    return html`<tr><th scope="row">${kind}</th><td class="number count" data-label="calls">${items.length}</td>
${barCell(share)}
<td class="number mended" data-label="mended">${mended}</td><td>${failureMeaning(kind)}<br>${linked(placeName(proposal, config), link(proposal))}: <span class="muted">${outcomeText(outcome).slice(0, 200)}</span></td></tr>`;
  })}</tbody>
</table></div>
<p class="note">Mended: a later call of the same proposal was accepted.</p>`;
}

const linked = (name: string, href: string | undefined) =>
  href === undefined ? name : html`<a href="${href}">${name}</a>`;

function outcomeText(outcome: LoggedAttempt['outcome']): string {
  if (outcome.kind === 'error') return outcome.message;
  return outcome.kind === 'rejected' ? explainFailure(outcome.failure) : '';
}

function barCell(share: number): Html {
  return html`<td class="bar-cell"><svg width="100%" height="12" aria-hidden="true"><rect class="bar" width="${percent(share)}" height="12" rx="2"/></svg></td>`;
}

/** Groups the items by kind, most frequent first, ties by name; `share` is relative to the most frequent kind. */
function mostFrequentFirst<Item, Kind extends string>(items: readonly Item[], kindOf: (item: Item) => Kind) {
  const byKind = new Map<Kind, Item[]>();
  for (const item of items) {
    const own = byKind.get(kindOf(item));
    if (own === undefined) byKind.set(kindOf(item), [item]);
    else own.push(item);
  }
  const most = largest([...byKind.values()].map(({ length }) => length));
  return [...byKind]
    .map(([kind, own]) => ({ kind, items: own, share: own.length / most }))
    .toSorted((a, b) => b.items.length - a.items.length || (a.kind < b.kind ? -1 : 1));
}
