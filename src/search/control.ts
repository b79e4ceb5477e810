import { type LanguageModel, ModelError, type Task } from '../models/language-model.js';
import type { ParameterSpec, ParameterVector } from '../policies/policy.js';
import { createGenerator, type RandomGenerator } from '../random/generator.js';
import type { Evaluated } from '../rollout/replay-buffer.js';

/**
 * A search algorithm in the place of a language model. What it proposes depends on the task and the seed alone, so
 * that a resumed run goes on as if it had not been interrupted.
 */
export function createControl(
  id: string,
  propose: (task: Task, random: RandomGenerator) => ParameterVector,
): LanguageModel {
  return {
    id,
    generate: async (_messages, { task, seed, signal }) => {
      const started = performance.now();
      if (signal?.aborted) {
        throw new ModelError('aborted', `${id}: the call was aborted`, { retries: 0, latencyMs: 0 });
      }
      const text = formatAnswer(propose(task, createGenerator(seed)), task.parameters);
      return { text, finishReason: 'stop', usage: {}, latencyMs: performance.now() - started, retries: 0 };
    },
  };
}

/** `params[0]: 1.2, params[1]: -0.5` */
function formatAnswer(parameters: ParameterVector, spec: ParameterSpec): string {
  return parameters.map((value, i) => `params[${i}]: ${value.toFixed(spec.decimals)}`).join(', ');
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
