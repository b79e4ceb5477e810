/** Environments that Python processes play in parallel. */
import { join } from 'node:path';
import { z } from 'zod';
import { UserError } from '../../base/errors.js';
import { packageRoot } from '../../base/package.js';
import { type Observation, recordedSpace } from '../environment.js';
import { BridgeProcess, lastLines } from './bridge-process.js';
import {
  EnvironmentError,
  type EnvironmentFailure,
  type EpisodeBatch,
  type RemoteEnvironment,
} from './remote-environment.js';

export interface PythonSettings {
  /** The interpreter. */
  readonly python: string;
  /** Folder whose modules an id may name, beside the working directory. */
  readonly modules?: string | undefined;
  /** Longest wait for a reset or a step; the start may take a minute in any case. */
  readonly timeoutMs: number;
  /** Episodes that a process plays at once. */
  readonly parallel: number;
  /** Processes that play side by side. */
  readonly processes: number;
}

const failed = z.object({
  failure: z.object({
    kind: z.enum(['import', 'java', 'make', 'space', 'raised', 'invalid']),
    message: z.string(),
    details: z.string(),
  }),
});

/** Why the environment was not made. */
export type Refused = z.output<typeof failed>['failure'];

/** Importing large packages takes a while, however short steps are. */
const shortestStartMs = 60_000;

interface Played<Description> {
  readonly id: string;
  /** Beside this file. */
  readonly script: string;
  /** What the script makes. */
  readonly make: object;
  readonly described: z.ZodType<Description>;
  /** What is said where the script refuses to make it, or does not start. */
  refusal(refused: Refused): UserError;
  notStarted(error: EnvironmentError): UserError;
}

/** Each process starts with the first episodes that it plays. */
export class PythonPlayers<Description> {
  readonly #played: Played<Description>;
  readonly #settings: PythonSettings;
  readonly #children = new Map<number, Promise<BridgeProcess>>();
  #description: Description | undefined;

  constructor(played: Played<Description>, settings: PythonSettings) {
    this.#played = played;
    this.#settings = settings;
  }

  /** What the first process says of the environment. @throws UserError where it can't be made */
  async description(): Promise<Description> {
    await this.#child(0);
    return this.#description!;
  }

  /** @throws EnvironmentError when the environment fails */
  async ask<S extends z.ZodType>(index: number, schema: S, request: object): Promise<z.output<S>> {
    const { id } = this.#played;
    const answer = await (await this.#child(index)).request(request);
    const failure = failed.safeParse(answer).data?.failure;
    if (failure === undefined) return understood(id, schema, answer);
    const kind: EnvironmentFailure = failure.kind === 'invalid' ? 'invalid' : 'raised';
    throw new EnvironmentError(kind, `${id}: ${failure.message}${lastLines(failure.details)}`);
  }

  async close(): Promise<void> {
    const opened = await Promise.allSettled(this.#children.values());
    await Promise.all(opened.map((each) => each.status === 'fulfilled' && each.value.close()));
  }

  #child(index: number): Promise<BridgeProcess> {
    const running = this.#children.get(index) ?? this.#start();
    this.#children.set(index, running);
    return running;
  }

  async #start(): Promise<BridgeProcess> {
    const { id, script, make, described, refusal, notStarted } = this.#played;
    const { python, timeoutMs } = this.#settings;
    const child = new BridgeProcess({
      name: id,
      command: python,
      args: ['-u', '-X', 'utf8', join(packageRoot(), 'src', 'environments', 'remote', script)],
      timeoutMs,
    });
    try {
      const answer = await child.request({ make }, Math.max(timeoutMs, shortestStartMs));
      const refused = failed.safeParse(answer).data?.failure;
      if (refused !== undefined) throw refusal(refused);
      this.#description ??= understood(id, described, answer);
      return child;
    } catch (error) {
      await child.close();
      throw error instanceof EnvironmentError ? notStarted(error) : error;
    }
  }
}

function understood<S extends z.ZodType>(id: string, schema: S, answer: unknown): z.output<S> {
  const result = schema.safeParse(answer);
  if (result.success) return result.data;
  throw new EnvironmentError('protocol', `${id}: no answer: ${JSON.stringify(answer).slice(0, 200)}`);
}

/** Where it could not be started: what to install. */
export function notStarted(id: string, python: string, error: EnvironmentError, needs: string): UserError {
  return new UserError({
    field: 'environment',
    message: `the process that plays it can't be started\n  ${error.message.slice(id.length + 2)}`,
    value: id,
    remedy: `environment.python or POLICYLOOP_PYTHON names an interpreter (now ${python}) with ${needs}`,
  });
}

const observation = z.union([z.number(), z.array(z.number())]);
const described = z.object({
  observation: recordedSpace,
  action: recordedSpace,
  maxSteps: z.int().nullable(),
});
const started = z.object({ observations: z.array(observation) });
const stepped = z.object({ steps: z.array(z.tuple([observation, z.number(), z.boolean(), z.boolean()])) });

/**
 * Any environment that Gymnasium makes, played by child processes (`bridge.py`). Vectors and tables of numbers are
 * flattened in C order, dictionaries in their own order; discrete values among real ones are numbers like them.
 * @param id with the prefix: `gymnasium:Ant-v5`, `gymnasium:module:Env-v0`
 * @param options keyword arguments of `gymnasium.make`
 * @throws UserError when Python or a package is missing, or Gymnasium doesn't make it
 */
export async function openPythonEnvironment(
  id: string,
  options: Readonly<Record<string, unknown>>,
  settings: PythonSettings,
): Promise<RemoteEnvironment> {
  const { python, modules, parallel, processes } = settings;
  const players = new PythonPlayers(
    {
      id,
      script: 'bridge.py',
      make: { id: id.slice('gymnasium:'.length), options, modules },
      described,
      refusal: (refused) => refusal(id, options, python, refused),
      notStarted: (error) => notStarted(id, python, error, 'gymnasium: pip install "gymnasium[mujoco]"'),
    },
    settings,
  );
  const batch = (index: number): EpisodeBatch => ({
    slots: parallel,
    reset: async (seeds): Promise<readonly Observation[]> =>
      (await players.ask(index, started, { reset: seeds })).observations,
    step: async (moves) => {
      const request = { step: moves.map(({ slot, action }) => [slot, action]) };
      const { steps } = await players.ask(index, stepped, request);
      return steps.map(([observation, reward, terminated, truncated]) => {
        return { observation, reward, terminated, truncated };
      });
    },
  });
  const { observation: observationSpace, action: actionSpace, maxSteps } = await players.description();
  return {
    id,
    observationSpace,
    actionSpace,
    ...(maxSteps !== null && { maxSteps }),
    batches: Array.from({ length: processes }, (_, index) => batch(index)),
    close: () => players.close(),
  };
}

/** Gymnasium can't be used, or doesn't make this environment. */
function refusal(
  id: string,
  options: Readonly<Record<string, unknown>>,
  python: string,
  { kind, message, details }: Refused,
): UserError {
  const problem = { field: 'environment', value: id } as const;
  switch (kind) {
    case 'import':
      return new UserError({
        ...problem,
        message: `Python lacks a module: ${message}`,
        remedy: `${python} -m pip install ${packageOf(details)}`,
      });
    case 'space':
      return new UserError({
        ...problem,
        message,
        remedy: 'wrap the environment in Python so that it has Box, Discrete or a Tuple or Dict of them',
      });
    default: {
      const given = Object.keys(options).length > 0 ? ` with the options ${JSON.stringify(options)}` : '';
      return new UserError({
        ...problem,
        message: `Gymnasium can't make it${given}: ${message}`,
        ...(message.startsWith('NameNotFound') && {
          remedy: `name the module that registers it: gymnasium:module:${id.slice('gymnasium:'.length)}`,
        }),
      });
    }
  }
}

/** What pip is told to install for a module. */
const packages: Readonly<Record<string, string>> = {
  gymnasium: 'gymnasium',
  numpy: 'gymnasium',
  mujoco: '"gymnasium[mujoco]"',
  imageio: '"gymnasium[mujoco]"',
  Box2D: 'swig "gymnasium[box2d]"',
  pygame: '"gymnasium[classic-control]"',
  ale_py: '"gymnasium[atari]"',
};

function packageOf(module: string): string {
  const unknown = `the package that has ${module}, or name the folder of ${module}.py with environment.modules`;
  return packages[module.split('.')[0]!] ?? unknown;
}
