import { expect, it } from 'vitest';
import type { ConfigInput } from '../../../src/config/config.js';
import { parseConfig } from '../../../src/config/load.js';
import { preflight } from '../../../src/experiment/preflight/preflight.js';
import { assemble } from '../../../src/experiment/setup/assemble.js';

const priced = (input: number, output: number) =>
  ({ provider: 'openai', name: 'x', price: { input, output } }) as const;

const warned = async (more: Pick<ConfigInput, 'model'> & Partial<ConfigInput>) =>
  preflight(await assemble(parseConfig({ environment: 'CartPole-v1', ...more }), { OPENAI_API_KEY: 'k' }))
    .filter(({ level }) => level === 'warning')
    .flatMap(({ field = '' }) => (field.startsWith('limits.') ? [field] : []));

it.each([
  ['a price of 0', { model: priced(0, 0), limits: { cost: 1 } }, ['limits.cost']],
  ['a price', { model: priced(1, 0), limits: { cost: 1 } }, []],
  ['no limit of cost', { model: priced(0, 0), limits: { calls: 100 } }, []],
  [
    'another model that costs something',
    { model: priced(0, 0), critic: { distance: 1, model: priced(1, 2) }, limits: { cost: 1 } },
    [],
  ],
] as const)(
  'preflight warns about a cost limit only if it can never be reached: %s',
  async (_, more, fields) => {
    expect(await warned(more as never)).toEqual(fields);
  },
);
