/** Environments that run in parallel Python processes. */
import { join } from 'node:path';
import { z } from 'zod';
import { UserError } from '../../base/errors.js';
import { packageRoot } from '../../base/package.js';
import { spaceSchema } from '../environment.js';
import { BridgeProcess, lastLines } from './bridge-process.js';
import { EnvironmentError, type EpisodeBatch, type RemoteEnvironment } from './remote-environment.js';

export interface PythonSettings {
  readonly python: string;
  /** Folder of Python modules that ids may name, in addition to the working directory. */
  readonly modules?: string | undefined;
  /** Time limit for a reset or step. The limit for starting a process is at least a minute. */
  readonly timeoutMs: number;
  /** Episodes per process. */
  readonly episodesPerProcess: number;
  readonly processes: number;
}

const failureReplySchema = z.object({
  failure: z.object({
    kind: z.enum(['import', 'java', 'make', 'space', 'raised', 'invalid']),
    message: z.string(),
    details: z.string(),
  }),
});

/** Returns the message and the hint for a failure to create an environment. */
export type DescribeFailure = (failure: z.output<typeof failureReplySchema>['failure']) => {
  readonly message: string;
  readonly hint?: string;
};

/** Minimum time limit for starting, because importing large packages takes a while. */
const minStartMs = 60_000;

/** An environment run by a script in this folder. */
interface BridgedEnvironment<Description> {
  readonly id: string;
  readonly script: string;
  readonly makeArguments: object;
  readonly descriptionSchema: z.ZodType<Description>;
  readonly describeFailure: DescribeFailure;
  readonly requirement: string;
}

/** Python processes that play one environment in parallel. Each process starts at its first request. */
export class PythonWorkers<Description> {
  readonly #environment: BridgedEnvironment<Description>;
  readonly #settings: PythonSettings;
  readonly #children = new Map<number, Promise<BridgeProcess>>();
  #description: Description | undefined;

  constructor(environment: BridgedEnvironment<Description>, settings: PythonSettings) {
    this.#environment = environment;
    this.#settings = settings;
  }

  /** Gets the environment's description from the first process. @throws UserError if it can't be created */
  async description(): Promise<Description> {
    await this.#child(0);
    return this.#description!;
  }

  /** @throws EnvironmentError if the environment fails @throws UserError if its process can't start */
  async ask<S extends z.ZodType>(index: number, schema: S, request: object): Promise<z.output<S>> {
    const { id } = this.#environment;
    const answer = await (await this.#child(index)).request(request);
    const failure = failureReplySchema.safeParse(answer).data?.failure;
    if (failure === undefined) return parseReply(id, schema, answer);
    const kind = failure.kind === 'invalid' ? 'invalid' : 'raised';
    throw new EnvironmentError(kind, `${id}: ${failure.message}${lastLines(failure.details)}`);
  }

  async close(): Promise<void> {
    const results = await Promise.allSettled(this.#children.values());
    await Promise.all(results.map((result) => result.status === 'fulfilled' && result.value.close()));
  }

  #child(index: number): Promise<BridgeProcess> {
    const child = this.#children.get(index) ?? this.#start();
    this.#children.set(index, child);
    return child;
  }

  async #start(): Promise<BridgeProcess> {
    const { id, script, makeArguments, descriptionSchema, describeFailure, requirement } = this.#environment;
    const { python, timeoutMs } = this.#settings;
    const path = join(packageRoot(), 'src', 'environments', 'remote', script);
    const child = new BridgeProcess(id, python, ['-u', '-X', 'utf8', path], timeoutMs);
    try {
      const answer = await child.request({ make: makeArguments }, Math.max(timeoutMs, minStartMs));
      const failure = failureReplySchema.safeParse(answer).data?.failure;
      if (failure !== undefined)
        throw new UserError({ field: 'environment', value: id, ...describeFailure(failure) });
      this.#description ??= parseReply(id, descriptionSchema, answer);
      return child;
    } catch (error) {
      await child.close();
      if (!(error instanceof EnvironmentError)) throw error;
      throw new UserError({
        field: 'environment',
        message: `can't start the environment's Python process\n  ${error.message.slice(id.length + 2)}`,
        value: id,
        hint: `set environment.python or POLICYLOOP_PYTHON (now ${python}) to an interpreter that has ${requirement}`,
      });
    }
  }
}

function parseReply<S extends z.ZodType>(id: string, schema: S, answer: unknown): z.output<S> {
  const result = schema.safeParse(answer);
  if (result.success) return result.data;
  throw new EnvironmentError('protocol', `${id}: invalid reply: ${JSON.stringify(answer).slice(0, 200)}`);
}

const observationSchema = z.union([z.number(), z.array(z.number())]);
const specSchema = z.object({ observation: spaceSchema, action: spaceSchema, maxSteps: z.int().nullable() });
const resetReplySchema = z.object({ observations: z.array(observationSchema) });
const stepSchema = z.tuple([observationSchema, z.number(), z.boolean(), z.boolean()]);
const stepReplySchema = z.object({ steps: z.array(stepSchema) });

/**
 * Opens a Gymnasium environment in child processes (`bridge.py`). Arrays are flattened in C order, and dictionaries
 * in the order of their space; discrete values combined with real numbers become real numbers.
 * @param id with the prefix: `gymnasium:Ant-v5`, `gymnasium:module:Env-v0`
 * @param options keyword arguments of `gymnasium.make`
 * @throws UserError if Python, a package or the environment is missing or fails, or a space is too large or not numeric
 */
export async function openPythonEnvironment(
  id: string,
  options: Readonly<Record<string, unknown>>,
  settings: PythonSettings,
): Promise<RemoteEnvironment> {
  const { python, modules, episodesPerProcess, processes } = settings;
  const name = id.slice('gymnasium:'.length);
  const describeFailure: DescribeFailure = ({ kind, message, details }) => {
    if (kind === 'import') {
      const isUserModule = name.split(/[:.]/, 1)[0] === details.split('.', 1)[0];
      const hint = isUserModule
        ? `run the command in the folder of ${details}.py, set environment.modules to this folder, or install the module for ${python}`
        : `run ${python} -m pip install "gymnasium[all]", or choose an interpreter that has the module, with POLICYLOOP_PYTHON or environment.python=/path/to/python (policyloop resume accepts it, too)`;
      return { message: `${python} lacks a Python module: ${message}`, hint };
    }
    if (kind === 'space') {
      const isLarge = message.includes(' has more than ');
      const spaces = isLarge ? 'contain fewer numbers' : 'are Box, Discrete, or a Tuple or Dict of these';
      return { message, hint: `wrap the environment in Python so that its spaces ${spaces}` };
    }
    const optionsText = Object.keys(options).length > 0 ? ` with the options ${JSON.stringify(options)}` : '';
    const hint = `correct the id, or name the module that registers it: gymnasium:MODULE:${name.split(':').at(-1)}`;
    return {
      message: `Gymnasium can't create this environment${optionsText}: ${message}`,
      ...(message.startsWith('NameNotFound') && { hint }),
    };
  };
  const workers = new PythonWorkers(
    {
      id,
      script: 'bridge.py',
      makeArguments: { id: name, options, modules },
      descriptionSchema: specSchema,
      describeFailure,
      requirement: 'gymnasium (pip install "gymnasium[mujoco]")',
    },
    settings,
  );
  const createBatch = (index: number): EpisodeBatch => ({
    slotCount: episodesPerProcess,
    reset: async (seeds) => (await workers.ask(index, resetReplySchema, { reset: seeds })).observations,
    step: async (moves) => {
      const request = { step: moves.map(({ slot, action }) => [slot, action]) };
      const { steps } = await workers.ask(index, stepReplySchema, request);
      return steps.map(([observation, reward, terminated, truncated]) => {
        return { observation, reward, terminated, truncated };
      });
    },
  });
  const { observation: observationSpace, action: actionSpace, maxSteps } = await workers.description();
  return {
    id,
    observationSpace,
    actionSpace,
    ...(maxSteps !== null && { maxSteps }),
    batches: Array.from({ length: processes }, (_, index) => createBatch(index)),
    close: () => workers.close(),
  };
}
