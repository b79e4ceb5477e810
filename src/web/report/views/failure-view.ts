import { groupBy } from '../../../base/grouped.js';
import type { Content } from '../../../base/text/content.js';
import { html } from '../../../base/text/html.js';
import { formatNumber, plural } from '../../../base/text/numbers.js';
import { number, pageTable, shareBar, text } from '../../../base/text/table.js';
import type { Config } from '../../../config/config.js';
import type { ModelErrorKind } from '../../../models/language-model.js';
import { failureKind, failureMeaning, faultTexts, outcomeText } from '../../../runs/failure-text.js';
import { candidateName } from '../../../runs/summary.js';
import { largest } from '../../../statistics/descriptive.js';
import { isRejected, type LoggedAttempt, type LoggedProposal, skipRevisions } from '../data/proposals.js';
import type { ShownCalls } from '../data/shown-calls.js';

/** Shows failed calls and provider faults, by kind. */
export function failureView(
  proposals: readonly LoggedProposal[],
  config: Pick<Config, 'candidates'>,
  link: ShownCalls['link'],
): Content {
  return html`${failedCalls(proposals, config, link)}${faultTable(proposals)}`;
}

/** Counts the faults that aren't failures, such as those that a retry resolved. */
function faultTable(proposals: readonly LoggedProposal[]): Content | undefined {
  const faults = proposals.flatMap(({ attempts }) => attempts.flatMap(otherFaults));
  const groups = mostFrequentFirst(faults, (kind) => kind);
  if (groups.length === 0) return undefined;
  return html`<h3>Other faults</h3>
${pageTable(groups, [
  text('kind', ({ kind }) => kind),
  number('count', ({ items }) => items.length),
  shareBar(({ share }) => share),
  text('meaning', ({ kind }) => faultTexts[kind as ModelErrorKind]),
])}
<p class="note">No call failed because of these: a retry succeeded, or the reply could be read.</p>`;
}

function otherFaults({ faults, outcome }: LoggedAttempt): readonly string[] {
  const failure = failureKind(outcome, faults);
  const at = failure === undefined ? -1 : faults.lastIndexOf(failure);
  return faults.filter((_, i) => i !== at);
}

function failedCalls(
  proposals: readonly LoggedProposal[],
  config: Pick<Config, 'candidates'>,
  link: ShownCalls['link'],
): Content {
  const callCount = proposals.reduce((sum, proposal) => sum + proposal.attempts.length, 0);
  const failures = proposals.flatMap((proposal) =>
    proposal.attempts.flatMap(({ faults, outcome }) => {
      const kind = failureKind(outcome, faults);
      return kind === undefined || kind === 'aborted' ? [] : { kind, outcome, proposal };
    }),
  );
  if (failures.length === 0)
    return html`<p class="empty">No call failed${callCount > 0 && ` (${plural(callCount, 'call')})`}.</p>`;
  const lostCount = skipRevisions(proposals).filter(isRejected).length;
  return html`<p>${failures.length} of ${plural(callCount, 'call')} (${formatNumber((100 * failures.length) / callCount, 3)} %) failed; ${lostCount === 0 ? 'every proposal succeeded in the end' : `${plural(lostCount, 'proposal')} lost`}.</p>
${pageTable(
  mostFrequentFirst(failures, ({ kind }) => kind),
  [
    text('kind', ({ kind }) => kind),
    number('calls', ({ items }) => items.length),
    shareBar(({ share }) => share),
    number('resolved', ({ items }) => items.filter((failure) => !isRejected(failure.proposal)).length),
    text('meaning', ({ kind }) => failureMeaning(kind)),
    text('latest', ({ items }) => {
      const { outcome, proposal } = items.at(-1)!;
      const detail = outcomeText(outcome).slice(0, 200);
      return { text: candidateName(proposal, config), detail, href: link(proposal) };
    }),
  ],
)}
<p class="note">Resolved: a later call of the same proposal was accepted.</p>`;
}

/** Groups the items by kind, most frequent first, then by name; `share` is relative to the most frequent kind. */
function mostFrequentFirst<Item, Kind extends string>(items: readonly Item[], kindOf: (item: Item) => Kind) {
  const byKind = groupBy(items, kindOf);
  const maxCount = largest([...byKind.values()].map(({ length }) => length));
  return [...byKind]
    .map(([kind, own]) => ({ kind, items: own, share: own.length / maxCount }))
    .toSorted((a, b) => b.items.length - a.items.length || (a.kind < b.kind ? -1 : 1));
}
