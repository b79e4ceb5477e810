/** Creates the environments that programs get from `makeEnvironment`. */
import type { Environment, EnvironmentSpec, Step, TextInfo } from '../environment.js';
import { makeEnvironment } from './open.js';

/** Ids of text worlds: `text:cooking`, `textworld:game.json`. */
type TextWorldId = `text:${string}` | `textworld:${string}`;

/** A text world. Each observation comes with the information that TextWorld's Gymnasium wrapper returns as `infos`. */
export interface TextEnvironment extends EnvironmentSpec {
  /** Starts an episode; see `Environment`. */
  reset(seed?: number | bigint): { readonly observation: string; readonly info: TextInfo };
  /** Executes a command; one that isn't understood doesn't change the game. @throws UserError like `Environment` */
  step(command: string): Step & { readonly observation: string; readonly info: TextInfo };
  /** Commands that win the current game from its start, if known. */
  gold?(): readonly string[] | undefined;
  close?(): void;
}

/** The type of environment that an id creates. */
export type LibraryEnvironment<Id extends string> = Id extends TextWorldId ? TextEnvironment : Environment;

/** Implements the library's `makeEnvironment`. */
export async function makeLibraryEnvironment<Id extends string>(
  id: Id,
  options: Readonly<Record<string, unknown>>,
): Promise<LibraryEnvironment<Id>> {
  const environment = await makeEnvironment(id, options);
  return (environment.info === undefined ? environment : withInfo(environment)) as LibraryEnvironment<Id>;
}

function withInfo(environment: Environment): TextEnvironment {
  const { actionSpace, close, gold, id, maxSteps, observationSpace } = environment;
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
