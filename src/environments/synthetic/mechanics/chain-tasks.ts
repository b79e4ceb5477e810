/** Tasks with chains of links: balancing poles, swinging up, reaching with an arm. */
import type { RandomGenerator } from '../../../random/generator.js';
import {
  chance,
  type Draw,
  drawControllerHint,
  integerBetween,
  logUniform,
  logUniforms,
} from '../distributions.js';
import { type ChainParts, createChain, tipHeight } from './chain.js';
import {
  delayed,
  drawImperfection,
  drawMotors,
  drawSensing,
  type MechanicalParts,
  MechanicalTask,
} from './mechanical-task.js';

/**
 * Balancing one to three poles on a cart or on motorised joints. Reward: 1 per step until a pole leans too far or the
 * cart leaves its track; in some draws minus costs for deviation and effort, or plus the cart's velocity on an endless
 * track.
 */
export const drawBalance: Draw<object> = (random) => {
  const cart = chance(random, 0.65);
  const links = 1 + random.categorical([0.65, 0.3, 0.05]);
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

/** The costs of full deviation and full effort, and the reward for travelling half the track per second. */
function drawObjective(random: RandomGenerator, cart: boolean) {
  const kind = random.choice(['alive', 'alive', 'alive', 'costs', 'travel'] as const);
  const priced = kind === 'costs';
  return {
    deviation: priced ? logUniform(random, 0.1, 3) : 0,
    effort: priced ? logUniform(random, 0.003, 0.5) : 0,
    travel: kind === 'travel' && cart ? logUniform(random, 0.1, 3) : 0,
  };
}

/** An upright chain and its motors' impulses per step. `rate`: frequency of an equally long pendulum, in rad/s. */
function drawPoles(random: RandomGenerator, links: number, cart: boolean) {
  const each = (low: number, high: number) => logUniforms(random, links, low, high);
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
  const chain: ChainParts = {
    lengths,
    masses,
    frictions: masses.map(() => (rubs ? friction : 0)),
    gravity,
    seconds,
    // With a cart, motors in the joints would make the task too easy.
    motors: cart ? [] : drawJoints(random, links),
    ...(cart && {
      cart: { mass: cartMass, friction: chance(random, 0.5) ? logUniform(random, 0.01, 1) : 0 },
    }),
  };
  const force = seconds * gravity * (mass + cartMass) * logUniform(random, 0.3, 2);
  const torque = seconds * weight * logUniform(random, 0.15, 1.5);
  return { chain, force, rate, torque };
}

/** The joints that have a motor: either a single joint or all of them. */
function drawJoints(random: RandomGenerator, links: number): readonly number[] {
  if (chance(random, 0.5)) return [random.integers(0, links)];
  return Array.from({ length: links }, (_, i) => i);
}

/**
 * Swinging up one or two links with weak motors. The reward is −1 per step until they are up; a bonus once they are up,
 * minus the cost of effort; or the height of the tip, minus the costs of effort and, in some draws, speed.
 */
export const drawSwing: Draw<object> = (random) => {
  const links = chance(random, 0.7) ? 1 : 2;
  const each = (low: number, high: number) => logUniforms(random, links, low, high);
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
  const actuators = drawMotors(random, plant, torque);
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

/** Reaching for a target with one to three links. Distance and effort have a cost; being near may earn a bonus. */
export const drawArm: Draw<object> = (random) => {
  const links = 1 + random.categorical([0.3, 0.5, 0.2]);
  const each = (low: number, high: number) => logUniforms(random, links, low, high);
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
  const actuators = drawMotors(random, plant, torque);
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

/** A task of `balance`, `swing` or `arm` whose motors execute actions with a delay of one to six steps. */
export const drawDelayed: Draw<object> = (random, options) => {
  const steps = integerBetween(random, 1, 6);
  const drawn = random.choice([drawBalance, drawBalance, drawSwing, drawArm])(random, options);
  return drawn && { ...drawn, task: delayed(drawn.task, steps) };
};
