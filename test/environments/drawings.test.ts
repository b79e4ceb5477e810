import { describe, expect, test } from 'vitest';
import { createGenerator } from '../../src/base/random/generator.js';
import { makeEnvironment } from '../../src/environments/catalogue/open.js';
import type { Environment } from '../../src/environments/environment.js';
import type { Point, Role, Shape } from '../../src/environments/frame.js';

function shapesOf(environment: Environment, role: Role): readonly Shape[] {
  return environment.frame!().shapes.filter((shape) => shape.role === role);
}

function circle(environment: Environment, role: Role): Point {
  const found = shapesOf(environment, role).find((shape) => shape.kind === 'circle');
  if (found?.kind !== 'circle') throw new Error(`no circle for the ${role}`);
  return found.center;
}

function line(environment: Environment, role: Role): readonly Point[] {
  const found = shapesOf(environment, role).find((shape) => shape.kind === 'line');
  if (found?.kind !== 'line') throw new Error(`no line for the ${role}`);
  return found.points;
}

/** Checks the drawings of `count` random steps. */
async function eachStep(
  id: string,
  check: (environment: Environment, observation: readonly number[]) => void,
  count = 60,
): Promise<void> {
  const environment = await makeEnvironment(id);
  const random = createGenerator(2);
  const space = environment.actionSpace;
  let observation = environment.reset(3);
  for (let i = 0; i < count; i++) {
    check(environment, [observation as number | readonly number[]].flat());
    const action = space.kind === 'discrete' ? random.integers(0, space.n) : [random.uniform(-1, 1)];
    const step = environment.step(action);
    observation = step.terminated || step.truncated ? environment.reset() : step.observation;
  }
}

const row = (y: number) => Math.floor(-y);

describe('drawings match observations', () => {
  test('CartPole: the pole stands on the cart at its angle', async () => {
    await eachStep('CartPole-v1', (environment, [x, , angle]) => {
      const [hinge, tip] = line(environment, 'object');
      expect(hinge![0]).toBeCloseTo(x!, 6);
      expect(Math.atan2(tip![0] - hinge![0], tip![1] - hinge![1])).toBeCloseTo(angle!, 6);
    });
  });

  test.each([
    ['FrozenLake-v1', 4],
    ['CliffWalking-v1', 12],
  ])('%s: the agent is on its tile', async (id, columns) => {
    await eachStep(id, (environment, [state]) => {
      const [x, y] = circle(environment, 'agent');
      expect(row(y) * columns + Math.floor(x)).toBe(state);
    });
  });

  test('Taxi: taxi, passenger and destination are at their positions in the state', async () => {
    const stands = [0, 4, 20, 23];
    let riding = 0;
    await eachStep(
      'Taxi-v4',
      (environment, [state]) => {
        const [place, passenger] = [Math.floor(state! / 20), Math.floor(state! / 4) % 5];
        const tileOf = (role: Role) => {
          const [shape] = shapesOf(environment, role);
          if (shape?.kind !== 'rectangle') throw new Error(`no tile for the ${role}`);
          return row(shape.max[1]) * 5 + Math.floor(shape.min[0]);
        };
        expect(tileOf('agent')).toBe(place);
        expect(tileOf('goal')).toBe(stands[state! % 4]);
        const [x, y] = circle(environment, 'object');
        expect(row(y) * 5 + Math.floor(x)).toBe(passenger === 4 ? place : stands[passenger]);
        if (passenger === 4) riding++;
      },
      3000,
    );
    expect(riding).toBeGreaterThan(0);
  });

  test("Blackjack: cards add up to the sum; the dealer's second card is hidden until the player sticks", async () => {
    const environment = await makeEnvironment('Blackjack-v1');
    const texts = (role: Role) =>
      shapesOf(environment, role).flatMap((shape) => (shape.kind === 'text' ? [shape.text] : []));
    for (let seed = 0; seed < 40; seed++) {
      const [sum, open, usableAce] = environment.reset(seed) as readonly number[];
      const cards = texts('agent').filter((text) => /^(A|\d+)$/.test(text));
      expect(cards.pop()).toBe(String(sum));
      const hard = cards.reduce((total, text) => total + (text === 'A' ? 1 : Number(text)), 0);
      expect(hard + 10 * usableAce!).toBe(sum);
      expect(texts('opponent')).toEqual([open === 1 ? 'A' : String(open), '?', 'dealer']);
      environment.step(0);
      expect(texts('opponent')).not.toContain('?');
    }
  });
});
