/** Formats an episode as a few lines of text: either sampled steps or statistics. */
import { formatShort, formatSignificant } from '../../environments/catalogue/facts.js';
import type { Action, Observation } from '../../environments/environment.js';
import { countOccurrences } from '../../rollout/behavior.js';
import type { EpisodeRecord } from '../../rollout/episode.js';
import type { MemorySettings } from '../settings.js';
import type { ScoreFormat } from './scores.js';

/** Returns the lines shown for an evaluation's first episode. */
export function trajectoryLines(
  episode: Episode | undefined,
  memory: MemorySettings,
  returnText: ScoreFormat,
): readonly string[] {
  if (episode === undefined) return [];
  switch (memory.trajectories) {
    case 'none':
      return [];
    case 'rows':
      return trajectoryRows(episode, memory.rows, returnText);
    case 'summary':
      return trajectorySummary(episode, returnText);
  }
}

type Episode = Pick<EpisodeRecord, 'observations' | 'actions' | 'rewards' | 'terminated' | 'truncated'>;
type Value = Observation | Action;

/** Lists up to `count` evenly spaced steps as `step | observation | action | reward`, then how the episode ended. */
export function trajectoryRows(episode: Episode, count: number, returnText: ScoreFormat): readonly string[] {
  const rows = evenlySpacedSteps(episode.actions.length, count).map((t) => {
    const { observations, actions, rewards } = episode;
    return `${t} | ${valueText(observations[t]!)} | ${valueText(actions[t]!)} | ${formatShort(rewards[t]!)}`;
  });
  return [...rows, `end | ${valueText(episode.observations.at(-1)!)} | ${outcomeText(episode, returnText)}`];
}

/** Lists up to `count` evenly spaced indices below `length`, from first to last (only the first if `count` is 1). */
function evenlySpacedSteps(length: number, count: number): readonly number[] {
  const shownCount = Math.min(length, count);
  if (shownCount <= 1) return shownCount === 1 ? [0] : [];
  return Array.from({ length: shownCount }, (_, i) => Math.round((i * (length - 1)) / (shownCount - 1)));
}

/** Summarises an episode: its outcome, first and last observation, and statistics of observations and actions. */
export function trajectorySummary(episode: Episode, returnText: ScoreFormat): readonly string[] {
  const { observations, actions } = episode;
  return [
    outcomeText(episode, returnText),
    `first observation: ${valueText(observations[0]!)}; last: ${valueText(observations.at(-1)!)}`,
    ...describeValues('observation', observations, 'visits'),
    ...describeValues('action', actions, 'times taken'),
  ];
}

function outcomeText({ actions, rewards, terminated }: Episode, returnText: ScoreFormat): string {
  const total = rewards.reduce((sum, reward) => sum + reward, 0);
  const steps = `${actions.length} ${actions.length === 1 ? 'step' : 'steps'}`;
  return `${terminated ? 'terminated' : 'cut off'} after ${steps}, return ${returnText(total)}`;
}

/** Maximum number of distinct values listed with their counts. */
const maxListed = 12;

/** Counts values that are integers or strings; for vectors, gives each component's minimum, mean and maximum. */
function describeValues(name: string, values: readonly Value[], countLabel: string): readonly string[] {
  const first = values[0];
  if (first === undefined) return [];
  if (typeof first !== 'object') {
    const counts = countOccurrences(values as readonly (number | string)[]);
    const listed = counts.slice(0, maxListed).map(({ times, value }) => `${valueText(value)}: ${times}`);
    const rest = counts.length - listed.length;
    return [`${name} (${countLabel}): ${listed.join(', ')}${rest > 0 ? `, and ${rest} more` : ''}`];
  }
  return first.map((_, i) => {
    const components = (values as readonly (readonly number[])[]).map((value) => value[i]!);
    let [low, high, sum] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0];
    for (const component of components) {
      low = Math.min(low, component);
      high = Math.max(high, component);
      sum += component;
    }
    return `${name}[${i}]: min ${formatShort(low)}, mean ${formatShort(sum / components.length)}, max ${formatShort(high)}`;
  });
}

/** Formats numbers with up to four significant digits. */
function valueText(value: Value): string {
  if (typeof value === 'string') return value;
  const asText = (number: number) => formatSignificant(number, 4);
  return typeof value === 'number' ? asText(value) : `[${value.map(asText).join(', ')}]`;
}
