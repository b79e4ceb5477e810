import type { RandomGenerator } from '../../../random/generator.js';
import { chance, type Draw, integerBetween, logUniform } from '../distributions.js';
import { drawControllerHint } from '../hints.js';
import { type ChainParts, createChain } from './chain.js';
import { drawMotors, drawSensing, type MechanicalParts, MechanicalTask } from './mechanical-task.js';
import { drawImperfection } from './motors.js';

/**
 * One to three falling poles, on a cart or on a motorised joint. An episode ends when they lean too far or
 * the cart leaves its track. Each step alive earns 1; some draws subtract costs for deviation and effort, or
 * add a reward for the cart's velocity.
 */
export const drawBalance: Draw<object> = (random) => {
  const cart = chance(random, 0.65);
  const links = drawLinks(random);
  const { chain, force, rate, torque } = drawPoles(random, links, cart);
  const plant = createChain(chain);
  const strengths = plant.driven.map((_, i) => (cart && i === 0 ? force : torque));
  const actuators = drawMotors(random, plant, strengths);
  const lean = logUniform(random, 0.1, 0.9);
  const track = logUniform(random, 0.5, 4);
  const near = logUniform(random, 0.02, 0.7) / links;
  const sines = chance(random, 0.25);
  const objective = drawObjective(random, cart);
  const first = cart ? 2 : 0;
  const fastest = 2 * lean * rate;
  const measure: MechanicalParts['measure'] = (state) => {
    const seen = cart ? [state[0]! / track, state[1]! / track] : [];
    for (let i = first; i < state.length; i += 2) {
      if (sines) seen.push(Math.sin(state[i]!) / lean, Math.cos(state[i]!));
      else seen.push(state[i]! / lean);
      seen.push(state[i + 1]! / fastest);
    }
    return seen;
  };
  const observations = measure(new Float64Array(plant.dimension)).length;
  const linear = drawControllerHint(random, { observations, outputs: actuators.count });
  const task = new MechanicalTask({
    plant,
    actuators,
    noise: chance(random, 0.2) ? logUniform(random, 0.02, 0.3) : 0,
    start(state, episode) {
      for (let i = 0; i < state.length; i++) {
        const width = i < first ? [track, 0.3 * track][i]! : i % 2 === 0 ? lean : 0.5 * fastest;
        state[i] = episode.uniform(-near, near) * width;
      }
    },
    measure,
    sensing: drawSensing(random, observations, actuators, linear),
    judge(state, effort) {
      let [largest, cost] = [0, 0];
      for (let i = objective.travel > 0 ? 2 : 0; i < state.length; i += 2) {
        const ratio = state[i]! / (i < first ? track : lean);
        largest = Math.max(largest, Math.abs(ratio));
        cost += ratio * ratio;
      }
      const { deviation, effort: price, travel } = objective;
      const way = travel === 0 ? 0 : (travel * state[1]!) / track;
      return { reward: 1 + way - deviation * cost - price * effort, terminated: largest > 1 };
    },
  });
  const maxSteps = chance(random, 0.2) ? 1000 : 10 * integerBetween(random, 20, 50);
  return { task: drawImperfection(random, task), maxSteps, linear };
};

const drawLinks = (random: RandomGenerator): number => [1, 2, 3][random.categorical([0.65, 0.3, 0.05])]!;

/**
 * Costs relative to one step alive: of a deviation at the limit, of full effort; and the reward for
 * travelling half the track's width per second.
 */
function drawObjective(random: RandomGenerator, cart: boolean) {
  const kind = random.choice(['alive', 'alive', 'alive', 'costs', 'travel'] as const);
  const priced = kind === 'costs';
  return {
    deviation: priced ? logUniform(random, 0.1, 3) : 0,
    effort: priced ? logUniform(random, 0.003, 0.5) : 0,
    travel: kind === 'travel' && cart ? logUniform(random, 0.1, 3) : 0,
  };
}

/**
 * An upright chain, with the force on its cart and the torque of its motors per step. `rate`: angular
 * frequency of a pendulum of its length, in rad/s.
 */
function drawPoles(random: RandomGenerator, links: number, cart: boolean) {
  const each = (low: number, high: number) =>
    Array.from({ length: links }, () => logUniform(random, low, high));
  const [lengths, masses] = [each(0.2, 1.5), each(0.05, 1)];
  const gravity = logUniform(random, 2, 20);
  const seconds = logUniform(random, 0.01, 0.05);
  const length = lengths.reduce((a, b) => a + b);
  const mass = masses.reduce((a, b) => a + b);
  const weight = gravity * mass * length;
  const rate = Math.sqrt(gravity / length);
  const rubs = chance(random, 0.5);
  const friction = (weight / rate) * logUniform(random, 0.001, 0.1);
  const cartMass = logUniform(random, 0.3, 3);
  // With a motor in its first joint as well, a cart would be too easy.
  const joints = cart ? [] : drawJoints(random, links);
  const chain: ChainParts = {
    lengths,
    masses,
    frictions: masses.map(() => (rubs ? friction : 0)),
    gravity,
    seconds,
    motors: joints,
    ...(cart && {
      cart: { mass: cartMass, friction: chance(random, 0.5) ? logUniform(random, 0.01, 1) : 0 },
    }),
  };
  const force = seconds * gravity * (mass + cartMass) * logUniform(random, 0.3, 2);
  const torque = seconds * weight * logUniform(random, 0.15, 1.5);
  return { chain, force, rate, torque };
}

/** Either all joints or a single one. */
export function drawJoints(random: RandomGenerator, links: number): readonly number[] {
  if (chance(random, 0.5)) return [random.integers(0, links)];
  return Array.from({ length: links }, (_, i) => i);
}
