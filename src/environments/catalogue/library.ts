/** Environments as a program gets them. */
import type { Environment, EnvironmentSpec, Step, TextInfo } from '../environment.js';
import { makeEnvironment } from './open.js';

/** Ids of text worlds: `text:cooking`, `textworld:game.json`. */
type TextWorldId = `text:${string}` | `textworld:${string}`;

/** A text world. It tells beside each observation what Gymnasium's wrapper of TextWorld tells in `infos`. */
export interface TextEnvironment extends EnvironmentSpec {
  /** Starts an episode; see `Environment`. */
  reset(seed?: number | bigint): { readonly observation: string; readonly info: TextInfo };
  /** Gives a command. One that is not admissible changes nothing. @throws UserError as `Environment` */
  step(command: string): Step & { readonly observation: string; readonly info: TextInfo };
  /** Commands that win the present game from its start, where they are known. */
  gold?(): readonly string[] | undefined;
  close?(): void;
}

/**
 * Makes the environment of an id, which behaves as in Gymnasium 1.3.0 or in the code of the ProPS paper; the path of a
 * user's module makes the environment of that module, `text:…` and `textworld:FILE` a `TextEnvironment`.
 * @param options constructor options, and `max_episode_steps`; snake_case or camelCase
 * @throws UserError for an unknown id, an unknown option or an unusable value, or a game that can't be read
 */
export async function makeLibraryEnvironment<Id extends string>(
  id: Id,
  options: Readonly<Record<string, unknown>> = {},
): Promise<Id extends TextWorldId ? TextEnvironment : Environment> {
  const environment = await makeEnvironment(id, options);
  const made = environment.info === undefined ? environment : withInfo(environment);
  return made as Id extends TextWorldId ? TextEnvironment : Environment;
}

function withInfo(environment: Environment): TextEnvironment {
  const { id, observationSpace, actionSpace, maxSteps, gold, close } = environment;
  return {
    id,
    observationSpace,
    actionSpace,
    ...(maxSteps !== undefined && { maxSteps }),
    reset: (seed) => ({ observation: String(environment.reset(seed)), info: environment.info!() }),
    step(command) {
      const step = environment.step(command);
      return { ...step, observation: String(step.observation), info: environment.info!() };
    },
    ...(gold && { gold }),
    ...(close && { close }),
  };
}
