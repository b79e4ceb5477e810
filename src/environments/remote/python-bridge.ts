import { z } from 'zod';
import { UserError } from '../../base/errors.js';
import { type Observation, recordedSpace } from '../environment.js';
import { notStarted, PythonPlayers, type PythonSettings, type Refused } from './python-players.js';
import type { EpisodeBatch, RemoteEnvironment } from './remote-environment.js';

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
