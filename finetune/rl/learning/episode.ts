/** Converts played turns to the sampled tokens that the trainer needs. */
import type { Game, Turn } from '../../../src/agents/player.js';
import type { Sample } from '../../../src/runs/training/samples.js';
import type { TokenSequence } from '../../engine/batch.js';
import type { SampledReply, Sampler } from '../../engine/sampler.js';

/** True if more than one token was possible, so there is something to learn. */
export const hadChoice = (allowed: readonly number[] | null): boolean => allowed?.length !== 1;

export interface RlTask {
  /** Plays `size` episodes from each start, or for each run in flight; `seed` is for sampling. */
  play(sampler: Sampler, starts: readonly number[], size: number, seed: number): Promise<readonly Group[]>;
  /** Evaluates the model from these starts, or in the runs that they determine; `seed` is for sampling. */
  measure(sampler: Sampler, starts: readonly number[], seed: number): Promise<Measurement>;
  /** State that the next groups depend on, in addition to the starts; stored in checkpoints. */
  readonly progress?: { save(): string; restore(saved: string): Promise<void> };
  /** Results of baseline searches in the runs that these starts determine. */
  baselines?(starts: readonly number[]): Promise<readonly BaselineResult[]>;
  close(): Promise<void>;
}

interface Measurement {
  /** One value per start or run; the weights with the highest mean count as the best. */
  readonly values: readonly number[];
  readonly policyReturn?: number | undefined;
  readonly bestReturn?: number | undefined;
  /** Prompts and replies of the first few episodes or runs. */
  readonly samples: readonly Sample[];
}

/** Result of a baseline search with the model's number of iterations, as means over runs. */
interface BaselineResult {
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
  readonly sequences: readonly SampledSequence[];
  readonly rewards: readonly number[];
  readonly valid: readonly boolean[];
  /** Number of trained tokens up to the end of each turn, over all sequences. */
  readonly ends: readonly number[];
  /** True if a limit cut the episode off, so more reward might have followed. */
  readonly truncated: boolean;
  readonly tokens: number;
  readonly policyReturn?: number;
}

type PlayedTurn = Pick<Turn, 'reward' | 'valid'> & {
  readonly reply: Pick<SampledReply, 'promptIds' | 'ids' | 'logp' | 'allowed'>;
};

export function episodeOf({
  turns,
  truncated,
}: Pick<Game, 'truncated'> & { readonly turns: readonly PlayedTurn[] }): Episode {
  return {
    ...sequencesOf(turns),
    rewards: turns.map(({ reward }) => reward),
    valid: turns.map(({ valid }) => valid),
    truncated,
    tokens: turns.reduce((sum, { reply }) => sum + reply.ids.length, 0),
  };
}

interface Token {
  readonly id: number;
  readonly allowed: readonly number[] | null;
  readonly logp: number;
  readonly isTrained: boolean;
}

/** Joins turns whose prompts continue the previous tokens. Drops the tokens after each sequence's last trained one. */
function sequencesOf(turns: readonly Pick<PlayedTurn, 'reply'>[]): Pick<Episode, 'sequences' | 'ends'> {
  const completions: { readonly promptIds: readonly number[]; readonly tokens: Token[] }[] = [];
  const ends: number[] = [];
  for (const { reply } of turns) {
    const previous = completions.at(-1);
    const ids = previous === undefined ? [] : [...previous.promptIds, ...previous.tokens.map(({ id }) => id)];
    const continues = previous !== undefined && ids.every((id, i) => reply.promptIds[i] === id);
    if (!continues) completions.push({ promptIds: reply.promptIds, tokens: [] });
    const { tokens } = completions.at(-1)!;
    if (continues)
      for (const id of reply.promptIds.slice(ids.length))
        tokens.push({ id, allowed: null, logp: 0, isTrained: false });
    for (const [i, id] of reply.ids.entries()) {
      const allowed = reply.allowed[i]!;
      tokens.push({ id, allowed, logp: reply.logp[i]!, isTrained: hadChoice(allowed) });
    }
    ends.push((ends.at(-1) ?? 0) + reply.allowed.filter(hadChoice).length);
  }
  const sequences = completions.flatMap(({ promptIds, tokens }) => {
    const kept = tokens.slice(0, tokens.findLastIndex(({ isTrained }) => isTrained) + 1);
    if (kept.length === 0) return [];
    return {
      promptIds,
      completionIds: kept.map(({ id }) => id),
      trained: kept.map(({ isTrained }) => isTrained),
      ...(kept.some(({ allowed }) => allowed !== null) && { allowed: kept.map(({ allowed }) => allowed) }),
      samplerLogp: kept.map(({ logp }) => logp),
    };
  });
  return { sequences, ends };
}

export type Group = readonly Episode[];
