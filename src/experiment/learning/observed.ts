/** What a learner sees of an iteration: each prompt with its answers and their outcomes. */
import type { ChatMessage, SampledTokens } from '../../models/language-model.js';
import type { ParseFailureKind } from '../../prompting/answer/parse.js';
import type { BufferEntry, Evaluated } from '../../rollout/replay-buffer.js';
import { type CallRecord, currentFailure } from '../../runs/calls.js';

/** An answer to a prompt, with its outcome. */
export type ObservedAnswer = { readonly text: string; readonly sampled: SampledTokens } & (
  | (Evaluated & { readonly kind: 'evaluated'; readonly returns: readonly number[] })
  | { readonly kind: 'unreadable'; readonly failure: ParseFailureKind }
);

/**
 * The answers to one prompt. All candidates share the first prompt; a correction quotes one candidate's
 * answer and so has a prompt of its own.
 */
interface ObservedPrompt {
  readonly messages: readonly ChatMessage[];
  readonly answers: readonly ObservedAnswer[];
}

export interface ObservedIteration {
  readonly iteration: number;
  /** The evaluations that the prompts could show, oldest first. */
  readonly history: readonly Evaluated[];
  readonly prompts: readonly ObservedPrompt[];
}

/**
 * @param calls of the iteration
 * @param entries of the iteration, one for each evaluated candidate
 */
export function observedIteration(
  iteration: number,
  calls: readonly CallRecord[],
  entries: readonly BufferEntry[],
  history: readonly Evaluated[],
): ObservedIteration {
  const prompts = new Map<string, { messages: readonly ChatMessage[]; answers: ObservedAnswer[] }>();
  for (const call of calls) {
    const answer = observedAnswer(call, entries);
    if (answer === undefined) continue;
    const key = JSON.stringify(call.messages);
    const prompt = prompts.get(key) ?? { messages: call.messages, answers: [] };
    prompts.set(key, prompt);
    prompt.answers.push(answer);
  }
  return { iteration, history, prompts: [...prompts.values()] };
}

/** Undefined for a call without an answer or whose answer was not used. */
function observedAnswer(
  { candidate, completion, outcome }: CallRecord,
  entries: readonly BufferEntry[],
): ObservedAnswer | undefined {
  if (completion?.sampled === undefined) return undefined;
  const { sampled, text } = completion;
  if (outcome.kind === 'rejected')
    return { text, sampled, kind: 'unreadable', failure: currentFailure(outcome.failure).kind };
  const entry = entries.find((one) => one.candidate === candidate);
  // If a proposal was moved, the evaluated parameters are not the ones in the answer.
  if (outcome.kind !== 'accepted' || outcome.moved !== undefined || entry === undefined) return undefined;
  const { parameters, returns, score } = entry;
  return { text, sampled, kind: 'evaluated', parameters, returns, score };
}
