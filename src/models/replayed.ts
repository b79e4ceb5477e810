/** A model that repeats the replies of an earlier run, without network, waiting or cost. */
import { createHash } from 'node:crypto';
import {
  type ChatMessage,
  type Completion,
  type FailedCall,
  type LanguageModel,
  ModelError,
} from './language-model.js';
import type { ReplayedConfig } from './settings.js';

/** The part of a line of `calls.jsonl` that a replay uses. */
export interface RecordedCall {
  /** Id within the run, e.g. `iteration 3, candidate 0, attempt 1`. */
  readonly id: string;
  readonly messages: readonly ChatMessage[];
  readonly completion?: Completion;
  readonly outcome: { readonly kind: 'accepted' | 'rejected' } | FailedCall;
  /** Number of completions requested at once, if several; recorded only in the first of their calls. */
  readonly choices?: number;
}

export interface Cassette {
  readonly path: string;
  readonly model: string;
  /** Calls in order, reread by each loop over them. If a call was repeated, the last one that wasn't aborted counts. */
  readonly calls: Iterable<RecordedCall>;
}

/**
 * Creates a model that replays calls by id, with recorded errors, usage and latency. A call that isn't recorded throws
 * the ModelError `not-recorded`, which ends a run; with `onChange: fail`, so does a call with a different prompt.
 */
export function createReplayedModel(
  { onChange }: Pick<ReplayedConfig, 'onChange'>,
  cassette: Cassette,
): LanguageModel {
  const calls = callsById(cassette);
  /** Describes the first prompt that differs, until this has been reported. */
  let warning: string | undefined;
  let hasChanged = false;

  const checkPrompt = (call: HashedCall, messages: readonly ChatMessage[]): void => {
    if (hasChanged || call.promptHash === hashOf(messages)) return;
    const difference = firstDifference(promptOf(cassette, call), messages);
    const text = `${call.id}: the prompt differs from the recorded one. ${difference}`;
    if (onChange === 'fail')
      throw notRecordedError(
        `${text}. Restore the config and templates of ${cassette.path}, or use its replies anyway: model.onChange=warn`,
      );
    hasChanged = true;
    warning = `${text}. The recorded replies are used anyway, matched by iteration and candidate`;
  };
  return {
    id: `replayed/${cassette.model.replace(/^replayed\//, '')}`,
    givesSeveral: true,
    async generate(messages, { callId, seeds, signal }) {
      const call = calls.get(callId ?? '');
      // Completions are recorded one per line, so each is requested separately, unless one error applies to all.
      if (seeds.length > 1 && !failedForAll(call)) return [];
      if (signal?.aborted) throw new ModelError('aborted', 'aborted', { retries: 0, latencyMs: 0 });
      if (callId === undefined)
        throw notRecordedError('a replayed model can only answer the calls of a run: use another model');
      if (call === undefined)
        throw notRecordedError(
          `${callId}: ${cassette.path} doesn't contain this call: that run was shorter, or had fewer candidates or corrections. Replay it with its own config, or with at most as many iterations (in an agent run, episodes)`,
        );
      checkPrompt(call, messages);
      const { completion, outcome } = call;
      if (outcome.kind === 'error') throw new ModelError(outcome.error, outcome.message, outcome);
      if (completion === undefined)
        throw notRecordedError(`${callId}: ${cassette.path} doesn't contain a reply to this call`);
      if (warning === undefined) return [completion];
      const warnings = [...(completion.warnings ?? []), warning];
      warning = undefined;
      return [{ ...completion, warnings }];
    },
  };
}

/** A call with a hash in place of its prompt, because the prompts of a long run may not fit into memory. */
type HashedCall = Omit<RecordedCall, 'messages'> & { readonly promptHash: string };

/** Indexes the calls by id, except aborted ones, which have no reply. */
function callsById({ calls }: Cassette): ReadonlyMap<string, HashedCall> {
  const hashedCalls = new Map<string, HashedCall>();
  for (const { messages, ...call } of calls) {
    if (call.outcome.kind === 'error' && call.outcome.error === 'aborted') continue;
    hashedCalls.set(call.id, { ...call, promptHash: hashOf(messages) });
  }
  return hashedCalls;
}

function hashOf(messages: readonly ChatMessage[]): string {
  const hash = createHash('sha256');
  for (const { role, content } of messages) hash.update(`${role}\n${content.length}\n${content}`);
  return hash.digest('base64');
}

function promptOf({ calls }: Cassette, { id, promptHash }: HashedCall): readonly ChatMessage[] {
  for (const { id: other, messages } of calls) {
    if (other === id && hashOf(messages) === promptHash) return messages;
  }
  throw new Error(`${id} is no longer recorded`);
}

/** True if one request for several completions failed as a whole. */
const failedForAll = (call: HashedCall | undefined): boolean =>
  call?.outcome.kind === 'error' && (call.choices ?? 1) > 1;

const notRecordedError = (message: string) =>
  new ModelError('not-recorded', message, { retries: 0, latencyMs: 0 });

/** Describes the first difference between two prompts. */
function firstDifference(recorded: readonly ChatMessage[], now: readonly ChatMessage[]): string {
  const index = recorded.findIndex(
    ({ content, role }, i) => role !== now[i]?.role || content !== now[i].content,
  );
  const i = index < 0 ? recorded.length : index;
  const [was, is] = [recorded[i], now[i]];
  if (was === undefined) return `Message ${i + 1} (${is!.role}) was added`;
  if (is === undefined) return `Message ${i + 1} (${was.role}) was removed`;
  if (was.role !== is.role) return `Message ${i + 1}: its role was ${was.role}, and is now ${is.role}`;
  const [before, after] = [was.content.split('\n'), is.content.split('\n')];
  const line = before.findIndex((text, l) => text !== after[l]);
  const at = line < 0 ? before.length : line;
  return `Message ${i + 1} (${was.role}), line ${at + 1}: ${lineChange(before[at], after[at])}`;
}

/** Describes the change of a line; quotes start just before the first difference. */
function lineChange(recorded: string | undefined, now: string | undefined): string {
  let sameLength = 0;
  while (sameLength < (recorded?.length ?? 0) && recorded![sameLength] === now?.[sameLength]) sameLength++;
  const quote = (text: string) => {
    const from = Math.max(0, sameLength - 30);
    const end = from + 80;
    return `“${from > 0 ? '…' : ''}${text.slice(from, end)}${text.length > end ? '…' : ''}”`;
  };
  if (recorded === undefined) return `added ${quote(now!)}`;
  if (now === undefined) return `removed ${quote(recorded)}`;
  return `recorded ${quote(recorded)}, now ${quote(now)}`;
}
