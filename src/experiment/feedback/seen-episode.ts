/** The episode that feedback is asked on, and how it is drawn. */
import { type Animation, isShown, paceOf } from '../../render/animation.js';
import { spread } from '../../render/terminal-picture.js';
import type { EpisodeRecord } from '../../rollout/episode.js';
import type { EvaluationSetting } from '../../rollout/evaluation.js';
import { type canDraw, replay } from '../../rollout/replay.js';
import type { BufferEntry } from '../../rollout/replay-buffer.js';

export interface SeenEpisode {
  readonly entry: BufferEntry;
  /** Its number among the episodes of the evaluation, from 0. */
  readonly episode: number;
  readonly record: EpisodeRecord;
  /** Whether no evaluation before has a higher score. */
  readonly isBest: boolean;
}

/** Plays an episode again, and draws it. */
export type Draw = (seen: SeenEpisode) => Animation;

/** Moments of an episode that are drawn, at most. */
const most = { maxFrames: 200 };

/** @param environment one of its own: what it keeps from episode to episode must not reach evaluations */
export const drawing =
  ({
    environment,
    family,
    maxSteps,
    title,
  }: Pick<EvaluationSetting, 'family' | 'maxSteps'> & {
    readonly environment: Parameters<typeof canDraw>[0];
    readonly title: string;
  }): Draw =>
  ({ entry, record }) => {
    const setting = { environment, family, maxSteps };
    const { moments, pace } = replay(setting, entry.parameters, record.seed, most);
    return { title: `${title} · iteration ${entry.iteration}`, moments, pace };
  };

/**
 * Some moments of an episode, evenly spaced, by their positions among those that are drawn and by their steps: known
 * without drawing it.
 * @param stepSeconds of the environment
 */
export function momentsOf(
  { actions: { length } }: Pick<EpisodeRecord, 'actions'>,
  count: number,
  stepSeconds: number | undefined,
): readonly { readonly at: number; readonly step: number }[] {
  const pace = paceOf(length, stepSeconds, most);
  const steps = Array.from({ length: length + 1 }, (_, step) => step).filter((step) =>
    isShown(step, length, pace),
  );
  return spread(
    steps.map((step, at) => ({ at, step })),
    count,
  );
}
