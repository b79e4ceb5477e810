import { chance, type Draw, integerBetween, logUniform } from '../distributions.js';
import { drawControllerHint } from '../hints.js';
import { type ChainParts, createChain } from './chain.js';
import { drawMotors, drawSensing, type MechanicalParts, MechanicalTask } from './mechanical-task.js';
import { drawImperfection } from './motors.js';

/**
 * A planar arm of one to three links whose tip must reach a target, which in half of the draws changes every
 * episode. Each step costs the distance and the effort; in some draws, less so near the target.
 */
export const drawArm: Draw<object> = (random) => {
  const links = [1, 2, 3][random.categorical([0.3, 0.5, 0.2])]!;
  const each = (low: number, high: number) =>
    Array.from({ length: links }, () => logUniform(random, low, high));
  const [lengths, masses] = [each(0.3, 1.2), each(0.1, 1)];
  const reach = lengths.reduce((a, b) => a + b);
  const inertia = masses.reduce((a, b) => a + b) * reach * reach;
  const seconds = logUniform(random, 0.02, 0.1);
  const friction = inertia * logUniform(random, 0.2, 4);
  const chain: ChainParts = {
    lengths,
    masses,
    frictions: masses.map(() => friction),
    gravity: 0,
    seconds,
    motors: lengths.map((_, i) => i),
  };
  const plant = createChain(chain);
  const torque = inertia * logUniform(random, 0.2, 3);
  const actuators = drawMotors(
    random,
    plant,
    lengths.map(() => torque),
  );
  const wanders = chance(random, 0.5);
  const spread = random.choice([0.1, 0.5, Math.PI]);
  const hidden = chance(random, 0.3);
  const target = { x: 0, y: 0 };
  const place = (angle: number, distance: number) => {
    target.x = reach * distance * Math.sin(angle);
    target.y = reach * distance * Math.cos(angle);
  };
  const [angle, distance] = [random.uniform(-Math.PI, Math.PI), random.uniform(0.2, 0.95)];
  const tip = { x: 0, y: 0 };
  const locate = (state: Float64Array) => {
    [tip.x, tip.y] = [0, 0];
    for (let i = 0; i < links; i++) {
      tip.x += lengths[i]! * Math.sin(state[2 * i]!);
      tip.y += lengths[i]! * Math.cos(state[2 * i]!);
    }
  };
  const measure: MechanicalParts['measure'] = (state) => {
    locate(state);
    const seen = [(tip.x - target.x) / reach, (tip.y - target.y) / reach];
    if (!hidden) seen.push(target.x / reach, target.y / reach);
    for (let i = 0; i < links; i++)
      seen.push(Math.cos(state[2 * i]!), Math.sin(state[2 * i]!), state[2 * i + 1]!);
    return seen;
  };
  const observations = measure(new Float64Array(plant.dimension)).length;
  const linear = drawControllerHint(random, { observations, outputs: actuators.count });
  const effortCost = logUniform(random, 0.003, 0.5);
  const sharp = chance(random, 0.3) ? logUniform(random, 0.05, 0.3) : 0;
  const task = new MechanicalTask({
    plant,
    actuators,
    noise: 0,
    start(state, episode) {
      for (let i = 0; i < links; i++) state[2 * i] = episode.uniform(-spread, spread);
      if (wanders) place(episode.uniform(-Math.PI, Math.PI), Math.sqrt(episode.uniform(0.04, 0.9)));
      else place(angle, distance);
    },
    measure,
    sensing: drawSensing(random, observations, actuators, linear),
    judge(state, effort) {
      locate(state);
      const away = Math.hypot(tip.x - target.x, tip.y - target.y) / reach;
      const near = sharp === 0 ? 0 : Math.exp(-away / sharp);
      return { reward: near - away - effortCost * effort, terminated: false };
    },
  });
  return { task: drawImperfection(random, task), maxSteps: 10 * integerBetween(random, 3, 12), linear };
};
