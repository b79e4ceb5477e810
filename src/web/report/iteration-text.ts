/** One iteration of a run in detail: prompts, replies and evaluations. */
import { styleText } from 'node:util';
import { UserError } from '../../base/errors.js';
import { safeLine, safeText } from '../../base/terminal-text.js';
import { distinctFormat, formatNumber, formatReturn, plural } from '../../base/text/numbers.js';
import type { BufferEntry } from '../../rollout/replay-buffer.js';
import { type CallRecord, isModelCall, stageOf } from '../../runs/calls.js';
import { outcomeText } from '../../runs/failure-text.js';
import type { OpenedRun } from '../../runs/open-run.js';
import { programTitle } from '../../runs/program-text.js';
import type { CandidateId } from './data/proposals.js';

export interface IterationDetails {
  readonly iteration: number;
  readonly evaluations: readonly BufferEntry[];
  readonly calls: readonly CallRecord[];
}

/**
 * @param candidate 1-based; undefined for all
 * @throws UserError if the run has no such iteration or candidate
 */
export function iterationDetails(
  { recorded }: Pick<OpenedRun, 'recorded'>,
  iteration: number,
  candidate: number | undefined,
): IterationDetails {
  const isWanted = (id: CandidateId) =>
    id.iteration === iteration && (candidate === undefined || id.candidate === candidate - 1);
  const calls: CallRecord[] = [];
  for (const call of recorded.calls) if (isWanted(call)) calls.push(call);
  const evaluations = recorded.entries.filter(isWanted);
  if (calls.length + evaluations.length > 0) return { iteration, evaluations, calls };
  throw new UserError({
    field: candidate === undefined ? '--iteration' : '--candidate',
    message:
      candidate === undefined ? 'this run has no such iteration' : `not found in iteration ${iteration}`,
    value: candidate ?? iteration,
    hint: `choose an iteration from 0 (the warm-up) to ${recorded.iteration}${candidate === undefined ? '' : ', and omit the candidate to see all'}`,
  });
}

/** Formats the iteration as text. A prompt that equals the previous one isn't repeated. */
export function iterationText({ iteration, evaluations, calls }: IterationDetails): string {
  const candidates = [...new Set([...calls, ...evaluations].map(({ candidate }) => candidate))];
  let lastPrompt = '';
  const callText = (call: CallRecord): readonly string[] => {
    if (!isModelCall(call)) return [`--- proposal (${callTitle(call)}) ---`];
    const prompt = call.messages.map(({ role, content }) => `--- ${role} ---\n${indent(content)}`).join('\n');
    const isNew = prompt !== lastPrompt;
    lastPrompt = prompt;
    return [
      ...(isNew ? [prompt] : []),
      `--- reply (${callTitle(call)}) ---`,
      ...(call.completion?.reasoning ? [indent(call.completion.reasoning), '--- answer ---'] : []),
      indent(call.completion?.text ?? '(none)'),
    ];
  };
  return candidates
    .toSorted((a, b) => a - b)
    .map((candidate) => {
      const entry = evaluations.find((evaluation) => evaluation.candidate === candidate);
      const ownCalls = calls.filter((call) => call.candidate === candidate);
      const name = iteration === 0 ? 'warm-up policy' : `iteration ${iteration}, candidate`;
      const revisionNote = ownCalls.some((call) => stageOf(call) !== 'proposal') ? ' (revised)' : '';
      const returns = entry?.returns.map(distinctFormat(entry.returns, formatNumber)) ?? [];
      const score =
        entry === undefined
          ? 'not evaluated'
          : `mean return ${formatReturn(entry.score)} over ${plural(returns.length, 'episode')} (${returns.join(', ')})`;
      const title = styleText('bold', `${name} ${candidate + 1}${revisionNote}: ${score}`);
      return [title, ...ownCalls.flatMap(callText), ...programText(entry, ownCalls)].join('\n');
    })
    .join('\n\n');
}

/** Shows the evaluated program, unless the last reply already contains it. */
function programText(entry: BufferEntry | undefined, calls: readonly CallRecord[]): readonly string[] {
  const source = entry?.program?.trim();
  if (source === undefined || calls.at(-1)?.completion?.text.includes(source)) return [];
  return [`--- ${programTitle(entry)} ---`, indent(source)];
}

/** Indents text so that none of its lines can be mistaken for output of policyloop. */
const indent = (text: string) => safeText(text).replaceAll(/^/gm, '  ');

function callTitle(call: CallRecord): string {
  const { attempt, member, outcome } = call;
  const stage = stageOf(call);
  const attemptText = attempt === 0 ? 'first attempt' : `correction ${attempt}`;
  const proposerTexts = [stage === 'proposal' ? undefined : stage, member]
    .filter((name) => name !== undefined)
    .map((name) => `${safeLine(name)}, `);
  const callName = `${proposerTexts.join('')}${attemptText}`;
  if (outcome.kind === 'accepted') return `${callName}: accepted`;
  return `${callName}: ${safeLine(outcomeText(outcome))}`;
}
