import type { RandomGenerator } from '../../random/generator.js';
import { circle, type Frame, type Point } from '../frame.js';
import { TabularTask } from '../toy-text/tabular-task.js';
import { drawShare } from './calibration.js';
import { chance, type Draw, integerBetween, logUniform, permutation } from './distributions.js';
import { chooseGoal, type Move, type Walk } from './random-tables.js';

/**
 * A random finite decision process. Rewards are either dense (one per state and action) or given for reaching
 * a goal, chosen so that the target share of random tables reaches it. Some states may end an episode badly.
 */
export const drawDecisionProcess: Draw<{
  readonly states?: number | undefined;
  readonly actions?: number | undefined;
}> = (random, options) => {
  const drawn = Math.floor(chance(random, 0.1) ? logUniform(random, 24, 49) : logUniform(random, 4, 25));
  const states = options.states ?? drawn;
  const actions = options.actions ?? integerBetween(random, 2, 4);
  const maxSteps = 10 * integerBetween(random, 2, 10);
  const kind = random.choice(['dense', 'goal', 'cliff'] as const);
  const walk = drawWalk(random, states, actions, kind === 'cliff');
  const model = {
    states,
    actions,
    initial: Array.from({ length: states }, (_, s) => (s === walk.start ? 1 : 0)),
  };
  if (kind === 'dense') {
    const scale = logUniform(random, 0.1, 10);
    const rewards = Float64Array.from({ length: states * actions }, () => scale * random.normal());
    const task = new TabularTask({
      ...model,
      outcomes: (state, action) =>
        walk.moves(state, action).map((move) => ({
          ...move,
          reward: rewards[state * actions + action]!,
          terminated: false,
        })),
      draw: (state) => drawRing(states, state, undefined),
    });
    return { task, maxSteps };
  }
  const goal = chooseGoal(walk, random, { wanted: drawShare(random), steps: maxSteps });
  if (goal === undefined) return undefined;
  const stepReward = chance(random, 0.5) ? -1 : 0;
  const goalReward = stepReward === 0 ? 1 : 0;
  const fall = stepReward === 0 ? -random.uniform(0, 1) : -logUniform(random, 10, 100);
  const task = new TabularTask({
    ...model,
    outcomes: (state, action) =>
      walk.moves(state, action).map((move) => ({
        ...move,
        reward: move.state === goal ? goalReward : walk.ends(move.state) ? fall : stepReward,
        terminated: move.state === goal || walk.ends(move.state),
      })),
    draw: (state) => drawRing(states, state, goal),
  });
  return { task, maxSteps };
};

/** Each action leads to 1 to 3 states, mostly neighbours on a ring, so that some states are far away. */
function drawWalk(random: RandomGenerator, states: number, actions: number, bad: boolean): Walk {
  const order = permutation(random, states);
  const place = new Int32Array(states);
  for (let i = 0; i < states; i++) place[order[i]!] = i;
  const farShare = chance(random, 0.5) ? 0 : logUniform(random, 0.02, 1);
  const slip = chance(random, 0.5) ? 0 : logUniform(random, 0.05, 0.6);
  const radius = integerBetween(random, 1, Math.min(3, states - 1));
  const target = (state: number): number => {
    if (chance(random, farShare)) return random.integers(0, states);
    const step = integerBetween(random, -radius, radius);
    return order[(place[state]! + step + states) % states]!;
  };
  const table: readonly Move[][] = Array.from({ length: states * actions }, (_, i) => {
    const state = Math.floor(i / actions);
    const main = { probability: 1 - slip, state: target(state) };
    if (slip === 0) return [main];
    const others = integerBetween(random, 1, 2);
    return [
      main,
      ...Array.from({ length: others }, () => ({ probability: slip / others, state: target(state) })),
    ];
  });
  const start = order[0]!;
  const badShare = bad ? logUniform(random, 0.05, 0.35) : 0;
  const ends = Array.from({ length: states }, (_, state) => state !== start && chance(random, badShare));
  return {
    states,
    actions,
    start,
    moves: (state, action) => table[state * actions + action]!,
    ends: (state) => ends[state]!,
  };
}

/** The states on a circle, the first one on the right. */
function drawRing(states: number, state: number, goal: number | undefined): Frame {
  const radius = Math.max(1, states / 6);
  const place = (s: number): Point => [
    radius * Math.cos((2 * Math.PI * s) / states),
    radius * Math.sin((2 * Math.PI * s) / states),
  ];
  return {
    view: { min: [-radius - 0.5, -radius - 0.5], max: [radius + 0.5, radius + 0.5] },
    shapes: [
      ...Array.from({ length: states }, (_, s) => circle(place(s), 0.4, s === goal ? 'goal' : 'ground')),
      circle(place(state), 0.25, 'agent'),
    ],
  };
}
