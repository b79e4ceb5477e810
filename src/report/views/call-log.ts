import { embedJson, type Html, html, preformatted } from '../../format/html.js';
import {
  formatCost,
  formatCount,
  formatDuration,
  formatNumber,
  formatParameter,
  formatReturn,
  formatTime,
  plural,
} from '../../format/numbers.js';
import type { ChatMessage } from '../../models/language-model.js';
import { statedReason } from '../../prompting/answer/stated-reason.js';
import type { BufferEntry } from '../../rollout/replay-buffer.js';
import type { CallRecord } from '../../runs/events.js';
import { isRejected, type LoggedAttempt, type LoggedProposal, proposalId } from '../data/proposals.js';
import type { RunData } from '../data/run-data.js';
import { explainFailure, failureKind, failureMeaning } from './failure-text.js';

/**
 * The prompts of a run without repetitions. Prompts repeat each other's lines, as the history grows or its window moves,
 * so each distinct line is stored once, and a message is a list of runs of consecutive lines.
 */
export interface PackedPrompts {
  /** Every distinct line. */
  readonly lines: readonly string[];
  /** Every distinct message: role, then start and length of each run of lines. */
  readonly messages: readonly (readonly [role: ChatMessage['role'], ...runs: number[]])[];
  /** For each call the positions of its messages in `messages`. */
  readonly prompts: readonly (readonly number[])[];
}

export function packPrompts(prompts: readonly (readonly ChatMessage[])[]): PackedPrompts {
  const positions = new Map<string, number>();
  const distinct: ChatMessage[] = [];
  const calls = prompts.map((prompt) =>
    prompt.map((message) => {
      const key = `${message.role}\n${message.content}`;
      const known = positions.get(key);
      if (known !== undefined) return known;
      positions.set(key, distinct.length);
      return distinct.push(message) - 1;
    }),
  );
  const lines = orderedLines(distinct);
  const index = new Map(lines.map((line, i) => [line, i]));
  return {
    lines,
    messages: distinct.map(({ role, content }) => [role, ...lineRuns(content, index)]),
    prompts: calls,
  };
}

/**
 * Recurring lines first, then the others, each in order of appearance. A line of one message only, such as the number of
 * the iteration, would otherwise stand between lines of the history and break its runs.
 */
function orderedLines(messages: readonly ChatMessage[]): readonly string[] {
  const recurs = new Map<string, boolean>();
  for (const { content } of messages) {
    for (const line of content.split('\n')) recurs.set(line, recurs.has(line));
  }
  const lines = [...recurs.keys()];
  return [...lines.filter((line) => recurs.get(line)), ...lines.filter((line) => !recurs.get(line))];
}

function lineRuns(text: string, index: ReadonlyMap<string, number>): number[] {
  const runs: number[] = [];
  let next = -1;
  for (const line of text.split('\n')) {
    const position = index.get(line)!;
    if (position === next) runs[runs.length - 1]!++;
    else runs.push(position, 1);
    next = position + 1;
  }
  return runs;
}

/** Longer texts are cut: a page must open. The whole stands in calls.jsonl. */
const longestText = 100_000;

/** Every proposal with its calls: prompt, reply, reason, what became of it. */
export function callLog(data: RunData, proposals: readonly LoggedProposal[]): Html {
  if (proposals.length === 0) return html`<p class="empty">The model was not called.</p>`;
  const groups = proposals.some((proposal) => proposal.candidate > 0);
  const improved = proposals.filter((proposal) => proposal.improved).length;
  const failed = proposals.filter(hasFailure).length;
  return html`<fieldset class="filter"><legend>Show</legend>
<label><input type="radio" name="show" id="show-all" checked> all <span class="muted">${proposals.length}</span></label>
<label><input type="radio" name="show" id="show-improved"> new best <span class="muted">${improved}</span></label>
<label><input type="radio" name="show" id="show-failed"> with a failure <span class="muted">${failed}</span></label>
</fieldset>
<noscript><p class="note">JavaScript is off: everything but the prompts is shown. They stand in <code>calls.jsonl</code> beside this page.</p></noscript>
<p class="log-head" aria-hidden="true"><span>iteration</span><span>return</span><span></span><span>stated reason, or reply</span></p>
<div class="log">${proposals.map((proposal) => proposalEntry(proposal, groups))}</div>
${embedJson('prompts', packPrompts(data.calls.map((call) => call.messages)))}`;
}

function hasFailure(proposal: LoggedProposal): boolean {
  return proposal.attempts.some(({ call }) => call.outcome.kind !== 'accepted');
}

function proposalEntry(proposal: LoggedProposal, groups: boolean): Html {
  const { iteration, candidate, attempts, entry, improved } = proposal;
  const rejected = isRejected(proposal);
  const failures = attempts.filter(({ call }) => call.outcome.kind !== 'accepted').length;
  const reply = attempts.at(-1)?.call.completion?.text ?? '';
  const reason = statedReason(reply.slice(0, longestText));
  return html`<details class="proposal${improved && ' improved'}${failures > 0 && ' failed'}" id="${proposalId(proposal)}">
<summary><span class="where">${iteration}${groups && html`<small>.${candidate + 1}</small>`}</span>
<span class="score">${entry ? formatReturn(entry.score) : '–'}</span>
<span class="chips">${improved && html`<span class="chip good">new best</span>`}${rejected && html`<span class="chip bad">no proposal</span>`}${!rejected && failures > 0 && html`<span class="chip warn">after ${plural(failures, 'failure')}</span>`}</span>
<span class="reason">${oneLine(reason === '' ? reply : reason)}</span></summary>
<div class="attempts">
${entry && html`<p class="evaluated">Evaluated: mean return <b>${formatReturn(entry.score)}</b> of ${episodesText(entry)} <span class="muted">(${entry.returns.map((value) => formatNumber(value)).join(', ')})</span></p>`}
${attempts.map((attempt) => attemptEntry(attempt, attempt === attempts.at(-1) ? reason : ''))}
</div>
</details>`;
}

const episodesText = ({ planned, returns }: BufferEntry) =>
  planned === undefined
    ? plural(returns.length, 'episode')
    : `the first ${returns.length} of ${plural(planned, 'episode')}`;

function attemptEntry({ call, index }: LoggedAttempt, reason: string): Html {
  const { completion } = call;
  const size = call.messages.reduce((sum, message) => sum + message.content.length, 0);
  return html`<article>
<h4>${call.attempt === 0 ? 'First ask' : `Correction ${call.attempt}`} ${outcomeChip(call)}</h4>
${outcomeText(call)}
${call.messages.length > 0 && html`<details class="prompt" data-call="${index}"><summary>Prompt <span class="muted">${plural(call.messages.length, 'message')}, ${plural(size, 'character')}</span></summary></details>`}
${completion && completion.reasoning !== undefined && completion.reasoning !== '' && html`<details><summary>Hidden reasoning <span class="muted">${plural(completion.reasoning.length, 'character')}</span></summary>${longText(completion.reasoning)}</details>`}
${reason !== '' && html`<h5>Stated reason</h5><blockquote>${reason}</blockquote>`}
${completion && html`<h5>Reply</h5>${completion.text === '' ? html`<p class="muted">(empty)</p>` : longText(completion.text)}`}
${callFacts(call)}
</article>`;
}

function outcomeChip(call: CallRecord): Html {
  const kind = failureKind(call.outcome);
  return kind === undefined
    ? html`<span class="chip good">accepted</span>`
    : html`<span class="chip bad">${kind}</span>`;
}

function outcomeText({ outcome }: CallRecord): Html {
  switch (outcome.kind) {
    case 'accepted':
      // Longer vectors stand in the reply and would fill the page.
      if (outcome.parameters.length > 60) return html``;
      return html`<p class="parameters"><span class="muted">Parameters</span> ${outcome.parameters.map(formatParameter).join('  ')}</p>`;
    case 'rejected':
      return html`<p class="failure">${explainFailure(outcome.failure)}</p>`;
    case 'error':
      return html`<p class="failure">${failureMeaning(`error: ${outcome.error}`)}: ${outcome.message.slice(0, 2000)}</p>`;
  }
}

function callFacts(call: CallRecord): Html {
  const { completion, outcome, cost } = call;
  const usage = completion?.usage ?? {};
  const unreported = (usage.unreported?.promptTokens ?? 0) + (usage.unreported?.completionTokens ?? 0);
  const tokens = (count: number | undefined) => (count === undefined ? undefined : formatCount(count));
  const took = outcome.kind === 'error' ? outcome : completion;
  const facts: readonly (readonly [string, string | undefined])[] = [
    ['prompt tokens', tokens(usage.promptTokens)],
    ['of them cached', tokens(usage.cachedTokens)],
    ['completion tokens', tokens(usage.completionTokens)],
    ['of them reasoning', tokens(usage.reasoningTokens)],
    ['latency', formatDuration(took?.latencyMs ?? 0)],
    ['retries', took && took.retries > 0 ? retriesText(took.retries, took.failedTries) : undefined],
    ['faults', completion?.faults?.join(', ')],
    ['tokens not reported', unreported === 0 ? undefined : `about ${formatCount(unreported)}`],
    ['cost', cost === undefined ? undefined : formatCost(cost)],
    ['finish', completion?.finishReason],
    ['seed', String(call.seed)],
    ['time', formatTime(call.time)],
  ];
  return html`<dl class="facts">${facts.map(([name, value]) => value !== undefined && html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
${completion?.warnings?.map((warning) => html`<p class="failure">${warning}</p>`)}`;
}

const retriesText = (retries: number, failedTries: readonly string[] = []) =>
  failedTries.length === 0 ? String(retries) : `${retries} (${failedTries.join(', ')})`;

function longText(text: string): Html {
  if (text.length <= longestText) return preformatted(text);
  return html`${preformatted(text.slice(0, longestText))}<p class="muted">… and ${formatCount(text.length - longestText)} more characters, in calls.jsonl</p>`;
}

function oneLine(text: string): string {
  return text.slice(0, 400).replace(/\s+/g, ' ').trim().slice(0, 200);
}
