import type { RandomGenerator } from '../base/random/generator.js';
import type { EnvironmentSpec } from '../environments/environment.js';
import type { ParameterSpec, ParameterVector } from '../policies/policy.js';
import type { ProgramLibrary } from '../policies/program/library.js';
import { type ScoredParameters, vectorKey } from '../rollout/replay-buffer.js';

/** The parameters to search, and the evaluations so far. */
export interface SearchTask {
  readonly parameters: ParameterSpec;
  /** Present if policies are programs. */
  readonly programs?: { readonly library: ProgramLibrary; readonly environment: EnvironmentSpec } | undefined;
  /** All evaluations in memory, oldest first. */
  readonly history: readonly ScoredParameters[];
  /** Number of entries in `history` that precede the first proposal: warm-up, imported policies, earlier legs. */
  readonly warmup: number;
  /** True if repeated evaluations of a point can differ because each iteration plays different episodes. */
  readonly noisy?: boolean;
  /** True if other proposers contribute too, so `history` may contain points far from this search's own. */
  readonly shared?: boolean;
}

/** A search algorithm. */
export interface Baseline {
  /** Must be a pure function, so a resumed run makes the same proposals as an uninterrupted one. */
  propose(task: SearchTask, random: RandomGenerator): ParameterVector | Promise<ParameterVector>;
  /** Proposes all candidates of an iteration together; absent if the proposals are independent of each other. */
  readonly proposeGroup?: (
    task: SearchTask,
    randoms: readonly RandomGenerator[],
  ) => Promise<readonly ParameterVector[]>;
}

/**
 * Folds the history into a cached state. A call processes only new entries; it starts over if the parameters, the
 * warm-up or earlier entries changed.
 */
export function historyFold<S>(
  createState: (task: SearchTask) => S,
  add: (state: S, entry: ScoredParameters, index: number) => void,
): (task: SearchTask) => S {
  let last: { task: SearchTask; state: S; foldedHistory: readonly ScoredParameters[] } | undefined;
  return (task) => {
    const continues =
      task.parameters === last?.task.parameters &&
      task.warmup === last.task.warmup &&
      last.foldedHistory.every((entry, i) => isSame(entry, task.history[i]));
    const { state, foldedHistory } = continues ? last! : { state: createState(task), foldedHistory: [] };
    for (let i = foldedHistory.length; i < task.history.length; i++) add(state, task.history[i]!, i);
    last = { task, state, foldedHistory: [...task.history] };
    return state;
  };
}

/** Creates a function that collects the keys of all evaluated points. */
export const createKeyCollector = (): ((task: SearchTask) => ReadonlySet<string>) =>
  historyFold(
    () => new Set<string>(),
    (keys, { parameters }) => keys.add(vectorKey(parameters)),
  );

const isSame = (a: ScoredParameters, b: ScoredParameters | undefined) =>
  a === b || (a.parameters === b?.parameters && a.score === b.score);

/**
 * Returns the first sample that has not been evaluated: up to 40 near samples, whose steps widen by 10% with each try
 * after the tenth, then up to 60 from anywhere; the last sample if all have been evaluated.
 */
export function sampleUnseen(
  seen: ReadonlySet<string>,
  drawNear: (widening: number) => ParameterVector,
  drawAnywhere: () => ParameterVector,
): ParameterVector {
  let parameters: ParameterVector = [];
  for (let tries = 0; tries < 100; tries++) {
    parameters = tries < 40 ? drawNear(1.1 ** Math.max(0, tries - 9)) : drawAnywhere();
    if (!seen.has(vectorKey(parameters))) break;
  }
  return parameters;
}
