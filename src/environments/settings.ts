/** The `environment` section of a config. */
import { z } from 'zod';

const count = (minimum: number) => z.int().min(minimum);
const positive = z.number().positive();
const text = z.string().min(1);

export const environmentSchema = z.strictObject({
  id: text
    .describe('Environment id, e.g. `CartPole-v1`, or your own module: `./my-env.js`')
    .meta({ format: 'name-or-module' }),
  options: z
    .record(z.string(), z.unknown())
    .default({})
    .describe('Options of the environment, mostly named as in Gymnasium, e.g. `{is_slippery: false}`'),
  python: text
    .optional()
    .describe(
      'Python interpreter for `gymnasium:` and `textworld-express:` environments (default: POLICYLOOP_PYTHON, then python3)',
    )
    .meta({ format: 'name-or-path' }),
  timeoutSeconds: positive
    .optional()
    .describe('Time limit for a reset or step in another program, in seconds (default: 60)'),
  parallel: count(1)
    .optional()
    .describe('Concurrent episodes per Python process (default: 32) or on an `openenv:` server (default: 1)'),
  modules: text
    .optional()
    .describe(
      "Folder of Python modules for ids such as `gymnasium:module:Env-v0` (default: the config's folder)",
    )
    .meta({ format: 'path' }),
});

export type EnvironmentConfig = z.output<typeof environmentSchema>;
