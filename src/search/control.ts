import type { ParameterSpec, ParameterVector } from '../policies/policy.js';
import type { RandomGenerator } from '../random/generator.js';
import type { Evaluated } from '../rollout/replay-buffer.js';

/** What is searched, and what is known of it. */
export interface Task {
  readonly parameters: ParameterSpec;
  /** Every evaluation that the memory holds, oldest first. Only ever appended to. */
  readonly history: readonly Evaluated[];
  /** How many of `history`, from its start, were there before the first proposal (warm-up, imported). */
  readonly warmup: number;
}

/** A search algorithm in the place of a language model: what such a model has to beat. */
export interface Control {
  /** What it proposes depends on the arguments alone, so that a resumed run goes on as if nothing had happened. */
  propose(task: Task, random: RandomGenerator): ParameterVector;
}

/**
 * Folds the history into a state, and keeps the state, so that a call costs only what was added since the last one.
 * A history that does not go on from the one before is folded anew.
 */
export function foldHistory<S>(
  start: (task: Task) => S,
  add: (state: S, evaluated: Evaluated, index: number) => void,
): (task: Task) => S {
  let state: S | undefined;
  let folded: Evaluated[] = [];
  let of: Task | undefined;
  return (task) => {
    const goesOn =
      state !== undefined &&
      task.parameters === of?.parameters &&
      task.warmup === of.warmup &&
      folded.every((evaluated, i) => isSame(evaluated, task.history[i]));
    const current = goesOn ? state! : start(task);
    if (!goesOn) folded = [];
    for (let i = folded.length; i < task.history.length; i++) {
      add(current, task.history[i]!, i);
      folded.push(task.history[i]!);
    }
    [state, of] = [current, task];
    return current;
  };
}

function isSame(a: Evaluated, b: Evaluated | undefined): boolean {
  return a === b || (a.parameters === b?.parameters && a.score === b.score);
}

/** Names a point; 0 and -0 alike. */
export function pointKey(parameters: ParameterVector): string {
  return parameters.join(',');
}

/**
 * The first sample that was not evaluated before. `near(widening)` samples as the algorithm would, with steps that are
 * `widening` times as long: 1 for the first ten tries, then a tenth more each time. Where that finds nothing, `anywhere`
 * is tried; when that finds nothing either, there is hardly anything left, and its last sample is taken.
 */
export function sampleUnseen(
  seen: ReadonlySet<string>,
  near: (widening: number) => ParameterVector,
  anywhere: () => ParameterVector,
): ParameterVector {
  let parameters: ParameterVector = [];
  for (let tries = 0; tries < 100; tries++) {
    parameters = tries < 40 ? near(1.1 ** Math.max(0, tries - 9)) : anywhere();
    if (!seen.has(pointKey(parameters))) break;
  }
  return parameters;
}
