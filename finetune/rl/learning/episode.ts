/** Episodes as a trainer sees them: sequences of tokens that were sampled, and what was earned. */
import type { Game, Turn } from '../../../src/agents/player.js';
import type { TokenSequence } from '../../engine/batch.js';
import type { SampledReply } from './reply.js';

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
  /** Place of the last trained token of each turn's reply among the tokens of all completions. */
  readonly ends: readonly number[];
  /** Whether a limit cut it off: more might have been earned. */
  readonly truncated: boolean;
  /** Tokens that the model sampled. */
  readonly tokens: number;
  /** Mean return of the policy that it proposed. */
  readonly policyReturn?: number;
}

type Played = Pick<Turn<SampledReply>, 'reply' | 'reward' | 'valid'>;

export function episodeOf({
  turns,
  truncated,
}: Pick<Game<SampledReply>, 'truncated'> & { readonly turns: readonly Played[] }): Episode {
  return {
    ...sequencesOf(turns),
    rewards: turns.map(({ reward }) => reward),
    valid: turns.map(({ valid }) => valid),
    truncated,
    tokens: turns.reduce((sum, { reply }) => sum + reply.ids.length, 0),
  };
}

/** Turns whose prompts go on from the tokens before are one sequence. */
function sequencesOf(turns: readonly Pick<Played, 'reply'>[]): Pick<Episode, 'sequences' | 'ends'> {
  const ends: number[] = [];
  const sequences: { promptIds: readonly number[]; completion: Completion }[] = [];
  for (const { reply } of turns) {
    const last = sequences.at(-1);
    const between = last && continuation(last, reply.promptIds);
    if (last === undefined || between === undefined) {
      sequences.push({ promptIds: reply.promptIds, completion: new Completion() });
      sequences.at(-1)!.completion.sampled(reply);
    } else {
      last.completion.read(between);
      last.completion.sampled(reply);
    }
    const trained = sequences.flatMap(({ completion }) => completion.trained);
    ends.push(trained.lastIndexOf(true));
  }
  return {
    ends,
    sequences: sequences.map(({ promptIds, completion: { completionIds, trained, samplerLogp } }) => ({
      promptIds,
      completionIds,
      trained,
      samplerLogp,
    })),
  };
}

class Completion {
  readonly completionIds: number[] = [];
  readonly trained: boolean[] = [];
  readonly samplerLogp: number[] = [];

  sampled({ chosen, ids, logp }: SampledReply): void {
    this.completionIds.push(...ids);
    this.trained.push(...chosen);
    this.samplerLogp.push(...logp);
  }

  read(ids: readonly number[]): void {
    this.completionIds.push(...ids);
    this.trained.push(...ids.map(() => false));
    this.samplerLogp.push(...ids.map(() => 0));
  }
}

/** What a prompt adds to a sequence; undefined where it does not begin with it. */
function continuation(
  { promptIds, completion }: { readonly promptIds: readonly number[]; readonly completion: Completion },
  prompt: readonly number[],
): readonly number[] | undefined {
  const known = [...promptIds, ...completion.completionIds];
  if (prompt.length < known.length || known.some((id, i) => prompt[i] !== id)) return undefined;
  return prompt.slice(known.length);
}

/** Episodes from the same start. */
export type Group = readonly Episode[];
