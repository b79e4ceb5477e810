/** Attacks by other programs: replies of models, and misbehaving Python environments. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import process from 'node:process';
import { packageRoot } from '../../src/base/package.js';
import { openEnvironment } from '../../src/environments/catalogue/open.js';
import { EnvironmentError, isRemote } from '../../src/environments/remote/remote-environment.js';
import { parseParameters } from '../../src/prompting/answer/parse.js';
import { type AttackKind, faultOf, outcome, shorten } from './attack.js';
import { drawn, junkText } from './junk.js';

const spec = { kind: 'float', count: 3, low: -6, high: 6, decimals: 1 } as const;

const replies: AttackKind = {
  name: 'replies',
  percent: 100,
  async open() {
    const pieces = [
      'params[0]: 1',
      'params[1]: 2',
      'params[2]: 3',
      '[',
      ']',
      '{',
      '}',
      '"params":',
      ',',
      '\n',
      '<think>',
      '</think>',
      '```json',
      '```',
      '| 1 ',
      '**',
      '~~',
      '1e5',
      '٣',
      '½',
      '- ',
      '=',
      '\\boxed{',
      '1, 2, 3',
      '\u200b',
      '<|channel|>',
    ];
    return {
      attack(random) {
        const reply = Array.from({ length: 1 + drawn(random, 25) }, () => {
          const piece = random.random() < 0.9 ? random.choice(pieces) : junkText(random);
          return random.random() < 0.05 ? piece.slice(0, 200).repeat(drawn(random, 5000)) : piece;
        }).join('');
        let wrong: string | undefined;
        const failed = outcome(() => {
          const result = parseParameters(reply, spec);
          if (!result.ok) return;
          const { value } = result;
          const isVector = value.length === 3 && value.every((number) => Math.abs(number) <= 6);
          if (!isVector) wrong = `read ${JSON.stringify(value)} from ${shorten(reply)}`;
        }, 5);
        return failed === undefined ? wrong : `${failed}: ${shorten(reply)}`;
      },
    };
  },
};

const python = process.env.POLICYLOOP_PYTHON ?? 'python3';
const faults = [
  'raise',
  'exit',
  'die',
  'hang',
  'nan',
  'infinite reward',
  'shape',
  'print',
  'descriptors',
  'close',
  'fork',
  'child',
  'daemon',
  'end',
  'flood',
  'keys',
];

const pythonEnvironments: AttackKind = {
  name: 'Python environments',
  percent: 3,
  async open() {
    if (spawnSync(python, ['-c', 'import gymnasium']).status !== 0) return undefined;
    process.env.PYTHONPATH = join(packageRoot(), 'test', 'environments', 'python');
    return {
      async attack(random) {
        const fault = random.choice(faults);
        const id = 'gymnasium:bridge_environments:Counter-v0';
        const source = { id, options: { fault }, python, timeoutSeconds: 5, parallel: 1 };
        const environment = await openEnvironment(source, {});
        if (!isRemote(environment)) return 'not remote';
        const slow = setTimeout(() => {}, 60_000);
        try {
          const [batch] = environment.batches;
          await batch!.reset([drawn(random, 1000)]);
          for (let step = 1; step <= 6; step++) {
            const [{ observation } = { observation: 0 }] = await batch!.step([{ slot: 0, action: 1 }]);
            if (!Array.isArray(observation) || observation[1] !== step) return `${fault}: a wrong answer`;
          }
          return undefined;
        } catch (error) {
          if (!(error instanceof EnvironmentError)) return `${fault}: ${shorten(String(error))}`;
          // Check only the first line: the Python stack trace below it is useful to the user.
          return faultOf(error.message.split('\n')[0]!);
        } finally {
          await environment.close();
          clearTimeout(slow);
        }
      },
    };
  },
};

export const programKinds: readonly AttackKind[] = [replies, pythonEnvironments];
