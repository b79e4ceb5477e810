/** Summarises how a policy behaves in an evaluation's episodes: endings, actions, streaks and states visited. */
import type { Action, Observation, Space } from '../environments/environment.js';
import { largest, mean, quantile, smallest, sum } from '../statistics/descriptive.js';
import type { EpisodeRecord } from './episode.js';

export interface Quartiles {
  readonly low: number;
  readonly median: number;
  readonly high: number;
}

export interface EpisodeEnding {
  readonly how: 'terminated' | 'cut off';
  readonly episodes: number;
  readonly return: number;
  readonly length: Quartiles;
  /** Final observations of these episodes: quartiles of each component, or the most frequent observations. */
  readonly last: readonly Occurrence[] | readonly Quartiles[];
}

interface Occurrence {
  readonly value: number | string;
  readonly times: number;
}

/** A per-episode figure, summarised by its quartiles over the episodes. */
interface Figure extends Quartiles {
  readonly name: string;
}

export interface Behavior {
  readonly episodes: number;
  readonly return: Quartiles & { readonly mean: number; readonly lowest: number; readonly highest: number };
  readonly length: Quartiles;
  /** Most frequent first. */
  readonly endings: readonly EpisodeEnding[];
  readonly figures: readonly Figure[];
}

type EpisodeSteps = Pick<EpisodeRecord, 'observations' | 'actions' | 'rewards' | 'terminated'>;

interface Spaces {
  readonly observationSpace: Space;
  readonly actionSpace: Space;
}

/** Limits that keep prompts readable; longer vectors, lists and texts are truncated. */
const maxComponents = 24;
const maxActions = 12;
const maxOccurrences = 12;
const maxCharacters = 80;

/** @param episodes at least one, each with at least one step */
export function behaviorOf(episodes: readonly EpisodeSteps[], spaces: Spaces): Behavior {
  const returns = episodes.map(returnOf);
  const endings = (['terminated', 'cut off'] as const).flatMap((how) => {
    const group = episodes.filter(({ terminated }) => terminated === (how === 'terminated'));
    return group.length === 0 ? [] : [endingOf(how, group, spaces.observationSpace)];
  });
  const actionValues = listedActions(episodes, spaces.actionSpace);
  const figures = episodes.map((episode) => figuresOf(episode, spaces, actionValues));
  const extremes = { lowest: smallest(returns), highest: largest(returns) };
  return {
    episodes: episodes.length,
    return: { ...quartiles(returns), mean: mean(returns), ...extremes },
    length: quartiles(episodes.map(lengthOf)),
    endings: endings.toSorted((a, b) => b.episodes - a.episodes),
    figures: [...figures[0]!.keys()].map((name) => ({
      name,
      ...quartiles(figures.map((episodeFigures) => episodeFigures.get(name)!)),
    })),
  };
}

/** Index of the episode with the median return: the lower of two middle returns; the earliest episode if tied. */
export function medianEpisodeIndex(returns: readonly number[]): number {
  const sorted = returns.toSorted((a, b) => a - b);
  return returns.indexOf(sorted[Math.floor((sorted.length - 1) / 2)]!);
}

const returnOf = ({ rewards }: Pick<EpisodeSteps, 'rewards'>) => sum(rewards);
const lengthOf = ({ rewards }: Pick<EpisodeSteps, 'rewards'>) => rewards.length;

function quartiles(values: readonly number[]): Quartiles {
  const sorted = values.toSorted((a, b) => a - b);
  return { low: quantile(sorted, 0.25), median: quantile(sorted, 0.5), high: quantile(sorted, 0.75) };
}

function endingOf(how: EpisodeEnding['how'], episodes: readonly EpisodeSteps[], space: Space): EpisodeEnding {
  const finalObservations = episodes.map(({ observations }) => observations.at(-1)!);
  return {
    how,
    episodes: episodes.length,
    return: mean(episodes.map(returnOf)),
    length: quartiles(episodes.map(lengthOf)),
    last:
      space.kind === 'box'
        ? columnsOf(finalObservations as readonly (readonly number[])[]).map(quartiles)
        : countOccurrences(finalObservations.map(shortValue)).slice(0, maxOccurrences),
  };
}

const isVector = (value: Observation | Action): value is readonly number[] => typeof value === 'object';

const columnsOf = (vectors: readonly (readonly number[])[]) =>
  vectors[0]!.slice(0, maxComponents).map((_, i) => vectors.map((vector) => vector[i]!));

/** Counts how often each value occurs; the most frequent comes first. */
export function countOccurrences(values: readonly (number | string)[]): readonly Occurrence[] {
  const counts = new Map<number | string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts]
    .map(([value, times]) => ({ value, times }))
    .sort((a, b) => b.times - a.times || (a.value < b.value ? -1 : 1));
}

/** Formats a value for a prompt: a number, a vector, or the beginning of a text, on one line. */
function shortValue(value: Observation | Action): number | string {
  if (typeof value === 'number') return value;
  if (isVector(value)) return `[${value.join(', ')}]`;
  const line = value.trim().replaceAll(/\s+/g, ' ');
  return `"${line.length > maxCharacters ? `${line.slice(0, maxCharacters)}…` : line}"`;
}

/** The actions to list with their shares: none for a box, the lowest for a discrete space, else the most frequent. */
function listedActions(episodes: readonly EpisodeSteps[], space: Space): readonly (number | string)[] {
  if (space.kind === 'box') return [];
  if (space.kind === 'discrete')
    return Array.from({ length: Math.min(space.n, maxActions) }, (_, i) => (space.start ?? 0) + i);
  return countOccurrences(episodes.flatMap(({ actions }) => actions.map(shortValue)))
    .slice(0, maxActions)
    .map(({ value }) => value);
}

/** The figures of one episode, by name; names and order are the same for all episodes of an evaluation. */
function figuresOf(
  episode: EpisodeSteps,
  spaces: Spaces,
  actionValues: readonly (number | string)[],
): ReadonlyMap<string, number> {
  const { actions, observations, rewards } = episode;
  return new Map([
    ['steps with a reward above 0, share', shareOf(rewards, (reward) => reward > 0)],
    ['steps with a reward below 0, share', shareOf(rewards, (reward) => reward < 0)],
    ...actionFigures(actions, spaces.actionSpace, actionValues),
    ['longest run of steps with the observation unchanged', longestRun(observations, isSame) - 1],
    ...observationFigures(observations, spaces.observationSpace),
  ]);
}

type NamedValues = readonly (readonly [name: string, value: number])[];

/** Shares, changes and longest streak of actions or, for a box, the size, sign and changes of each component. */
function actionFigures(
  actions: readonly Action[],
  space: Space,
  actionValues: readonly (number | string)[],
): NamedValues {
  const changedShare = changeShare(actions, isSame);
  const streak = longestRun(actions, isSame);
  if (space.kind !== 'box') {
    const names = actions.map(shortValue);
    const shares = actionValues.map(
      (action) => [`action ${action}, share of steps`, shareOf(names, (name) => name === action)] as const,
    );
    return [
      ...shares,
      ['steps with another action than before, share', changedShare],
      ['longest run of steps with one action', streak],
    ];
  }
  return columnsOf(actions as readonly (readonly number[])[]).flatMap((values, i): NamedValues => {
    const bound = Math.max(Math.abs(space.low[i]!), Math.abs(space.high[i]!));
    return [
      [`action[${i}], mean size`, mean(values.map(Math.abs))],
      [`action[${i}], bias (-1 always negative, 1 always positive)`, biasOf(values)],
      [`action[${i}], mean change from step to step`, meanChange(values)],
      [`action[${i}], changes of sign, share of steps`, changeShare(values, hasSameSign)],
      [`action[${i}], longest run of steps with one sign`, longestRun(values, hasSameSign)],
      ...(Number.isFinite(bound)
        ? [
            [
              `action[${i}], share of steps at 90 % of its bound or beyond`,
              shareOf(values, (value) => Math.abs(value) >= 0.9 * bound),
            ] as const,
          ]
        : []),
    ];
  });
}

/** States visited and revisited or, for a box, the magnitude and sign of each component. */
function observationFigures(observations: readonly Observation[], space: Space): NamedValues {
  if (space.kind !== 'box') {
    const seen = new Set<Observation>();
    const revisitShare = shareOf(observations, (observation) => {
      const state = isVector(observation) ? observation.join() : observation;
      const isKnown = seen.has(state);
      seen.add(state);
      return isKnown;
    });
    return [
      ['different states', seen.size],
      ['steps back to a state of before, share', revisitShare],
    ];
  }
  return columnsOf(observations as readonly (readonly number[])[]).flatMap((values, i): NamedValues => {
    const magnitudes = values.map(Math.abs).sort((a, b) => a - b);
    return [
      [`observation[${i}], root mean square`, Math.sqrt(mean(values.map((value) => value ** 2)))],
      [`observation[${i}], 95th percentile of its size`, quantile(magnitudes, 0.95)],
      [`observation[${i}], bias (-1 always negative, 1 always positive)`, biasOf(values)],
      [`observation[${i}], changes of sign, share of steps`, changeShare(values, hasSameSign)],
      [`observation[${i}], longest run of steps with one sign`, longestRun(values, hasSameSign)],
    ];
  });
}

function shareOf<T>(values: readonly T[], test: (value: T) => boolean): number {
  let count = 0;
  for (const value of values) if (test(value)) count++;
  return values.length === 0 ? 0 : count / values.length;
}

const isSame = (a: Observation | Action, b: Observation | Action): boolean =>
  isVector(a) && isVector(b) ? a.every((value, i) => value === b[i]) : a === b;

const hasSameSign = (a: number, b: number) => Math.sign(a) === Math.sign(b);

/** Share of consecutive pairs whose values differ. */
function changeShare<T>(values: readonly T[], isEqual: (a: T, b: T) => boolean): number {
  const differences = values.slice(1).map((value, i) => !isEqual(values[i]!, value));
  return shareOf(differences, Boolean);
}

function longestRun<T>(values: readonly T[], isEqual: (a: T, b: T) => boolean): number {
  let [longest, length] = [0, 0];
  for (const [i, value] of values.entries()) {
    length = i > 0 && isEqual(values[i - 1]!, value) ? length + 1 : 1;
    longest = Math.max(longest, length);
  }
  return longest;
}

/** Sum divided by the sum of absolute values, in [-1, 1]; 0 if all values are 0. */
function biasOf(values: readonly number[]): number {
  const magnitude = sum(values.map(Math.abs));
  return magnitude === 0 ? 0 : sum(values) / magnitude;
}

const meanChange = (values: readonly number[]) =>
  values.length < 2 ? 0 : mean(values.slice(1).map((value, i) => Math.abs(value - values[i]!)));
