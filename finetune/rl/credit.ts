/** Assigns advantages, and targets for a value head, to the tokens of episodes. */
import { groupedBy } from '../../src/base/grouped.js';
import { createGenerator, shuffled } from '../../src/base/random/generator.js';
import { largest } from '../../src/statistics/descriptive.js';
import type { Sampled } from '../train/objectives/sampled.js';
import type { advantageScales, ObjectiveSettings, PpoSettings } from '../train/objectives/settings.js';
import {
  discountedReturns,
  groupAdvantages,
  leaveOneOut,
  logRatios,
  standardised,
  tokenAdvantages,
} from './advantages.js';
import type { Episode, Group, SampledSequence } from './learning/episode.js';

/** A sequence with the log-probabilities, values and reference log-probabilities computed before the update. */
export interface ReadSequence extends SampledSequence {
  readonly oldLogp?: ArrayLike<number> | undefined;
  readonly oldValues?: ArrayLike<number> | undefined;
  readonly referenceLogp?: ArrayLike<number> | undefined;
}

export interface CreditSettings {
  readonly objective: ObjectiveSettings;
  readonly scale: (typeof advantageScales)[number];
  readonly invalid: number;
  readonly assignment?: Assignment | undefined;
  /** Discount factor per turn. PPO ignores it, and so does `return`, whose returns are already discounted. */
  readonly gamma?: number | undefined;
}

/**
 * Computes the advantages of all sequences. PPO uses its value head; other objectives compare the episodes of a group.
 * @param returns the return of each episode, by group
 * @param read adds to a sequence the values computed before the update
 */
export function credited(
  groups: readonly Group[],
  returns: readonly (readonly number[])[],
  read: (sequence: SampledSequence) => ReadSequence,
  settings: CreditSettings,
): readonly Sampled[] {
  const { objective } = settings;
  if (objective.kind === 'ppo') return withEstimates(groups.flat(), read, { ...settings, objective });
  if (settings.assignment === 'to-go' || settings.assignment === 'spread')
    return byTurn(groups, read, { ...settings, assignment: settings.assignment });
  const earned =
    objective.kind === 'rloo'
      ? groups.map((group, g) =>
          group.map((episode, i) => returns[g]![i]! - objective.kl * divergenceOf(episode, read)),
        )
      : returns;
  const compared = (lists: Lists) => comparedBy(settings, lists);
  const advantages = compared(earned);
  if (settings.assignment === 'anchor') {
    const steps = stepAdvantages(groups, compared, settings);
    return groups.flatMap((group, g) =>
      group.flatMap((episode, i) =>
        withAdvantages(episode, read, (turn) => advantages[g]![i]! + steps.get(episode)![turn]!),
      ),
    );
  }
  return groups.flatMap((group, g) =>
    group.flatMap(({ sequences }, i) =>
      sequences.map((sequence) => ({ ...read(sequence), advantages: advantages[g]![i]! })),
    ),
  );
}

type Lists = readonly (readonly number[])[];

/** Computes advantages within each list. */
const comparedBy = ({ objective, scale }: CreditSettings, lists: Lists): Lists =>
  objective.kind === 'rloo' ? leaveOneOut(lists) : groupAdvantages(lists, scale);

/**
 * Step advantages of GiGPO (L. Feng et al., “Group-in-Group Policy Optimization”, arXiv 2505.10978). Compares the
 * rewards-to-go of the turns that a group took in the same state. The advantage is 0 for a state seen once.
 */
function stepAdvantages(
  groups: readonly Group[],
  compared: (lists: Lists) => Lists,
  { gamma = 1, invalid }: CreditSettings,
): ReadonlyMap<Episode, readonly number[]> {
  const steps = new Map(groups.flat().map((episode) => [episode, episode.states.map(() => 0)]));
  const anchors = groups.flatMap((group) => {
    const taken = group.flatMap((episode) => {
      const credits = discountedReturns(turnRewards(episode, invalid), gamma);
      return episode.states.map((state, turn) => ({ episode, state, turn, credit: credits[turn]! }));
    });
    return [...groupedBy(taken, ({ state }) => state).values()];
  });
  const advantages = compared(anchors.map((anchor) => anchor.map(({ credit }) => credit)));
  anchors.forEach((anchor, a) => {
    for (const [i, { episode, turn }] of anchor.entries()) steps.get(episode)![turn] = advantages[a]![i]!;
  });
  return steps;
}

/** The sequences of an episode; each token gets the advantage of its turn. */
function withAdvantages(
  episode: Episode,
  read: (sequence: SampledSequence) => ReadSequence,
  ofTurn: (turn: number) => number,
): readonly Sampled[] {
  const tokens = perToken(episode, ofTurn);
  let place = 0;
  return episode.sequences.map((sequence) => {
    const from = place;
    place += sequence.completionIds.length;
    return { ...read(sequence), advantages: tokens.slice(from, place) };
  });
}

function byTurn(
  groups: readonly Group[],
  read: (sequence: SampledSequence) => ReadSequence,
  settings: CreditSettings & { readonly assignment: ByTurn },
): readonly Sampled[] {
  const { assignment, gamma = 1, invalid, objective } = settings;
  const cost = (episode: Episode) =>
    objective.kind === 'rloo' ? objective.kl * divergenceOf(episode, read) : 0;
  const turns = groups.map((group) => {
    const costs = group.map(cost);
    const rewards = group.map((episode) => turnRewards(episode, invalid));
    return turnCredits(rewards, assignment, gamma).map((values) =>
      values.map((value, i) => value - costs[i]!),
    );
  });
  const all = turns.flat();
  const advantages = comparedBy(settings, all);
  let first = 0;
  return groups.flatMap((group, g) => {
    const own = advantages.slice(first, first + turns[g]!.length);
    first += turns[g]!.length;
    return group.flatMap((episode, i) => withAdvantages(episode, read, (turn) => own[turn]![i]!));
  });
}

function divergenceOf({ sequences }: Episode, read: (sequence: SampledSequence) => ReadSequence): number {
  return sequences.map(read).reduce((sum, one) => sum + total(ratiosOf(one)), 0);
}

const total = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0);

/** log π − log π_ref per token; 0 if there is no reference. */
function ratiosOf({ referenceLogp, samplerLogp, oldLogp, trained }: ReadSequence): readonly number[] {
  return referenceLogp === undefined
    ? samplerLogp.map(() => 0)
    : logRatios(oldLogp ?? samplerLogp, referenceLogp, trained);
}

/** GAE over each episode's tokens. A turn's reward is given at the last trained token up to the end of that turn. */
function withEstimates(
  episodes: readonly Episode[],
  read: (sequence: SampledSequence) => ReadSequence,
  { assignment, objective, invalid }: CreditSettings & { readonly objective: PpoSettings },
): readonly Sampled[] {
  const estimated = episodes.map((episode) => {
    const sequences = episode.sequences.map(read);
    const trained = sequences.flatMap((sequence) => sequence.trained);
    const values = sequences.flatMap((sequence) => Array.from(sequence.oldValues!));
    const ratios = sequences.flatMap(ratiosOf);
    const rewards = ratios.map((ratio) => -objective.kl * ratio);
    const earned = turnRewards(episode, invalid);
    const assigned = assignment === 'spread' ? spread(earned) : earned;
    episode.ends.forEach((token, turn) => {
      if (token >= 0) rewards[token]! += objective.rewardScale * assigned[turn]!;
    });
    // The value after a truncation is unknown; the value before the last trained token approximates it.
    const lastValue = episode.truncated ? values[trained.lastIndexOf(true)]! : 0;
    return { sequences, trained, ...tokenAdvantages({ rewards, values, lastValue, trained }, objective) };
  });
  const scaled = standardised(
    estimated.map(({ advantages, trained }) => advantages.filter((_, token) => trained[token]!)),
  );
  return estimated.flatMap(({ sequences, returns, trained }, e) => {
    let place = 0;
    let step = 0;
    const advantages = trained.map((isTrained) => (isTrained ? scaled[e]![step++]! : 0));
    return sequences.map((sequence) => {
      const from = place;
      place += sequence.completionIds.length;
      return { ...sequence, advantages: advantages.slice(from, place), returns: returns.slice(from, place) };
    });
  });
}

/**
 * - `return`: the return of the whole episode; for PPO, the turn's own reward.
 * - `to-go`: the discounted rewards from the turn on, including its own.
 * - `spread`: an equal share of the return (discounted, except for PPO), as in LlamaGym.
 * - `anchor`: the return of the whole episode, plus the rewards-to-go compared between turns in the same state.
 */
export const assignments = ['return', 'to-go', 'spread', 'anchor'] as const;
type Assignment = (typeof assignments)[number];
type ByTurn = Extract<Assignment, 'to-go' | 'spread'>;

/** Reward of each turn; `invalid` is added for replies without an action. */
const turnRewards = ({ rewards, valid }: Episode, invalid: number): readonly number[] =>
  rewards.map((reward, turn) => reward + (valid[turn] === false ? invalid : 0));

function spread(rewards: readonly number[]): readonly number[] {
  const share = rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length;
  return rewards.map(() => share);
}

/** Credits indexed by turn and episode, to compare episodes at the same turn; NaN after an episode's last turn. */
function turnCredits(
  rewards: readonly (readonly number[])[],
  assignment: ByTurn,
  gamma: number,
): readonly (readonly number[])[] {
  const credits = rewards.map((own) =>
    assignment === 'to-go'
      ? discountedReturns(own, gamma)
      : spread(own.map((reward, turn) => gamma ** turn * reward)),
  );
  const longest = largest([0, ...credits.map(({ length }) => length)]);
  return Array.from({ length: longest }, (_, turn) => credits.map((own) => own[turn] ?? Number.NaN));
}

/** Expands one number per turn to one number per token of the episode's completions. */
function perToken({ ends }: Pick<Episode, 'ends'>, ofTurn: (turn: number) => number): readonly number[] {
  return ends.flatMap((end, turn) =>
    Array<number>(end - (turn === 0 ? -1 : ends[turn - 1]!)).fill(ofTurn(turn)),
  );
}

export interface RewardSettings {
  readonly gamma: number;
  readonly invalid: number;
  readonly shuffle: boolean;
}

/** Each episode's return, by group: Σ γᵗ·reward(t), plus `invalid` per invalid reply. `shuffle` permutes each group. */
export function returnsOf(
  groups: readonly Group[],
  { gamma, invalid, shuffle }: RewardSettings,
  seed: number,
): readonly (readonly number[])[] {
  const random = createGenerator(seed);
  return groups.map((group) => {
    const returns = group.map(({ rewards, valid }) => {
      const costs = invalid * valid.filter((isValid) => !isValid).length;
      return discountedReturns(rewards, gamma)[0]! + costs;
    });
    return shuffle ? shuffled(returns, random) : returns;
  });
}
