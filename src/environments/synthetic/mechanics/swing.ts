import { chance, type Draw, integerBetween, logUniform } from '../distributions.js';
import { drawControllerHint } from '../hints.js';
import { drawJoints } from './balance.js';
import { type ChainParts, createChain, tipHeight } from './chain.js';
import { drawMotors, drawSensing, type MechanicalParts, MechanicalTask } from './mechanical-task.js';
import { drawImperfection } from './motors.js';

/**
 * One or two links that start hanging or anywhere, with motors in their joints that are mostly too weak to
 * lift them directly. The tip must reach a height, at −1 per step or for a bonus minus the effort; or each
 * step earns by its height.
 */
export const drawSwing: Draw<object> = (random) => {
  const links = chance(random, 0.7) ? 1 : 2;
  const each = (low: number, high: number) =>
    Array.from({ length: links }, () => logUniform(random, low, high));
  const [lengths, masses] = [each(0.3, 1.5), each(0.2, 1)];
  const gravity = logUniform(random, 3, 20);
  const length = lengths.reduce((a, b) => a + b);
  const weight = gravity * masses.reduce((a, b) => a + b) * length;
  const rate = Math.sqrt(gravity / length);
  const friction = chance(random, 0.5) ? (weight / rate) * logUniform(random, 0.003, 0.1) : 0;
  const chain: ChainParts = {
    lengths,
    masses,
    frictions: masses.map(() => friction),
    gravity,
    seconds: logUniform(random, 0.04, 0.2) / rate,
    motors: drawJoints(random, links),
  };
  const plant = createChain(chain);
  const torque = chain.seconds * weight * logUniform(random, 0.05, 1);
  const actuators = drawMotors(
    random,
    plant,
    plant.driven.map(() => torque),
  );
  const maxSteps = 10 * integerBetween(random, 10, 40);
  const goal = random.choice(['steps', 'bonus', 'height', 'height'] as const);
  const anywhere = goal === 'height' && chance(random, 0.6);
  const spread = anywhere ? Math.PI : logUniform(random, 0.02, 0.5);
  const threshold = random.uniform(-0.2, 0.95);
  const effortCost = logUniform(random, 0.01, 0.5);
  const speedCost = chance(random, 0.5) ? logUniform(random, 0.003, 0.1) : 0;
  const measure: MechanicalParts['measure'] = (state) => {
    const seen: number[] = [];
    for (let i = 0; i < state.length; i += 2)
      seen.push(Math.cos(state[i]!), Math.sin(state[i]!), state[i + 1]! / (2 * rate));
    return seen;
  };
  const observations = 3 * links;
  const linear = drawControllerHint(random, { observations, outputs: actuators.count });
  const task = new MechanicalTask({
    plant,
    actuators,
    noise: chance(random, 0.2) ? logUniform(random, 0.02, 0.3) : 0,
    start(state, episode) {
      for (let i = 0; i < state.length; i += 2) {
        state[i] = Math.PI + episode.uniform(-spread, spread);
        state[i + 1] = rate * episode.uniform(-0.1, 0.1);
      }
    },
    measure,
    sensing: drawSensing(random, observations, actuators, linear),
    judge(state, effort) {
      const height = tipHeight(chain, state);
      const reached = goal !== 'height' && height > threshold;
      if (goal === 'steps') return { reward: reached ? 0 : -1, terminated: reached };
      if (goal === 'bonus')
        return { reward: (reached ? maxSteps : 0) - effortCost * effort, terminated: reached };
      let speed = 0;
      for (let i = 1; i < state.length; i += 2) speed += (state[i]! / rate) ** 2;
      return { reward: (height - 1) / 2 - 0.3 * effortCost * effort - speedCost * speed, terminated: false };
    },
  });
  return { task: drawImperfection(random, task), maxSteps, linear };
};
