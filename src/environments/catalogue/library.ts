/** Creates the environments that programs get from `makeEnvironment`. */
import { createGenerator, type RandomGenerator } from '../../base/random/generator.js';
import type { Environment, EnvironmentSpec, Step, TextInfo } from '../environment.js';
import { invalidAction, isValidAction, notRunning } from '../limited-environment.js';
import { isRemote, type RemoteEnvironment } from '../remote/remote-environment.js';
import { makeEnvironment, openEnvironment } from './open.js';

/** Ids of text worlds: `text:cooking`, `textworld:game.json`. */
type TextWorldId = `text:${string}` | `textworld:${string}`;

type RemoteTextWorldId = `${typeof remoteTextWorlds}${string}`;
const remoteTextWorlds = 'textworld-express:';

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

/** A text world in another program, with asynchronous methods. */
export interface RemoteTextEnvironment extends EnvironmentSpec {
  /** Like `TextEnvironment`. @throws EnvironmentError if the program fails */
  reset(seed?: number | bigint): Promise<{ readonly observation: string; readonly info: TextInfo }>;
  step(command: string): Promise<Step & { readonly observation: string; readonly info: TextInfo }>;
  /** The player's task. */
  objective(): string;
  gold(): Promise<readonly string[]>;
  /** Stops the program. */
  close(): Promise<void>;
}

/** The type of environment that an id creates. */
export type LibraryEnvironment<Id extends string> = Id extends RemoteTextWorldId
  ? RemoteTextEnvironment
  : Id extends TextWorldId
    ? TextEnvironment
    : Environment;

/** Implements the library's `makeEnvironment`. @param env environment variables */
export async function makeLibraryEnvironment<Id extends string>(
  id: Id,
  options: Readonly<Record<string, unknown>>,
  env: Readonly<Record<string, string | undefined>>,
): Promise<LibraryEnvironment<Id>> {
  return (await makeAny(id, options, env)) as LibraryEnvironment<Id>;
}

async function makeAny(
  id: string,
  options: Readonly<Record<string, unknown>>,
  env: Readonly<Record<string, string | undefined>>,
) {
  if (id.startsWith(remoteTextWorlds)) {
    const opened = await openEnvironment({ id, options, parallel: 1 }, env);
    if (isRemote(opened)) return oneByOne(opened);
  }
  const environment = await makeEnvironment(id, options);
  return environment.info === undefined ? environment : withInfo(environment);
}

function oneByOne(remote: RemoteEnvironment): RemoteTextEnvironment {
  const { id, actionSpace } = remote;
  const batch = remote.batches[0]!;
  let random: RandomGenerator | undefined;
  let phase: 'new' | 'running' | 'finished' = 'new';
  const started = () => {
    if (phase === 'new') throw notRunning(id, phase);
    return batch;
  };
  return {
    ...specOf(remote),
    async reset(seed) {
      if (seed !== undefined || random === undefined) random = createGenerator(seed);
      // Java accepts only seeds below 2^31.
      const [observation] = await batch.reset([
        seed === undefined ? random.integers(0, 2 ** 31) : Number(BigInt.asUintN(31, BigInt(seed))),
      ]);
      phase = 'running';
      return { observation: String(observation), info: batch.info!(0) };
    },
    async step(command) {
      if (phase !== 'running') throw notRunning(id, phase);
      if (!isValidAction(command, actionSpace)) throw invalidAction(command, actionSpace, id);
      const [step] = await batch.step([{ slot: 0, action: command }]);
      if (step!.terminated || step!.truncated) phase = 'finished';
      return { ...step!, observation: String(step!.observation), info: batch.info!(0) };
    },
    objective: () => started().objective!(0)!,
    gold: () => started().gold!(0),
    close: () => remote.close(),
  };
}

const specOf = ({ id, observationSpace, actionSpace, maxSteps }: EnvironmentSpec): EnvironmentSpec => ({
  id,
  observationSpace,
  actionSpace,
  ...(maxSteps !== undefined && { maxSteps }),
});

function withInfo(environment: Environment): TextEnvironment {
  const { gold, close } = environment;
  return {
    ...specOf(environment),
    reset: (seed) => ({ observation: String(environment.reset(seed)), info: environment.info!() }),
    step(command) {
      const step = environment.step(command);
      return { ...step, observation: String(step.observation), info: environment.info!() };
    },
    ...(gold && { gold }),
    ...(close && { close }),
  };
}
