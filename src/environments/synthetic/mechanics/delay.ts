import { type Draw, integerBetween } from '../distributions.js';
import { drawArm } from './arm.js';
import { drawBalance } from './balance.js';
import { delayed } from './motors.js';
import { drawSwing } from './swing.js';

/** A task of `balance`, `swing` or `arm` whose motors execute actions with a delay of one to six steps. */
export const drawDelayed: Draw<object> = (random, options) => {
  const steps = integerBetween(random, 1, 6);
  const drawn = random.choice([drawBalance, drawBalance, drawSwing, drawArm])(random, options);
  return drawn && { ...drawn, task: delayed(drawn.task, steps) };
};
