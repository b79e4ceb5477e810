/** What each token of the episodes is credited with: advantages, and the targets of a value head. */

import type { advantageScales, ObjectiveSettings, PpoSettings } from '../../src/config/learning/objective.js';
import type { Sampled } from '../train/objectives/sampled.js';
import { groupAdvantages, leaveOneOut, logRatios, standardised, tokenAdvantages } from './advantages.js';
import type { Episode, Group, SampledSequence } from './learning/episode.js';

/** A sequence with what the graph of the training read of it before the update. */
export interface ReadSequence extends SampledSequence {
  readonly oldLogp?: ArrayLike<number> | undefined;
  readonly oldValues?: ArrayLike<number> | undefined;
  readonly referenceLogp?: ArrayLike<number> | undefined;
}

export interface CreditSettings {
  readonly objective: ObjectiveSettings;
  readonly scale: (typeof advantageScales)[number];
  /** Added for each reply that names no action. */
  readonly invalid: number;
}

/**
 * All sequences of the groups with their advantages. An objective with a value head estimates those of each token; for
 * the others each token has the advantage of its episode's return among those of the group.
 * @param returns of each episode of each group
 * @param read what was read of a sequence; the sequence itself where nothing was
 */
export function credited(
  groups: readonly Group[],
  returns: readonly (readonly number[])[],
  read: (sequence: SampledSequence) => ReadSequence,
  settings: CreditSettings,
): readonly Sampled[] {
  const { objective, scale } = settings;
  if (objective.kind === 'ppo') return withEstimates(groups.flat(), read, { ...settings, objective });
  const earned =
    objective.kind === 'rloo'
      ? groups.map((group, g) =>
          group.map((episode, i) => returns[g]![i]! - objective.kl * divergenceOf(episode, read)),
        )
      : returns;
  const advantages = objective.kind === 'rloo' ? leaveOneOut(earned) : groupAdvantages(earned, scale);
  return groups.flatMap((group, g) =>
    group.flatMap(({ sequences }, i) =>
      sequences.map((sequence) => ({ ...read(sequence), advantages: advantages[g]![i]! })),
    ),
  );
}

function divergenceOf({ sequences }: Episode, read: (sequence: SampledSequence) => ReadSequence): number {
  return sequences.map(read).reduce((sum, one) => sum + total(ratiosOf(one)), 0);
}

const total = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0);

/** log π − log π_ref of each token; zeros where no reference was read. */
function ratiosOf({ referenceLogp, samplerLogp, oldLogp, trained }: ReadSequence): readonly number[] {
  return referenceLogp === undefined
    ? samplerLogp.map(() => 0)
    : logRatios(oldLogp ?? samplerLogp, referenceLogp, trained);
}

/** Generalised advantage estimation over the tokens of each episode, whose rewards stand at the last token of each reply. */
function withEstimates(
  episodes: readonly Episode[],
  read: (sequence: SampledSequence) => ReadSequence,
  { objective, invalid }: CreditSettings & { readonly objective: PpoSettings },
): readonly Sampled[] {
  const estimated = episodes.map((episode) => {
    const sequences = episode.sequences.map(read);
    const trained = sequences.flatMap((sequence) => sequence.trained);
    const values = sequences.flatMap((sequence) => Array.from(sequence.oldValues!));
    const ratios = sequences.flatMap(ratiosOf);
    const rewards = ratios.map((ratio) => -objective.kl * ratio);
    episode.ends.forEach((token, turn) => {
      rewards[token]! += episode.rewards[turn]! + (episode.valid[turn]! ? 0 : invalid);
    });
    // The state after a cut is not read: its value is about that before the last token.
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
