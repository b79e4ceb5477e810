import { type Content, Part } from '../../../base/text/content.js';
import { html, preformatted } from '../../../base/text/html.js';
import {
  distinctFormat,
  formatCost,
  formatCount,
  formatDuration,
  formatParameter,
  formatTime,
  plural,
} from '../../../base/text/numbers.js';
import { excerpt } from '../../../base/text/one-line.js';
import { statedReason } from '../../../prompting/answer/reason.js';
import { type CallRecord, faultsOf, isModelCall } from '../../../runs/calls.js';
import { explainFailure, failureKind, failureMeaning } from '../../../runs/failure-text.js';
import { factList } from '../../study.js';
import { packPrompts } from '../data/prompt-store.js';
import {
  hasFailure,
  isFailed,
  isRejected,
  type LoggedProposal,
  proposalId,
  type RunData,
  skipRevisions,
} from '../data/proposals.js';
import type { ShownCalls } from '../data/shown-calls.js';

/** Longer replies are truncated, so that the page opens quickly; calls.jsonl contains them in full. */
const maxTextLength = 100_000;

/** Approximate maximum of the total length of the replies on a page, in characters. */
const maxCharacters = 1_200_000;

/**
 * Lists the proposals with their calls: prompt, reply, stated reason and outcome.
 * @param total number of proposals in the whole run
 */
export function callLog(
  { manifest }: Pick<RunData, 'manifest'>,
  { calls, proposals }: ShownCalls,
  total: number,
): Content {
  if (proposals.length === 0) return html`<p class="empty">The model was not called.</p>`;
  const improvedCount = proposals.filter((proposal) => proposal.improved).length;
  const failedCount = proposals.filter(hasFailure).length;
  const shownCount = skipRevisions(proposals).length;
  return html`${total > shownCount && html`<p>${formatCount(shownCount)} of ${formatCount(total)} proposals: the first and last, new bests, failures, and a sample. <code>policyloop show ${manifest.run} --iteration N</code> shows iteration N.</p>`}
${proposalList(manifest.run, { calls, proposals }, [
  ['all', 'all', proposals.length],
  ['improved', 'new bests', improvedCount],
  ['failed', 'with failures', failedCount],
])}`;
}

/** Lists proposals with their calls. @param counts number of proposals for each filter; if empty, all are expanded */
export function proposalList(
  run: string,
  { calls, proposals }: Pick<ShownCalls, 'calls' | 'proposals'>,
  counts: readonly (readonly [filter: string, label: string, count: number])[] = [],
): Content {
  const callIndices = [...calls.keys()].toSorted((a, b) => a - b);
  const packed = packPrompts(callIndices.map((index) => calls.get(index)!.messages));
  const log: LogContext = {
    run,
    calls,
    hasCandidates: proposals.some(({ candidate }) => candidate > 0),
    promptIndices: new Map(
      callIndices.slice(callIndices.length - packed.length).map((index, i) => [index, i]),
    ),
    maxReplyLength: replyLimit([...calls.values()]),
    asText: distinctFormat(proposals.flatMap(({ entry }) => (entry ? [entry.score, ...entry.returns] : []))),
  };
  const isOpen = counts.length === 0;
  return new Part(
    'proposal-log',
    { prompts: packed, counts },
    ...proposals.map((proposal) => proposalEntry(proposal, log, isOpen)),
  );
}

interface LogContext {
  readonly run: string;
  readonly calls: ShownCalls['calls'];
  /** True if iterations have several candidates. */
  readonly hasCandidates: boolean;
  /** Index of each prompt on the page, by the index of its call. */
  readonly promptIndices: ReadonlyMap<number, number>;
  /** Length in characters at which replies are truncated. */
  readonly maxReplyLength: number;
  readonly asText: (value: number) => string;
}

/** Returns the length at which replies are truncated so that all fit on the page, but at least 390 characters. */
function replyLimit(calls: readonly CallRecord[]): number {
  const lengths = calls.flatMap(({ completion }) => [
    completion?.text.length ?? 0,
    completion?.reasoning?.length ?? 0,
  ]);
  let limit = maxTextLength;
  const total = () => lengths.reduce((sum, length) => sum + Math.min(length, limit), 0);
  while (limit > 500 && total() > maxCharacters) limit = Math.floor(limit / 2);
  return limit;
}

function proposalEntry(proposal: LoggedProposal, log: LogContext, isOpen: boolean): Content {
  const { iteration, candidate, attempts, entry, improved, member, purpose } = proposal;
  const isLost = isRejected(proposal);
  const failureCount = attempts.filter(isFailed).length;
  const lastCall = log.calls.get(attempts.at(-1)?.index ?? -1);
  const reply = lastCall?.completion?.text ?? '';
  const reason = statedReason(reply.slice(0, maxTextLength));
  return html`<details class="proposal${improved ? ' improved' : ''}${failureCount > 0 ? ' failed' : ''}" id=${proposalId(proposal)} open=${isOpen}>
<summary><span class="where">${iteration}${log.hasCandidates && html`<small>.${candidate + 1}</small>`}</span>
<span class="score">${entry ? log.asText(entry.score) : '–'}</span>
<span class="chips">${purpose !== 'proposal' && html`<span class="chip">${purpose}</span>`}${member !== undefined && html`<span class="chip">${member}</span>`}${improved && html`<span class="chip good">new best</span>`}${isLost && html`<span class="chip bad">no ${purpose === 'proposal' ? 'proposal' : 'revision'}</span>`}${!isLost && failureCount > 0 && html`<span class="chip warn">after ${plural(failureCount, 'failure')}</span>`}</span>
<span class="reason">${excerpt(reason === '' ? reply : reason)}</span></summary>
<div class="attempts">
${entry && html`<p class="evaluated">Evaluated: mean return <b>${log.asText(entry.score)}</b> over ${plural(entry.returns.length, 'episode')} <span class="muted">(${entry.returns.map(log.asText).join(', ')})</span></p>`}
${attempts.map((attempt) => attemptEntry(attempt.index, log, attempt === attempts.at(-1) ? reason : ''))}
</div>
</details>`;
}

function attemptEntry(index: number, log: LogContext, reason: string): Content {
  const call = log.calls.get(index)!;
  const { completion } = call;
  const reply = completion?.text;
  const kind = failureKind(call.outcome, faultsOf(call));
  return html`<article>
<h3>${call.attempt === 0 ? 'First attempt' : `Correction ${call.attempt}`} <span class="chip ${kind === undefined ? 'good' : 'bad'}">${kind ?? 'accepted'}</span></h3>
${outcomeText(call)}
${isModelCall(call) && promptOf(call, log.promptIndices.get(index), log.run)}
${completion && completion.reasoning !== undefined && completion.reasoning !== '' && html`<details><summary>Hidden reasoning <span class="muted">${plural(completion.reasoning.length, 'character')}</span></summary>${longText(completion.reasoning, log.maxReplyLength)}</details>`}
${reason !== '' && html`<h4>Stated reason</h4><blockquote>${reason}</blockquote>`}
${reply !== undefined && html`<h4>Reply</h4>${reply === '' ? html`<p class="muted">(empty)</p>` : longText(reply, log.maxReplyLength)}`}
${callFacts(call)}
</article>`;
}

/** @param position index of the prompt on the page; undefined if the prompt didn't fit */
function promptOf({ iteration, messages }: CallRecord, position: number | undefined, run: string): Content {
  const size = messages.reduce((sum, message) => sum + message.content.length, 0);
  const length = `${plural(messages.length, 'message')}, ${plural(size, 'character')}`;
  if (position === undefined) {
    return html`<p>Prompt <span class="muted">${length}</span>: <code>policyloop show ${run} --iteration ${iteration}</code></p>`;
  }
  return new Part('prompt-text', { index: position, length });
}

function outcomeText({ completion, outcome }: CallRecord): Content | undefined {
  switch (outcome.kind) {
    case 'accepted':
      if (outcome.program !== undefined) return programView(outcome.program, completion?.text);
      // Longer vectors would fill the page, and the reply shows them anyway.
      if (outcome.parameters.length === 0 || outcome.parameters.length > 60) return undefined;
      return html`<p class="parameters"><span class="muted">Parameters</span> ${outcome.parameters.map(formatParameter).join('  ')}</p>`;
    case 'rejected':
      return html`<p class="failure">${explainFailure(outcome.failure)}</p>`;
    case 'error':
      return html`<p class="failure">${failureMeaning(outcome.error)}: ${outcome.message.slice(0, 2000)}</p>`;
  }
}

/** Shows the program, unless the reply already contains it. */
const programView = (source: string, reply = '') =>
  html`${!reply.includes(source.trim()) && html`<details><summary>Program</summary>${new Part('source-code', { source })}</details>`}`;

function callFacts(call: CallRecord): Content {
  const { completion, outcome, cost } = call;
  const usage = completion?.usage ?? {};
  const unreported = (usage.unreported?.promptTokens ?? 0) + (usage.unreported?.completionTokens ?? 0);
  const tokens = (count: number | undefined) => count !== undefined && formatCount(count);
  const timing = outcome.kind === 'error' ? outcome : completion;
  return html`${factList([
    ['prompt tokens', tokens(usage.promptTokens)],
    ['of which cached', tokens(usage.cachedTokens)],
    ['completion tokens', tokens(usage.completionTokens)],
    ['of which reasoning', tokens(usage.reasoningTokens)],
    ['latency', formatDuration(timing?.latencyMs ?? 0)],
    ['retries', timing && timing.retries > 0 && retriesText(timing.retries, timing.failedTries)],
    ['faults', completion?.faults?.join(', ')],
    ['unreported tokens', unreported > 0 && `about ${formatCount(unreported)}`],
    ['cost', cost !== undefined && formatCost(cost)],
    ['finish', completion?.finishReason],
    ['seed', call.seed],
    ['time', formatTime(call.time)],
  ])}
${completion?.warnings?.map((warning) => html`<p class="failure">${warning}</p>`)}`;
}

const retriesText = (retries: number, failedTries: readonly string[] = []) =>
  failedTries.length === 0 ? String(retries) : `${retries} (${failedTries.join(', ')})`;

function longText(text: string, maxLength: number): Content {
  if (text.length <= maxLength) return preformatted(text);
  return html`${preformatted(text.slice(0, maxLength))}<p class="muted">… and ${formatCount(text.length - maxLength)} more characters in calls.jsonl</p>`;
}
