import { describe, expect, it } from 'vitest';
import type { Action, Task } from '../../../src/environments/environment.js';
import {
  type ChainParts,
  createChain,
  solve,
  tipHeight,
} from '../../../src/environments/synthetic/mechanics/chain.js';
import { createCreature } from '../../../src/environments/synthetic/mechanics/hop.js';
import { deadened, delayed, lagging } from '../../../src/environments/synthetic/mechanics/mechanical-task.js';
import { createGenerator } from '../../../src/random/generator.js';

const noPush = (n: number) => new Float64Array(n);

/** Kinetic and potential energy from the places of the masses: independent of the equations of motion. */
function energyOf({ cart, gravity, lengths, masses }: ChainParts, state: Float64Array): number {
  const first = cart === undefined ? 0 : 2;
  let [vx, vy, y] = [cart === undefined ? 0 : state[1]!, 0, 0];
  let energy = 0.5 * (cart?.mass ?? 0) * vx * vx;
  for (const [i, mass] of masses.entries()) {
    const [angle, velocity] = [state[first + 2 * i]!, state[first + 2 * i + 1]!];
    vx += lengths[i]! * Math.cos(angle) * velocity;
    vy -= lengths[i]! * Math.sin(angle) * velocity;
    y += lengths[i]! * Math.cos(angle);
    energy += 0.5 * mass * (vx * vx + vy * vy) + mass * gravity * y;
  }
  return energy;
}

describe('a chain', () => {
  const parts: ChainParts = {
    lengths: [0.8, 0.5, 1.1],
    masses: [0.4, 1, 0.2],
    frictions: [0, 0, 0],
    gravity: 9.8,
    seconds: 2e-5,
    motors: [0, 1, 2],
  };

  it.each([
    ['on a joint', parts, [0.4, 1, -0.7, 0.2, 2, -1]],
    ['on a cart', { ...parts, cart: { mass: 0.7, friction: 0 } }, [0, 0.5, 0.4, 1, -0.7, 0.2, 2, -1]],
  ])('without friction conserves its energy %s', (_name, own, start) => {
    const plant = createChain(own);
    const state = Float64Array.from(start);
    const before = energyOf(own, state);
    for (let step = 0; step < 20_000; step++) plant.advance(state, noPush(plant.dimension));
    expect(energyOf(own, state)).toBeCloseTo(before, 2);
    expect(Math.abs(state.at(-2)! - start.at(-2)!)).toBeGreaterThan(0.1);
  });

  it('with friction falls from upright and ends up hanging down', () => {
    const rubbing = { ...parts, seconds: 0.005, frictions: [0.5, 0.5, 0.5] };
    const plant = createChain(rubbing);
    const state = Float64Array.of(0.01, 0, 0.01, 0, 0.01, 0);
    const height: number[] = [];
    for (let step = 0; step < 10_000; step++) {
      plant.advance(state, noPush(6));
      if (step === 600) height.push(tipHeight(rubbing, state));
    }
    expect(height[0]).toBeLessThan(0.9);
    expect(tipHeight(rubbing, state)).toBeCloseTo(-1, 3);
  });

  it('on a cart conserves momentum when a motor acts between two links', () => {
    const flat: ChainParts = { ...parts, gravity: 0, cart: { mass: 0.7, friction: 0 } };
    const plant = createChain(flat);
    const state = new Float64Array(8);
    const push = new Float64Array(8);
    push[5] = 0.01;
    for (let step = 0; step < 100; step++) plant.advance(state, push);
    let momentum = 0.7 * state[1]!;
    let vx = state[1]!;
    for (let i = 0; i < 3; i++) {
      vx += parts.lengths[i]! * Math.cos(state[2 + 2 * i]!) * state[3 + 2 * i]!;
      momentum += parts.masses[i]! * vx;
    }
    expect(Math.abs(state[5]!)).toBeGreaterThan(0.1);
    expect(momentum).toBeCloseTo(0, 2);
  });
});

it('solve solves a system of linear equations', () => {
  const x = Float64Array.of(7, 9, 10);
  solve(Float64Array.of(4, 1, 0, 1, 3, 1, 0, 1, 5), x, 3);
  const [a, b, c] = x as unknown as [number, number, number];
  expect([4 * a + b, a + 3 * b + c, b + 5 * c]).toEqual([7, 9, 10].map((value) => expect.closeTo(value, 10)));
});

it('a creature comes to rest on the floor, and its muscles lift it', () => {
  const rod = (from: number, to: number, length: number, range = 0) => ({ from, to, length, range });
  const plant = createCreature({
    masses: [1, 1, 1],
    rods: [rod(0, 1, 1), rod(0, 2, 1, 0.4), rod(1, 2, 1, 0.4)],
    stiffness: 400,
    damping: 20,
    gravity: 10,
    grip: 1,
    seconds: 0.02,
    quickness: 0.5,
  });
  const state = new Float64Array(plant.dimension);
  state.set([-0.5, 0.2, 0, 0, 0.5, 0.2, 0, 0, 0, 1.1, 0, 0]);
  const push = new Float64Array(plant.dimension);
  for (let step = 0; step < 500; step++) plant.advance(state, push);
  const resting = state[9]!;
  expect(resting).toBeGreaterThan(0.6);
  expect(resting).toBeLessThan(0.9);
  for (const velocity of [2, 3, 6, 7, 10, 11]) expect(state[velocity]).toBeCloseTo(0, 2);
  push.fill(1, 12);
  for (let step = 0; step < 500; step++) plant.advance(state, push);
  expect(state[9]).toBeGreaterThan(resting + 0.2);
});

describe('motors', () => {
  const done: Action[] = [];
  const task: Task = {
    observationSpace: { kind: 'box', low: [0], high: [1] },
    actionSpace: { kind: 'box', low: [-1], high: [1] },
    reset: () => [0],
    step(action) {
      done.push(action);
      return { observation: [0], reward: 0, terminated: false };
    },
  };
  const felt = (own: Task, actions: readonly number[]) => {
    own.reset(createGenerator(0));
    done.length = 0;
    for (const action of actions) own.step([action]);
    return done.flat();
  };

  it('with a delay apply the first action until the next one arrives, in every episode', () => {
    const late = delayed(task, 2);
    expect(felt(late, [1, 2, 3, 4, 5])).toEqual([1, 1, 1, 2, 3]);
    expect(felt(late, [7, 8, 9])).toEqual([7, 7, 7]);
  });

  it('with a dead zone ignore actions within it', () => {
    expect(felt(deadened(task, 0.5), [0.4, -0.5, 1, -2])).toEqual([0, -0, 0.5, -1.5]);
  });

  it('with a lag approach the action gradually, and start every episode at rest', () => {
    const slow = lagging(task, 0.5);
    expect(felt(slow, [1, 1, 1])).toEqual([0.5, 0.75, 0.875]);
    expect(felt(slow, [1])).toEqual([0.5]);
  });
});
