/** Wrappers that make a task's motors imperfect: delayed, lagging or with a dead zone. */
import type { RandomGenerator } from '../../../random/generator.js';
import type { Action, Task } from '../../environment.js';
import { chance, logUniform } from '../distributions.js';

/** In a third of the draws with continuous actions, motors have a dead zone or lag behind. */
export function drawImperfection(random: RandomGenerator, task: Task): Task {
  const [kind, size] = [random.random(), logUniform(random, 0.02, 0.3)];
  const { actionSpace } = task;
  if (actionSpace.kind !== 'box' || kind > 1 / 3) return task;
  const bound = actionSpace.high[0]!;
  return chance(random, 0.5) ? deadened(task, size * bound) : lagging(task, 0.2 + 2 * size);
}

/** Action components within ± `width` count as 0; beyond, they are reduced by `width`. */
export function deadened(task: Task, width: number): Task {
  const felt = (value: number) => Math.sign(value) * Math.max(0, Math.abs(value) - width);
  return acting(task, { begin: () => undefined, act: (action) => (action as readonly number[]).map(felt) });
}

/** In each step, the motors cover this share of the difference to the action, starting from 0. */
export function lagging(task: Task, rate: number): Task {
  let at: number[] = [];
  return acting(task, {
    begin: () => {
      at = [];
    },
    act: (action) => {
      at = (action as readonly number[]).map((wanted, i) => (at[i] ?? 0) + rate * (wanted - (at[i] ?? 0)));
      return at;
    },
  });
}

/** Executes the action from `steps` steps ago; until then, the first action. */
export function delayed(task: Task, steps: number): Task {
  let waiting: Action[] = [];
  return acting(task, {
    begin: () => {
      waiting = [];
    },
    act: (action) => {
      waiting.push(action);
      return waiting.length > steps ? waiting.shift()! : waiting[0]!;
    },
  });
}

interface Motors {
  begin(): void;
  act(action: Action): Action;
}

const acting = (task: Task, { act, begin }: Motors): Task => ({
  observationSpace: task.observationSpace,
  actionSpace: task.actionSpace,
  reset(random) {
    begin();
    return task.reset(random);
  },
  step: (action) => task.step(act(action)),
});
