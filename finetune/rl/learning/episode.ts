/** Represents replies as the trainer needs them: as sampled tokens. */
import type { Game, Turn } from '../../../src/agents/player.js';
import { append } from '../../../src/base/append.js';
import type { Sample } from '../../../src/runs/training/samples.js';
import type { TokenSequence } from '../../engine/batch.js';
import type { SampledReply, Sampler } from '../../engine/sampler.js';

/** True if more than one token was possible, so there is something to learn. */
export const wasChosen = (allowed: readonly number[] | null): boolean => allowed?.length !== 1;

export interface RlTask {
  /** Plays `size` episodes from each start; `seed` is for sampling. */
  play(sampler: Sampler, starts: readonly number[], size: number, seed: number): Promise<readonly Group[]>;
  /** Evaluates the model on held-out starts or runs; `seed` is for sampling. */
  measure(sampler: Sampler, starts: readonly number[], seed: number): Promise<Measured>;
  /** State that the next groups depend on, in addition to the starts; stored in checkpoints. */
  readonly progress?: { save(): string; restore(saved: string): Promise<void> };
  /** Hash of the user's own prompt sets, including their partials; it must be unchanged when training resumes. */
  readonly prompts?: string;
  /** Results of baseline searches on the held-out runs. */
  baselines?(): Promise<readonly Baseline[]>;
  close(): Promise<void>;
}

interface Measured {
  /** One value per start or held-out run; the weights with the highest mean count as the best. */
  readonly values: readonly number[];
  readonly policyReturn?: number | undefined;
  readonly bestReturn?: number | undefined;
  /** Prompts and replies of the first few episodes or runs. */
  readonly samples: readonly Sample[];
}

/** Result of a baseline search that played as many episodes as the model. */
interface Baseline {
  readonly label: string;
  readonly bestReturn: number;
  readonly episodes: number;
}

/** Tokens of consecutive turns, each continuing the previous one. The environment's tokens aren't trained. */
export interface SampledSequence extends TokenSequence {
  readonly trained: readonly boolean[];
  /** Log-probability per completion token, at the sampling temperature; 0 for the environment's tokens. */
  readonly samplerLogp: readonly number[];
}

export interface Episode {
  /** The environment's message in each turn, which shows the current state; '' for answers of a proposer. */
  readonly states: readonly string[];
  readonly sequences: readonly SampledSequence[];
  readonly rewards: readonly number[];
  readonly valid: readonly boolean[];
  /** Per turn, the index of the last trained token so far, within all completions together; −1 if there is none. */
  readonly ends: readonly number[];
  /** True if a limit cut the episode off, so more reward might have followed. */
  readonly truncated: boolean;
  readonly tokens: number;
  readonly policyReturn?: number;
}

type Played = Pick<Turn, 'reward' | 'valid'> & {
  readonly message?: string;
  readonly reply: Pick<SampledReply, 'promptIds' | 'ids' | 'logp' | 'allowed'>;
};

export function episodeOf({
  turns,
  truncated,
}: Pick<Game, 'truncated'> & { readonly turns: readonly Played[] }): Episode {
  return {
    ...sequencesOf(turns),
    states: turns.map(({ message = '' }) => message),
    rewards: turns.map(({ reward }) => reward),
    valid: turns.map(({ valid }) => valid),
    truncated,
    tokens: turns.reduce((sum, { reply }) => sum + reply.ids.length, 0),
  };
}

/** Joins turns whose prompts continue the previous tokens. Drops the tokens after each sequence's last trained one. */
function sequencesOf(turns: readonly Pick<Played, 'reply'>[]): Pick<Episode, 'sequences' | 'ends'> {
  const completions: Completion[] = [];
  /** Cumulative number of trained tokens at the end of each turn. */
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

  /** Undefined if no token is trained. */
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

/** The tokens that a prompt adds to a sequence; undefined if the prompt doesn't start with the sequence. */
function continuation(
  { promptIds, ids }: Pick<Completion, 'promptIds' | 'ids'>,
  prompt: readonly number[],
): readonly number[] | undefined {
  const known = [...promptIds, ...ids];
  if (prompt.length < known.length || known.some((id, i) => prompt[i] !== id)) return undefined;
  return prompt.slice(known.length);
}

export type Group = readonly Episode[];
