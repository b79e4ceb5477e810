import type { RandomGenerator } from '../../random/generator.js';
import { drawActuators } from './actuators.js';
import { ControlledSystem, ControlledTask } from './controlled-task.js';
import { chance, type Draw, integerBetween, logUniform } from './distributions.js';
import type { Plant } from './plant.js';
import { drawSensors } from './sensors.js';

/**
 * A body with two damped joints that advances by the area that its angles enclose, so strokes must be out of
 * phase. Reward per step: speed − effortCost·effort. Continuous torques at both joints.
 */
export const drawLocomotion: Draw<{ readonly observations?: number | undefined }> = (random, options) => {
  const observations = options.observations ?? integerBetween(random, 4, 8);
  const plant = drawSwimmer(random, Math.max(1, observations - 4));
  const n = plant.dimension;
  const strength = logUniform(random, 0.03, 0.3);
  const scales = Array.from({ length: n }, () => logUniform(random, 0.1, 3));
  const system = new ControlledSystem({
    plant,
    actuators: drawActuators(random, plant, { kind: 'continuous', count: 2 }, strength),
    sensors: drawSensors(random, plant, observations, scales),
    spread: 0.1,
    noise: chance(random, 0.3) ? strength * logUniform(random, 0.02, 0.2) : 0,
    wall: 20,
  });
  const task = new ControlledTask(system, {
    kind: 'move',
    speed: 4,
    effortCost: chance(random, 0.7) ? logUniform(random, 1e-4, 0.05) : 0,
    scale: logUniform(random, 0.1, 10),
  });
  return { task, maxSteps: 10 * integerBetween(random, 10, 20) };
};

/**
 * State: angles at 0 and 2, their velocities at 1 and 3, the speed at 4, then `followers` − 1 coordinates
 * that lag behind the angles.
 */
function drawSwimmer(random: RandomGenerator, followers: number): Plant {
  const n = 4 + followers;
  const seconds = logUniform(random, 0.05, 0.2);
  const stiffness = [logUniform(random, 0.2, 3), logUniform(random, 0.2, 3)] as const;
  const friction = [logUniform(random, 0.05, 1), logUniform(random, 0.05, 1)] as const;
  const coupling = random.uniform(-0.5, 0.5);
  const drag = logUniform(random, 0.2, 2);
  const thrust = (chance(random, 0.5) ? 1 : -1) * logUniform(random, 0.3, 3);
  const drift = 0.1 * random.normal();
  const lags = Array.from({ length: followers }, () => logUniform(random, 0.3, 3));
  return {
    dimension: n,
    driven: [1, 3],
    angles: [],
    advance(state, push) {
      const [a, aVelocity, b, bVelocity, speed] = [state[0]!, state[1]!, state[2]!, state[3]!, state[4]!];
      const forceA = -stiffness[0] * a - friction[0] * aVelocity + coupling * b;
      const forceB = -stiffness[1] * b - friction[1] * bVelocity + coupling * a;
      state[1] = aVelocity + seconds * forceA + push[1]!;
      state[3] = bVelocity + seconds * forceB + push[3]!;
      // Joints have limited range: beyond it, a stroke sweeps no further area.
      const swept = Math.tanh(a) * Math.tanh(bVelocity) - Math.tanh(b) * Math.tanh(aVelocity);
      state[4] =
        speed +
        seconds * (thrust * swept + drift * aVelocity * b - drag * speed * Math.abs(speed) - 0.1 * speed);
      for (let i = 1; i < followers; i++) {
        state[4 + i]! += seconds * lags[i]! * ((i % 2 === 1 ? a : b) - state[4 + i]!);
      }
      state[0] = a + seconds * state[1]!;
      state[2] = b + seconds * state[3]!;
    },
  };
}
