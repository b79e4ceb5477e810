/** The episode that feedback is about, and how it is drawn. */
import { type Animation, isShown, paceOf } from '../../render/animation.js';
import { spread } from '../../render/terminal-picture.js';
import type { EpisodeRecord } from '../../rollout/episode.js';
import type { EvaluationSetting } from '../../rollout/evaluation.js';
import { type canDraw, replay } from '../../rollout/replay.js';
import type { BufferEntry } from '../../rollout/replay-buffer.js';

export interface SeenEpisode {
  readonly entry: BufferEntry;
  /** 0-based index among the episodes of the evaluation. */
  readonly episode: number;
  readonly record: EpisodeRecord;
  /** True if no earlier evaluation has a higher score. */
  readonly isBest: boolean;
}

/** Replays an episode and draws it. */
export type Draw = (seen: SeenEpisode) => Animation;

/** Maximum number of frames per episode. */
const most = { maxFrames: 200 };

/** @param environment a separate instance, so that state kept between episodes can't leak into evaluations */
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
 * Selects evenly spaced moments of an episode, as indices among the drawn frames and as step numbers, without
 * drawing anything.
 * @param stepSeconds duration of an environment step
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
