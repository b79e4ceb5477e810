/** Environments as a program gets them. */
import { createGenerator, type RandomGenerator } from '../../random/generator.js';
import type { Environment, EnvironmentSpec, Step, TextInfo } from '../environment.js';
import { invalidAction, isValidAction, notRunning } from '../limited-environment.js';
import { isRemote, type RemoteEnvironment } from '../remote/remote-environment.js';
import { makeEnvironment, openEnvironment } from './open.js';

/** Ids of text worlds: `text:cooking`, `textworld:game.json`. */
type TextWorldId = `text:${string}` | `textworld:${string}`;

/** Ids of text worlds that another program plays. */
type RemoteTextWorldId = `${typeof remoteTextWorlds}${string}`;
const remoteTextWorlds = 'textworld-express:';

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

/** A text world that another program plays: each answer is waited for. */
export interface RemoteTextEnvironment extends EnvironmentSpec {
  /** As that of `TextEnvironment`. @throws EnvironmentError when that program fails */
  reset(seed?: number | bigint): Promise<{ readonly observation: string; readonly info: TextInfo }>;
  step(command: string): Promise<Step & { readonly observation: string; readonly info: TextInfo }>;
  /** What the player is told to do. */
  objective(): string;
  gold(): Promise<readonly string[]>;
  /** Ends that program. */
  close(): Promise<void>;
}

/** The environment that an id makes. */
export type LibraryEnvironment<Id extends string> = Id extends RemoteTextWorldId
  ? RemoteTextEnvironment
  : Id extends TextWorldId
    ? TextEnvironment
    : Environment;

/** As the library's `makeEnvironment`. @param env environment variables */
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

/** Plays one episode at a time. */
function oneByOne(remote: RemoteEnvironment): RemoteTextEnvironment {
  const { id, observationSpace, actionSpace, maxSteps, batches } = remote;
  const batch = batches[0]!;
  let random: RandomGenerator | undefined;
  let phase: 'new' | 'running' | 'finished' = 'new';
  const started = () => {
    if (phase === 'new') throw notRunning(id, phase);
    return batch;
  };
  return {
    id,
    observationSpace,
    actionSpace,
    ...(maxSteps !== undefined && { maxSteps }),
    async reset(seed) {
      if (seed !== undefined || random === undefined) random = createGenerator(seed);
      // Programs take seeds below 2^31.
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
