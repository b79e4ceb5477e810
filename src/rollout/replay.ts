import { UserError } from '../base/errors.js';
import { plural } from '../base/text/numbers.js';
import type { Environment } from '../environments/environment.js';
import type { ParameterVector } from '../policies/policy.js';
import { type Episode, rollout } from './episode.js';
import type { EvaluationSetup } from './evaluation.js';
import { type Animation, isShown, type Moment, paceOf } from './pictures/animation.js';

/** A replayed episode with its drawn frames. */
export interface Replay extends Episode, Pick<Animation, 'moments' | 'pace'> {}

/**
 * Replays and draws an episode. Plays it twice, because its length determines which steps are shown.
 * @throws UserError if it can't be drawn or the parameters don't fit; ProgramFault or EnvironmentError if playing fails
 */
export function replay(
  {
    environment,
    family,
    maxSteps,
  }: Pick<EvaluationSetup, 'family' | 'maxSteps'> & {
    readonly environment: Environment;
  },
  parameters: ParameterVector,
  seed: number,
  maxFrames: number,
): Replay {
  if (!canDraw(environment)) throw notDrawableError(environment.id);
  const { count } = family.parameters;
  if (parameters.length !== count && family.description.kind !== 'program') {
    throw new UserError({
      field: 'policy',
      message: `this policy has ${plural(parameters.length, 'parameter')}, but the config's policies have ${count}`,
      hint: "restore the original environment and policy in the run's config.yaml",
    });
  }
  const policy = family.build(parameters);
  const { length } = rollout(environment, policy, { seed, maxSteps });
  const pace = paceOf(length, environment.stepSeconds, maxFrames);
  const moments: Moment[] = [];
  const onState = ({ length: step, return: total }: Episode) => {
    if (isShown(step, length, pace)) moments.push({ frame: environment.frame(), step, return: total });
  };
  const episode = rollout(environment, policy, { seed, maxSteps, onState });
  return { ...episode, moments, pace };
}

export function canDraw(
  environment: Environment,
): environment is Environment & Required<Pick<Environment, 'frame'>> {
  return environment.frame !== undefined;
}

export function notDrawableError(id: string, field = 'environment'): UserError {
  return new UserError({
    field,
    message: `${id} can't be drawn`,
    hint: `use an environment that can be drawn, such as CartPole-v1, or a module with a frame method${field === 'environment' ? '' : `; or remove ${field}`}`,
  });
}
