/** The tasks of the runs that the tiny improver learns from: ten families, from which each run draws another task. */

import { createGenerator } from '../../../../src/base/random/generator.js';
import type { Environment } from '../../../../src/environments/environment.js';
import { LimitedEnvironment } from '../../../../src/environments/limited-environment.js';
import { drawLocomotion, drawPump, drawReach, drawRegulation, drawSurvival } from './control-tasks.js';
import type { Draw } from './distributions.js';
import { drawGame } from './game.js';
import { drawLandscape, drawSparse } from './landscape.js';
import { drawDecisionProcess, drawGrid } from './walks.js';

interface Family {
  readonly draw: Draw;
  /** How often a run draws this family, relative to the others. */
  readonly weight: number;
  /** True for functions of the parameters: a policy without a bias, and one episode per evaluation. */
  readonly isFunction?: true;
}

export const families = {
  survival: { draw: drawSurvival, weight: 6 },
  pump: { draw: drawPump, weight: 3 },
  reach: { draw: drawReach, weight: 2 },
  regulate: { draw: drawRegulation, weight: 2 },
  locomote: { draw: drawLocomotion, weight: 1 },
  landscape: { draw: drawLandscape, weight: 2, isFunction: true },
  sparse: { draw: drawSparse, weight: 1, isFunction: true },
  mdp: { draw: drawDecisionProcess, weight: 1 },
  grid: { draw: drawGrid, weight: 2 },
  game: { draw: drawGame, weight: 1 },
} as const satisfies Readonly<Record<string, Family>>;

export type FamilyName = keyof typeof families;

/** Maximum number of attempts to draw a task for a seed. */
const mostAttempts = 60;

/** Draws the task of a seed. @throws Error if all attempts yield trivial or hopeless tasks */
export function drawTask(name: FamilyName, seed: number): Environment {
  // The letters of the name give each family its own random stream.
  const letters = Array.from(name, (letter) => letter.charCodeAt(0));
  for (let attempt = 0; attempt < mostAttempts; attempt++) {
    const drawn = families[name].draw(createGenerator(seed, [...letters, attempt]));
    if (drawn !== undefined) return new LimitedEnvironment(`custom:${name}`, drawn.task, drawn.maxSteps);
  }
  throw new Error(`all ${mostAttempts} tasks drawn for ${name} with seed ${seed} were trivial or hopeless`);
}
