/** Episodes as a trainer sees them: sequences of tokens that were sampled, and what was earned. */

import type { Game, Turn } from '../../../src/agents/player.js';
import { append } from '../../../src/base/append.js';
import type { TokenSequence } from '../../engine/batch.js';
import { type SampledReply, wasChosen } from './reply.js';

/** Tokens that were read and sampled in one go. Those that the environment wrote in between are not trained. */
export interface SampledSequence extends TokenSequence {
  readonly trained: readonly boolean[];
  /** One for each token of the completion, at the temperature of the sampling; 0 where not trained. */
  readonly samplerLogp: readonly number[];
}

export interface Episode {
  readonly sequences: readonly SampledSequence[];
  /** The reward of each turn. */
  readonly rewards: readonly number[];
  /** Whether the reply of each turn named an action. */
  readonly valid: readonly boolean[];
  /**
   * Place of the last trained token by the end of each turn's reply, among the tokens of all completions; −1 before there
   * was a choice.
   */
  readonly ends: readonly number[];
  /** Whether a limit cut it off: more might have been earned. */
  readonly truncated: boolean;
  /** Tokens that the model sampled. */
  readonly tokens: number;
  /** Mean return of the policy that it proposed. */
  readonly policyReturn?: number;
}

type Played = Pick<Turn, 'reward' | 'valid'> & {
  readonly reply: Pick<SampledReply, 'promptIds' | 'ids' | 'logp' | 'allowed'>;
};

export function episodeOf({
  turns,
  truncated,
}: Pick<Game, 'truncated'> & { readonly turns: readonly Played[] }): Episode {
  return {
    ...sequencesOf(turns),
    rewards: turns.map(({ reward }) => reward),
    valid: turns.map(({ valid }) => valid),
    truncated,
    tokens: turns.reduce((sum, { reply }) => sum + reply.ids.length, 0),
  };
}

/** Turns whose prompts go on from the tokens before are one sequence. What follows its last choice is left out. */
function sequencesOf(turns: readonly Pick<Played, 'reply'>[]): Pick<Episode, 'sequences' | 'ends'> {
  const completions: Completion[] = [];
  /** Choices that were made by the end of each turn. */
  const made: number[] = [];
  for (const { reply } of turns) {
    const last = completions.at(-1);
    const between = last && continuation(last, reply.promptIds);
    if (last === undefined || between === undefined) completions.push(new Completion(reply.promptIds));
    else last.read(between);
    completions.at(-1)!.sampled(reply);
    made.push((made.at(-1) ?? 0) + reply.allowed.filter(wasChosen).length);
  }
  const sequences = completions.flatMap((completion) => completion.sequence() ?? []);
  const trained = sequences.flatMap((sequence) => sequence.trained);
  const places = [...trained.keys()].filter((place) => trained[place]);
  return { sequences, ends: made.map((count) => places[count - 1] ?? -1) };
}

class Completion {
  readonly promptIds: readonly number[];
  readonly ids: number[] = [];
  readonly #allowed: (readonly number[] | null)[] = [];
  readonly #trained: boolean[] = [];
  readonly #logp: number[] = [];

  constructor(promptIds: readonly number[]) {
    this.promptIds = promptIds;
  }

  sampled({ allowed, ids, logp }: Played['reply']): void {
    append(this.ids, ids);
    append(this.#allowed, allowed);
    append(this.#trained, allowed.map(wasChosen));
    append(this.#logp, logp);
  }

  read(ids: readonly number[]): void {
    append(this.ids, ids);
    append(
      this.#allowed,
      ids.map(() => null),
    );
    append(
      this.#trained,
      ids.map(() => false),
    );
    append(
      this.#logp,
      ids.map(() => 0),
    );
  }

  /** Undefined where there was no choice. */
  sequence(): SampledSequence | undefined {
    const length = this.#trained.lastIndexOf(true) + 1;
    if (length === 0) return undefined;
    const allowed = this.#allowed.slice(0, length);
    return {
      promptIds: this.promptIds,
      completionIds: this.ids.slice(0, length),
      trained: this.#trained.slice(0, length),
      ...(allowed.some((some) => some !== null) && { allowed }),
      samplerLogp: this.#logp.slice(0, length),
    };
  }
}

/** What a prompt adds to a sequence; undefined where it does not begin with it. */
function continuation(
  { promptIds, ids }: Pick<Completion, 'promptIds' | 'ids'>,
  prompt: readonly number[],
): readonly number[] | undefined {
  const known = [...promptIds, ...ids];
  if (prompt.length < known.length || known.some((id, i) => prompt[i] !== id)) return undefined;
  return prompt.slice(known.length);
}

/** Episodes from the same start. */
export type Group = readonly Episode[];
