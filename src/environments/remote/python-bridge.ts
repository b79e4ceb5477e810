import { join } from 'node:path';
import { z } from 'zod';
import { UserError } from '../../errors.js';
import { packageRoot } from '../../package.js';
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
  /** Longest wait for a reset or a step; the start may take a minute in any case. */
  readonly timeoutMs: number;
  /** Episodes that a process plays at once. */
  readonly parallel: number;
  /** Processes that play side by side. */
  readonly processes: number;
}

const observation = z.union([z.number(), z.array(z.number())]);
const described = z.object({
  observation: recordedSpace,
  action: recordedSpace,
  maxSteps: z.int().nullable(),
});
const started = z.object({ observations: z.array(observation) });
const stepped = z.object({ steps: z.array(z.tuple([observation, z.number(), z.boolean(), z.boolean()])) });
const failed = z.object({
  failure: z.object({
    kind: z.enum(['import', 'make', 'space', 'raised', 'invalid']),
    message: z.string(),
    details: z.string(),
  }),
});
/** Importing large packages takes a while, however short steps are. */
const shortestStartMs = 60_000;

type Failure = z.output<typeof failed>['failure'];

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
  const { parallel, processes } = settings;
  const children = new Map<number, Promise<BridgeProcess>>();
  let spec: z.output<typeof described> | undefined;

  async function start(): Promise<BridgeProcess> {
    const child = new BridgeProcess({
      name: id,
      command: settings.python,
      args: ['-u', '-X', 'utf8', join(packageRoot(), 'src', 'environments', 'remote', 'bridge.py')],
      timeoutMs: settings.timeoutMs,
    });
    try {
      const request = { make: { id: id.slice('gymnasium:'.length), options } };
      const answer = await child.request(request, Math.max(settings.timeoutMs, shortestStartMs));
      const refused = failed.safeParse(answer).data?.failure;
      if (refused !== undefined) throw refusal(id, options, settings.python, refused);
      spec ??= understood(id, described, answer);
      return child;
    } catch (error) {
      await child.close();
      throw error instanceof EnvironmentError ? notStarted(id, settings.python, error) : error;
    }
  }

  /** The processes after the first start with the first episodes that they play. */
  const child = (index: number): Promise<BridgeProcess> => {
    const running = children.get(index) ?? start();
    children.set(index, running);
    return running;
  };

  const ask = async <S extends z.ZodType>(index: number, schema: S, request: object) => {
    const answer = await (await child(index)).request(request);
    const failure = failed.safeParse(answer).data?.failure;
    if (failure === undefined) return understood(id, schema, answer);
    const kind: EnvironmentFailure = failure.kind === 'invalid' ? 'invalid' : 'raised';
    throw new EnvironmentError(kind, `${id}: ${failure.message}${lastLines(failure.details)}`);
  };

  const batch = (index: number): EpisodeBatch => ({
    slots: parallel,
    async reset(seeds): Promise<readonly Observation[]> {
      return (await ask(index, started, { reset: seeds })).observations;
    },
    async step(moves) {
      const request = { step: moves.map(({ slot, action }) => [slot, action]) };
      const { steps } = await ask(index, stepped, request);
      return steps.map(([seen, reward, terminated, truncated]) => ({
        observation: seen,
        reward,
        terminated,
        truncated,
      }));
    },
  });

  await child(0);
  const { observation: observed, action, maxSteps } = spec!;
  return {
    id,
    observationSpace: observed,
    actionSpace: action,
    ...(maxSteps !== null && { maxSteps }),
    batches: Array.from({ length: processes }, (_, index) => batch(index)),
    async close() {
      const opened = await Promise.allSettled(children.values());
      await Promise.all(opened.map((each) => each.status === 'fulfilled' && each.value.close()));
    },
  };
}

function understood<S extends z.ZodType>(id: string, schema: S, answer: unknown): z.output<S> {
  const result = schema.safeParse(answer);
  if (result.success) return result.data;
  throw new EnvironmentError('protocol', `${id}: no answer: ${JSON.stringify(answer).slice(0, 200)}`);
}

/** Gymnasium can't be used, or doesn't make this environment. */
function refusal(
  id: string,
  options: Readonly<Record<string, unknown>>,
  python: string,
  { kind, message, details }: Failure,
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

/** The package that brings a module, as pip is told it. */
function packageOf(module: string): string {
  switch (module.split('.')[0]) {
    case 'gymnasium':
    case 'numpy':
      return 'gymnasium';
    case 'mujoco':
    case 'imageio':
      return '"gymnasium[mujoco]"';
    case 'Box2D':
      return 'swig "gymnasium[box2d]"';
    case 'pygame':
      return '"gymnasium[classic-control]"';
    case 'ale_py':
      return '"gymnasium[atari]"';
    default:
      return `the package that has ${module}, or start in the folder of ${module}.py`;
  }
}

function notStarted(id: string, python: string, error: EnvironmentError): UserError {
  return new UserError({
    field: 'environment',
    message: `the process that plays it can't be started\n  ${error.message.slice(id.length + 2)}`,
    value: id,
    remedy: `environment.python or POLICYLOOP_PYTHON names an interpreter (now ${python}) with gymnasium: pip install "gymnasium[mujoco]"`,
  });
}
